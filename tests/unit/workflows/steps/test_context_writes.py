"""Writes of steps go to the track, or to a draft; one that is refused changes nothing."""

import pytest

from coterie.dsl.errors import ContextConflict, ValueTooLarge
from coterie.dsl.evaluate.context_writes import ContextWrite
from coterie.dsl.sizes import MAX_VALUE_SIZE
from coterie.dsl.values import JsonValue
from coterie.workflows.context_drafts import take_draft, write
from coterie.workflows.core.location import Location
from coterie.workflows.core.state_keys import MAIN
from tests.support.compiling import plan_of
from tests.support.simulation.stopping import StoppingScope, World, fresh

PLAN = plan_of("orchestration: {entry_team: work, teams: {work: {tasks: [{name: s}]}}}")
STEP = Location.of_visit(MAIN, "work", 1).at("s")


def scope_of() -> StoppingScope:
    return StoppingScope(PLAN, fresh(PLAN, {"n": 1}), World(lambda _: {}), None)


def setting(path: str, value: JsonValue) -> ContextWrite:
    return ContextWrite(path, value)


@pytest.mark.parametrize("here", [STEP, STEP.drafted()], ids=["track", "draft"])
def test_a_write_is_seen_from_its_step_and_a_draft_from_no_other(here: Location) -> None:
    scope = scope_of()
    write(here, [setting("m", 2)], scope, "'s'")
    assert here.context(scope) == {"n": 1, "m": 2}
    assert scope.state.main.context == ({"n": 1} if here.drafts else {"n": 1, "m": 2})


@pytest.mark.parametrize("here", [STEP, STEP.drafted()], ids=["track", "draft"])
@pytest.mark.parametrize(
    ("refused", "error"),
    [
        (setting("m", "x" * MAX_VALUE_SIZE), ValueTooLarge),
        (setting("n.deep", 1), ContextConflict),
    ],
)
def test_a_refused_write_changes_nothing(
    here: Location, refused: ContextWrite, error: type[Exception]
) -> None:
    scope = scope_of()
    with pytest.raises(error):
        write(here, [setting("m", 2), refused], scope, "'s'")
    assert here.context(scope) == {"n": 1}
    assert take_draft(here.key, scope) == []
