"""A worker is killed after a step, or while it is in progress: once, at its own execution."""

import pytest

from coterie.testing.files.case_document import CaseDocument
from coterie.testing.simulation.crashes import Crash, crashes
from coterie.workflows.core.views import TrailEntry, TrailKind


def entry(status: str, step: str = "s", kind: TrailKind = "step") -> TrailEntry:
    return TrailEntry(number=1, at="", kind=kind, team="t", visit=1, step=step, status=status)


AFTER, DURING = Crash("t/s", 1, True), Crash("t/s", 1, False)
SECOND_AFTER, SECOND_DURING = Crash("t/s", 2, True), Crash("t/s", 2, False)
LOOP = Crash("t/each/s", 1, True)
LOOP_DURING = Crash("t/each/s", 1, False)
ONE = [entry("success")]
TWO = [*ONE, entry("failure")]


@pytest.mark.parametrize(
    ("crash", "trail", "doing", "due"),
    [
        (AFTER, [], ["t/s"], False),
        (AFTER, ONE, [], True),
        (AFTER, TWO, [], True),
        (AFTER, [entry("failure")], [], True),
        (AFTER, [entry("chosen"), entry("success", "other")], [], False),
        (AFTER, [entry("success", kind="route")], [], False),
        (SECOND_AFTER, ONE, ["t/s"], False),
        (SECOND_AFTER, TWO, [], True),
        (LOOP, [entry("success", "each/2/s")], [], True),
        (DURING, [], ["t/s"], True),
        (DURING, [], ["t/other"], False),
        (DURING, ONE, ["t/s"], False),
        (SECOND_DURING, [], ["t/s"], False),
        (SECOND_DURING, ONE, ["t/s"], True),
        (LOOP_DURING, [], ["t/each/2/s"], True),
    ],
)
def test_a_crash_is_due_at_its_own_execution_of_the_step(
    crash: Crash, trail: list[TrailEntry], doing: list[str], due: bool
) -> None:
    assert crash.is_due(trail, doing) is due


@pytest.mark.parametrize(
    ("crash", "trail", "message"),
    [
        (AFTER, [], "the worker was never killed: t/s did not end"),
        (SECOND_AFTER, ONE, "the worker was never killed: t/s did not end for the 2. time"),
        (DURING, [], "the worker was never killed: t/s was not in progress"),
        (
            SECOND_DURING,
            ONE,
            "the worker was never killed: t/s was not in progress for the 2. time",
        ),
        (DURING, ONE, "the worker was never killed: t/s ended without any wait or call"),
        (
            SECOND_DURING,
            TWO,
            "the worker was never killed: t/s ended for the 2. time without any wait or call",
        ),
        (
            AFTER,
            ONE,
            "the run ended before the worker could be killed after t/s; "
            "nothing that it did after that waits",
        ),
    ],
)
def test_a_crash_that_never_came_says_why(
    crash: Crash, trail: list[TrailEntry], message: str
) -> None:
    assert crash.missed(trail) == message


def test_a_case_names_its_crashes_alone_or_in_a_list() -> None:
    case = CaseDocument(name="a", crash_after="t/s#2", crash_during=("t/s", "t/o"))
    assert crashes(case) == [SECOND_AFTER, DURING, Crash("t/o", 1, False)]
    assert crashes(CaseDocument(name="a")) == []
