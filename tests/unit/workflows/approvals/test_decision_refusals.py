"""Which decisions a request takes, and the reason for which it refuses the others."""

import pytest

from coterie.dsl.sizes import MAX_SHOWN
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.approvals.decision_refusals import (
    AlreadyApproved,
    DeciderNotAllowed,
    DecisionRefusal,
    DigestMissing,
    FailedTaskApproved,
    PayloadRefused,
    RequestChanged,
    RequestClosed,
    RequestUnknown,
)
from coterie.workflows.approvals.decisions import approvable, refusal
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Decision, Pending, origin_digest, request_digest
from coterie.workflows.core.state import RunState

ID = "a/s#1"
SHOWN: Json = {"pages": 3, "title": "Rain"}
DIGEST = request_digest("", "Good?", SHOWN)
EDIT: Json = {"pages": 4, "title": "Rain"}
PAGES: Json = {"properties": {"pages": {"type": "integer"}}}


def request(**more: JsonValue) -> Pending:
    given: Json = {"id": ID, "prompt": "Good?", "show": SHOWN, "digest": DIGEST, "since": "-"}
    return Pending.model_validate({**given, **more})


def refused(of: Pending, decision: str = "approve", **asked: JsonValue) -> DecisionRefusal | None:
    given = DecideInput.model_validate({"id": ID, "decision": decision, "by": "ann", **asked})
    return refusal(RunState(pending={ID: of}), given)


def test_a_copied_decision_fits_no_other_run_execution_or_request() -> None:
    """The question and the value are the same everywhere."""
    opened = [
        ("run-1", "e1", ID),
        ("run-2", "e1", ID),
        ("run-1", "e2", ID),
        ("run-1", "e1", "a/s#2"),
        ("run-1e1", "", ID),
        ("run-1", "e1a/s#1", ""),
    ]
    origins = [origin_digest(*one) for one in opened]
    digests = [request_digest(origin, "Good?", SHOWN) for origin in origins]
    assert len(set(digests)) == len(digests)
    here = request(origin=origins[0], digest=digests[0])
    assert refused(here, digest=digests[0]) is None
    for copied in digests[1:]:
        assert refused(here, digest=copied) == RequestChanged(ID, copied, digests[0])


def test_a_digest_is_of_the_values_and_not_of_the_order_of_their_keys() -> None:
    assert request_digest("", "Good?", {"title": "Rain", "pages": 3}) == DIGEST
    assert request_digest("", "Good?", {"title": "Rain", "pages": 4}) != DIGEST
    assert request_digest("", "Bad?", SHOWN) != DIGEST
    assert len(DIGEST) == 64


def test_a_closed_request_answers_with_its_decision_without_the_payload() -> None:
    made = Decision(id=ID, verdict="approved", by="bob", at="-", how="update", payload=EDIT)
    state = RunState(decisions={ID: made}, pending={ID: request()})
    asked = DecideInput(id=ID, decision="approve")
    earlier = made.model_copy(update={"payload": None})
    assert refusal(state, asked) == RequestClosed(ID, earlier)


def test_an_unknown_request_names_at_most_fifty_that_wait() -> None:
    waiting = {f"a/s#{number}": request() for number in range(2, 53)}
    asked = DecideInput(id=ID, decision="approve")
    expected = RequestUnknown(ID, tuple(f"a/s#{number}" for number in range(2, 52)))
    assert refusal(RunState(pending=waiting), asked) == expected


@pytest.mark.parametrize("decision", ["approve", "reject"])
@pytest.mark.parametrize(
    ("by", "approvers", "is_allowed"),
    [
        ("ann", [], True),
        ("ann", ["Ann", "bob"], True),
        ("cid", ["ann", "bob"], False),
    ],
)
def test_only_its_approvers_decide_a_request(
    decision: str, by: str, approvers: list[JsonValue], is_allowed: bool
) -> None:
    found = refused(request(approvers=approvers), decision, by=by)
    names = tuple(str(one) for one in approvers)
    assert found == (None if is_allowed else DeciderNotAllowed(ID, by, names))


def test_a_failed_task_is_not_approved_but_may_be_rejected() -> None:
    failed = request(choices=["retry", "skip"])
    assert refused(failed) == FailedTaskApproved(ID)
    assert refused(failed, "reject") is None


