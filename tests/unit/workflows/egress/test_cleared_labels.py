"""What an approval step has shown counts no more: in the run, or in the concurrent work around."""

import pytest

from coterie.dsl.egress.met_labels import KEPT
from coterie.workflows.approvals.egress_approval import clear_labels, forget_clearances
from coterie.workflows.core.causes.agent_causes import LabelsCleared
from coterie.workflows.core.location import Location
from coterie.workflows.core.progress.progress_kinds import ConcurrentLoopProgress, ParallelProgress
from coterie.workflows.core.state_keys import MAIN, StateKey
from tests.support.compiling import plan_of
from tests.support.simulation.stopping import StoppingScope, World, fresh

PLAN = plan_of("orchestration: {entry_team: a, teams: {a: {tasks: [{name: s}]}}}")
OUTER, INNER = "main:a#1/both", "main:a#1/both/one/each"


def scope(*labels: int) -> StoppingScope:
    """A run that has met these labels, each by a tool of its own."""
    found = StoppingScope(PLAN, fresh(PLAN, {}), World(lambda _: {}), None)
    for index in labels:
        found.state.labels.meet({KEPT[index]}, f"tool {index}", "a/read", 0)
    return found


def location(key: str) -> Location:
    track, _, path = key.partition("a#1")
    here = Location.of_visit(StateKey(track.rstrip(":")), "a", 1)
    for name in path.strip("/").split("/"):
        here = here.at(name)
    assert here.key == key
    return here


@pytest.mark.parametrize(
    ("key", "blocks", "within"),
    [
        ("main:a#1/ask", [], None),
        ("main:a#1/ask", [OUTER], None),
        ("main>left:a#1/ask", [], "main>left"),
        (f"{OUTER}/one/ask", [OUTER], f"{OUTER}/one"),
        (f"{INNER}/3/ask", [OUTER, INNER], f"{INNER}/3"),
        (f"{INNER}/3/ask", [INNER, OUTER], f"{INNER}/3"),
    ],
)
def test_a_decision_counts_within_the_innermost_concurrent_work(
    key: str, blocks: list[str], within: str | None
) -> None:
    run = scope(0)
    for block in blocks:
        if block == INNER:
            run.state.progress.concurrent_loops[block] = ConcurrentLoopProgress([])
        else:
            run.state.progress.parallels[block] = ParallelProgress()
    clear_labels(location(key), run)
    cleared = {} if within is None else {within: 1}
    assert run.state.progress.cleared_labels == cleared
    assert bool(run.state.labels.met) is (within is not None)


def test_the_trail_names_the_labels_that_count_no_more() -> None:
    for labels in ([0], [1], [0, 1]):
        run = scope(*labels)
        clear_labels(location("main:a#1/ask"), run)
        (entry,) = run.state.trail
        assert entry.cause == LabelsCleared("labels_cleared", tuple(KEPT[n] for n in labels), "")


@pytest.mark.parametrize(
    ("cleared", "is_noted"),
    [({}, True), ({OUTER: 1, INNER: 2}, False), ({INNER: 2, OUTER: 1}, False), ({OUTER: 1}, True)],
)
def test_what_the_latest_decision_around_covers_is_cleared_once(
    cleared: dict[str, int], is_noted: bool
) -> None:
    run = scope(0, 1)
    run.state.progress.cleared_labels.update(cleared)
    clear_labels(location(f"{INNER}/3/ask"), run)
    assert bool(run.state.trail) is is_noted


def test_clearances_end_with_the_work_that_they_are_of() -> None:
    run = scope(0)
    cleared = run.state.progress.cleared_labels
    cleared.update({f"{OUTER}/one": 1, "main:a#1/bothers": 1, MAIN: 1})
    forget_clearances(StateKey(OUTER), run.state)
    assert set(cleared) == {"main:a#1/bothers", MAIN}
