"""What a decision keeps of the value that it was about."""

from datetime import UTC, datetime

import pytest

from dsl.values import JsonValue
from tests.support.compiling import plan_of
from tests.support.simulation.stopping import fresh
from workflows.approvals.decisions import digest_of, record
from workflows.core.messages import DecideInput
from workflows.core.requests import Decision, Pending

PLAN = plan_of("orchestration: {entry_team: a, teams: {a: {tasks: [{name: s}]}}}")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def decided(**asked: JsonValue) -> Decision:
    """A decision by Ann about a value that she may edit."""
    state = fresh(PLAN, {})
    shown: JsonValue = {"pages": 3}
    state.pending["a/s#1"] = Pending(
        id="a/s#1",
        prompt="Good?",
        show=shown,
        digest=digest_of("Good?", shown),
        editable=True,
        since=NOW.isoformat(),
    )
    given = DecideInput.model_validate({"id": "a/s#1", "by": "ann", **asked})
    return record(state, given, NOW, "update")


def test_an_approval_of_a_changed_value_keeps_the_digest_of_what_was_approved() -> None:
    decision = decided(decision="approve", payload={"pages": 4})
    assert decision.payload == {"pages": 4}
    assert decision.changes == ("pages: 3 -> 4 (ann)",)
    assert decision.digest == digest_of("Good?", {"pages": 4})


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_a_decision_about_an_unchanged_value_keeps_no_digest(verdict: str) -> None:
    decision = decided(decision=verdict)
    assert (decision.changes, decision.digest) == ((), "")
