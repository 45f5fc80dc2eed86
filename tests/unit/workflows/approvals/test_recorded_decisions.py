"""What a decision keeps of its request and of the value that it was about."""

from datetime import UTC, datetime
from typing import get_args

import pytest

from coterie.dsl.values import Json, JsonValue
from coterie.workflows.approvals.decisions import record
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Decision, How, Pending, Verdict, request_digest
from coterie.workflows.core.state import MAX_DECISIONS, RunState

NOW = datetime(2026, 1, 1, tzinfo=UTC)
AT = "2026-01-01T00:00:00.000+00:00"
ID = "a/s#1"
SHOWN: Json = {"pages": 3}
EDIT: Json = {"pages": 4}


def waiting(**more: JsonValue) -> RunState:
    """A run that asks about a value that may be changed."""
    given: Json = {
        "id": ID,
        "prompt": "Good?",
        "show": SHOWN,
        "digest": request_digest("", "Good?", SHOWN),
        "editable": True,
        "since": AT,
        **more,
    }
    return RunState(pending={ID: Pending.model_validate(given)})


def decide(state: RunState, *, how: How = "update", **asked: JsonValue) -> Decision:
    given = DecideInput.model_validate({"id": ID, "by": "ann", **asked})
    return record(state, given, NOW, how)


def test_an_approval_of_a_changed_value_keeps_the_digest_of_what_was_approved() -> None:
    decision = decide(waiting(), decision="approve", payload=EDIT)
    assert decision.payload == EDIT
    assert decision.changes == ("pages: 3 -> 4 (ann)",)
    assert decision.digest == request_digest("", "Good?", EDIT)


@pytest.mark.parametrize("how", get_args(How))
@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_every_decision_keeps_the_digest_of_what_was_shown(verdict: str, how: How) -> None:
    decision = decide(waiting(), how=how, decision=verdict)
    assert (decision.changes, decision.digest) == ((), request_digest("", "Good?", SHOWN))


@pytest.mark.parametrize(
    ("request_", "decision", "verdict", "payload"),
    [
        ({}, "approve", "approved", SHOWN),
        ({"editable": False}, "approve", "approved", None),
        ({}, "reject", "rejected", None),
        ({"choices": ["retry"]}, "reject", "failed", None),
    ],
    ids=["approved", "approved as shown", "rejected", "a failed task"],
)
def test_a_decision_closes_its_request_and_waits_for_its_step(
    request_: Json, decision: str, verdict: Verdict, payload: JsonValue
) -> None:
    state = waiting(**request_)
    made = decide(state, decision=decision, comment="fine")
    assert made == Decision(
        id=ID,
        verdict=verdict,
        by="ann",
        comment="fine",
        at=AT,
        how="update",
        payload=payload,
        digest=request_digest("", "Good?", SHOWN),
    )
    assert (state.pending, state.decisions, state.unread) == ({}, {ID: made}, [ID])


def test_an_approval_counts_until_as_many_people_as_the_quorum_have_approved() -> None:
    state = waiting(quorum=3, approvers=["Ann", "bob", "cid"])
    first = decide(state, decision="approve")
    assert (first.verdict, first.by, state.decisions) == ("counted", "Ann", {})
    second = decide(state, decision="approve", by="bob")
    assert (second.verdict, second.by) == ("counted", "bob")
    assert state.pending[ID].approved_by == ("Ann", "bob")
    third = decide(state, decision="approve", by="cid")
    assert (third.verdict, third.by) == ("approved", "Ann, bob, cid")
    assert state.pending == {}


def test_one_rejection_is_enough_and_names_only_who_rejected() -> None:
    state = waiting(quorum=2, approved_by=["bob"])
    rejected = decide(state, decision="reject")
    assert (rejected.verdict, rejected.by, state.pending) == ("rejected", "ann", {})


def test_a_deadline_approves_without_the_quorum() -> None:
    state = waiting(quorum=3, approved_by=["bob"])
    approved = decide(state, how="deadline", decision="approve", by="deadline")
    assert (approved.verdict, approved.by) == ("approved", "bob, deadline")


def test_a_changed_value_must_be_approved_anew_and_no_deadline_approves_it() -> None:
    state = waiting(quorum=2, approved_by=["bob"], changes=["title: x -> y (bob)"])
    state.pending[ID] = state.pending[ID].model_copy(update={"on_timeout": "approve"})
    counted = decide(state, decision="approve", payload=EDIT)
    made = ("title: x -> y (bob)", "pages: 3 -> 4 (ann)")
    assert (counted.verdict, counted.changes) == ("counted", made)
    changed = state.pending[ID]
    assert (changed.show, changed.edited, changed.approved_by) == (EDIT, True, ("ann",))
    assert (changed.digest, changed.changes) == (request_digest("", "Good?", EDIT), made)
    assert changed.on_timeout == "fail"


def test_a_request_lists_its_latest_twenty_changes() -> None:
    state = waiting(quorum=2, changes=[f"change {number}" for number in range(20)])
    decide(state, decision="approve", payload=EDIT)
    changes = state.pending[ID].changes
    assert (len(changes), changes[0], changes[-1]) == (20, "change 1", "pages: 3 -> 4 (ann)")


def test_a_rejection_of_a_changed_value_keeps_its_digest_and_not_the_changes() -> None:
    rejected = decide(waiting(edited=True, changes=["pages: 2 -> 3 (bob)"]), decision="reject")
    assert (rejected.changes, rejected.digest) == ((), request_digest("", "Good?", SHOWN))


@pytest.mark.parametrize(
    ("remembered_as", "decision", "how", "kept"),
    [
        ("a/s", "approve", "update", True),
        ("a/s", "reject", "update", False),
        ("a/s", "approve", "deadline", False),
        (None, "approve", "update", False),
    ],
)
def test_an_approval_by_people_answers_equal_requests(
    remembered_as: str | None, decision: str, how: How, kept: bool
) -> None:
    state = waiting(remembered_as=remembered_as)
    made = decide(state, how=how, decision=decision)
    assert state.remembered == ({"a/s": made} if kept else {})


def test_the_oldest_of_too_many_remembered_approvals_is_forgotten() -> None:
    earlier = Decision(id="x", verdict="approved", by="ann", at=AT, how="update")
    state = waiting(remembered_as="new")
    state.remembered = {f"{number}": earlier for number in range(MAX_DECISIONS - 1)}
    decide(state, decision="approve")
    assert len(state.remembered) == MAX_DECISIONS
    state.pending = waiting(remembered_as="newer").pending
    decide(state, decision="approve")
    assert list(state.remembered) == [
        *(f"{n}" for n in range(1, MAX_DECISIONS - 1)),
        "new",
        "newer",
    ]
