"""What branches write when they join, and what is kept of those that a time limit cuts."""

import pytest

from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import ParallelStep
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.location import Location
from coterie.workflows.core.progress.progress_kinds import ParallelProgress
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import MAIN, StateKey
from coterie.workflows.interpreter import run
from coterie.workflows.steps.parallel import at_timeout
from tests.support.one_team import work
from tests.support.simulation.stopping import StoppingScope, World, fresh

NO = "{name: NAME_no, type: fail, error: Broken, message: no}"


def write(name: str, path: str, *, fails: bool = False) -> str:
    note = (
        f"{{name: {name}, type: set, values: {{{name}: 1}}, context_updates: {{{path}: {name}}}}}"
    )
    return f"[{note}, {NO.replace('NAME', name)}]" if fails else f"[{note}]"


async def joined(keys: str) -> tuple[JsonValue, str | None, RunState]:
    plan = work(f"- {{name: both, type: parallel, on_failure: continue, {keys}}}\n")
    state = fresh(plan, {})
    result = await run(StoppingScope(plan, state, World(lambda _: {}), None))
    error = state.main.latest["work"]["both"].error
    return result.context, None if error is None else error.type, state


GOOD, BAD = write("a", "x"), write("a", "x", fails=True)
OTHER, SAME = write("b", "y"), write("b", "x")


@pytest.mark.parametrize(
    ("keys", "context", "error"),
    [
        (f"join: all, branches: {{one: {GOOD}, two: {OTHER}}}", {"x": "a", "y": "b"}, None),
        (f"join: all, branches: {{one: {BAD}, two: {OTHER}}}", {"y": "b"}, "Broken"),
        (f"join: fallback, branches: {{one: {BAD}, two: {OTHER}}}", {"y": "b"}, None),
        (f"join: fallback, branches: {{one: {GOOD}, two: {OTHER}}}", {"x": "a"}, None),
        (f"join: any, branches: {{one: {GOOD}, two: {OTHER}}}", {"x": "a"}, None),
        (
            f"join: any, losers: finish, branches: {{one: {GOOD}, two: {OTHER}}}",
            {"x": "a", "y": "b"},
            None,
        ),
        (
            f"join: best, branches: {{one: {{steps: {GOOD}, score: '{{{{ 1 }}}}'}}, "
            f"two: {{steps: {OTHER}, score: '{{{{ 2 }}}}'}}}}",
            {"y": "b"},
            None,
        ),
        (
            f"join: all, merge: {{context.x: replace}}, branches: {{one: {GOOD}, two: {SAME}}}",
            {"x": "b"},
            None,
        ),
    ],
    ids=["all", "one fails", "second", "first", "any", "losers finish", "best", "merged"],
)
async def test_only_branches_that_succeed_and_count_write_to_the_context(
    keys: str, context: Json, error: str | None
) -> None:
    found, failed, state = await joined(keys)
    assert (found, failed) == (context, error)
    assert state.progress.parallels == state.progress.drafts == {}


async def test_branches_that_write_the_same_path_fail_the_step_and_name_it() -> None:
    found, failed, state = await joined(f"join: all, branches: {{one: {GOOD}, two: {SAME}}}")
    assert (found, failed) == ({}, "ContextConflict")
    both = state.main.latest["work"]["both"]
    assert both.error is not None
    assert "merge: {context.x: replace | extend | merge}" in both.error.message
    assert isinstance(both.data, dict), "what the branches returned stays"
    one = both.data["one"]
    assert isinstance(one, dict)
    assert one["success"] is True


HERE = Location.of_visit(MAIN, "work", 1).at("both")
LEFT = StateKey.at(MAIN, "work", 1, "both/two/gone")
DONE, FAILED = Outcome.succeeded(7), Outcome.failed("Broken", "no")


@pytest.mark.parametrize(
    ("join", "ended", "winner"),
    [
        ("best", None, None),
        ("best", {}, None),
        ("best", {"one": FAILED}, None),
        ("best", {"one": DONE}, "one"),
        ("best", {"one": FAILED, "two": DONE}, "two"),
        ("all", {"one": DONE}, None),
    ],
    ids=["not begun", "none ended", "all failed", "one won", "the other won", "no best wanted"],
)
def test_a_time_limit_keeps_the_best_of_the_branches_that_have_ended(
    join: str, ended: dict[str, Outcome] | None, winner: str | None
) -> None:
    plan = work(
        f"- {{name: both, type: parallel, join: {join}, branches: {{one: {GOOD}, two: {OTHER}}}}}\n"
    )
    [step] = plan.teams["work"].steps
    assert isinstance(step, ParallelStep)
    scope = StoppingScope(plan, fresh(plan, {}), World(lambda _: {}), None)
    if ended is not None:
        scope.state.progress.parallels[HERE.key] = ParallelProgress(ended=ended)
    scope.state.progress.tool_retries[LEFT] = 1
    outcome = at_timeout(step, HERE, scope)
    if winner is None:
        assert outcome is None
        return
    assert outcome is not None
    assert isinstance(outcome.data, dict)
    assert (outcome.success, outcome.data["winner"]) == (True, winner)
    assert scope.state.progress.tool_retries == {}
