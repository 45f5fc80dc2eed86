"""One function says whether a person approved, another what a rejection becomes."""

from typing import get_args

import pytest

from coterie.dsl.model.retryability import DECIDED
from coterie.workflows.approvals.decisions import is_approved, rejected
from coterie.workflows.core.requests import Decision, Verdict


def decided(verdict: Verdict, comment: str = "") -> Decision:
    return Decision(id="r", verdict=verdict, by="ann", comment=comment, at="", how="update")


@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_only_an_approval_approves(verdict: Verdict) -> None:
    assert is_approved(decided(verdict)) is (verdict == "approved")


def test_no_decision_is_no_approval() -> None:
    assert not is_approved(None)


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (None, ("NotDecided", "nobody decided in time")),
        (decided("rejected"), ("Rejected", "ann rejected it: no reason given")),
        (decided("rejected", "too dear"), ("Rejected", "ann rejected it: too dear")),
    ],
)
def test_a_rejection_is_a_failure_that_nothing_retries(
    decision: Decision | None, expected: tuple[str, str]
) -> None:
    outcome = rejected(decision, {"by": "ann"} if decision else None)
    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.message) == expected
    assert outcome.error.type in DECIDED
    assert outcome.data == ({"by": "ann"} if decision else None)
