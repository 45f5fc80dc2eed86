"""What leaves a step without failing reads as its reason, as in a worker's log."""

import pytest

from coterie.dsl.evaluate.because import route_because
from coterie.dsl.model.causes import BudgetReached
from coterie.workflows.core.location import Redirected, Returned, RunLeft, Skipped

REACHED = BudgetReached("budget_used_up", "model_calls", "run", 1, 1)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Redirected("rest", REACHED), "rest"),
        (RunLeft(None, REACHED), route_because(REACHED)),
        (Skipped({"n": 1}), "a step was skipped"),
        (Returned({"n": 1}), "a plan returned"),
    ],
    ids=["redirected", "left", "skipped", "returned"],
)
def test_what_leaves_a_step_reads_as_its_reason(error: Exception, text: str) -> None:
    assert str(error) == text