@pytest.mark.parametrize("decision", ["approve", "reject"])
@pytest.mark.parametrize(
    ("of", "digest", "expected"),
    [
        ({}, None, None),
        ({}, DIGEST, None),
        ({}, "other", RequestChanged(ID, "other", DIGEST)),
        ({"edited": True}, None, DigestMissing(ID, edited=True)),
        ({"edited": True}, DIGEST, None),
        ({"digest_required": True}, None, DigestMissing(ID, edited=False)),
        ({"digest_required": True}, DIGEST, None),
    ],
)
def test_a_decision_is_about_what_the_request_shows_now(
    of: Json, digest: str | None, decision: str, expected: DecisionRefusal | None
) -> None:
    assert refused(request(**of), decision, digest=digest) == expected


@pytest.mark.parametrize(
    ("decision", "by", "asked", "expected"),
    [
        ("approve", "ann", {}, AlreadyApproved(ID, "ann", ("ann",), 2)),
        ("approve", "Ann", {"payload": SHOWN}, AlreadyApproved(ID, "Ann", ("ann",), 2)),
        ("approve", "ann", {"payload": EDIT}, None),
        ("approve", "bob", {}, None),
        ("reject", "ann", {}, None),
    ],
)
def test_who_has_approved_may_only_change_the_value_or_reject_it(
    decision: str, by: str, asked: Json, expected: DecisionRefusal | None
) -> None:
    half = request(quorum=2, approved_by=["ann"], editable=True)
    assert refused(half, decision, by=by, **asked) == expected


LOCKED = "the value that 'a/s#1' shows cannot be changed; it lacks `editable: true`"
REJECTED = "a rejection does not change the value shown; omit `payload`"
KEPT = "payload is a text, not a mapping; a change must keep the form of the value shown"


@pytest.mark.parametrize(
    ("of", "decision", "payload", "message"),
    [
        ({}, "approve", EDIT, LOCKED),
        ({}, "reject", EDIT, LOCKED),
        ({}, "approve", None, None),
        ({"editable": True}, "approve", EDIT, None),
        ({"editable": True}, "approve", "much", KEPT),
        ({"editable": True}, "approve", None, KEPT.replace("a text", "null")),
        ({"editable": True}, "reject", EDIT, REJECTED),
        ({"editable": True}, "reject", None, None),
        ({"editable": True, "payload_schema": PAGES}, "approve", {"pages": 9}, None),
        (
            {"editable": True, "payload_schema": PAGES},
            "approve",
            {"pages": "x"},
            "payload.pages is a text, not a whole number",
        ),
    ],
)
def test_a_decision_changes_only_a_value_that_it_may_change(
    of: Json, decision: str, payload: JsonValue, message: str | None
) -> None:
    found = refused(request(**of), decision, payload=payload)
    assert found == (None if message is None else PayloadRefused(ID, message))


def test_a_payload_may_have_exactly_the_most_bytes() -> None:
    of = request(editable=True, show="Rain")
    assert refused(of, payload="x" * (MAX_SHOWN - 2)) is None, "two bytes are the quotes"
    found = refused(of, payload="x" * (MAX_SHOWN - 1))
    size = f"`payload` has {MAX_SHOWN + 1:,} bytes, and {MAX_SHOWN:,} are allowed"
    assert found == PayloadRefused(ID, size)


def test_a_shown_value_that_its_schema_refuses_is_rejected_or_changed() -> None:
    invalid = request(show={"pages": "x"}, editable=True, payload_schema=PAGES)
    text = (
        "the shown value.pages is a text, not a whole number; approve it with a changed `payload`"
    )
    assert refused(invalid) == PayloadRefused(ID, text)
    assert refused(invalid, "reject") is None
    assert refused(invalid, payload={"pages": 1}) is None


@pytest.mark.parametrize(
    ("show", "schema", "expected"),
    [
        ({"pages": 3}, PAGES, True),
        ({"pages": "x"}, PAGES, False),
        ({"pages": "x"}, None, True),
    ],
)
def test_a_deadline_approves_no_value_that_its_schema_refuses(
    show: Json, schema: Json | None, expected: bool
) -> None:
    assert approvable(request(show=show, payload_schema=schema)) is expected
