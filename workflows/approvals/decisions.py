"""Decisions: who may decide a request, what a decision changes, and what it means for the step.

Pure functions over RunState.

A request is bound to its visit and to a digest of what it shows, so an old decision never applies
to a later round. The run refuses a decision about an unknown or closed request, or by somebody who
is not allowed; a refusal changes nothing.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import TypeGuard

from pydantic import JsonValue

from coterie.dsl.errors import listed
from coterie.dsl.json_schema.keyword_check import excerpt
from coterie.dsl.json_schema.schema_checker import UnusableSchema, mismatches
from coterie.dsl.json_values import describe_kind, json_digest
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.person_names import listed_name
from coterie.dsl.sizes import MAX_SHOWN, too_large
from coterie.dsl.values import Json
from coterie.workflows.approvals import decision_refusals as wording
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
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Decision, How, Pending, Verdict, request_digest
from coterie.workflows.core.state import MAX_DECISIONS, RunState

MAX_CHANGES = 20
"""Maximum changes that a request lists; the decision's payload has the whole value."""


def changes(before: JsonValue, after: JsonValue) -> tuple[str, ...]:
    """Return the differences, as `pages: 3 -> 4`; at most MAX_CHANGES, then `and more`."""
    texts: list[str] = []
    for change in _changes(before, after, ""):
        if len(texts) == MAX_CHANGES:
            return (*texts, "and more")
        texts.append(change)
    return tuple(texts)


def _changes(before: JsonValue, after: JsonValue, where: str) -> Iterator[str]:
    match before, after:
        case dict(), dict():
            for key in dict.fromkeys((*before, *after)):
                path = f"{where}.{key}" if where else key
                if key not in after:
                    yield f"{path}: {excerpt(before[key])} left out"
                elif key not in before:
                    yield f"{path}: {excerpt(after[key])} added"
                else:
                    yield from _changes(before[key], after[key], path)
        case list(), list() if len(before) == len(after):
            for index, (old, new) in enumerate(zip(before, after, strict=True)):
                yield from _changes(old, new, f"{where}[{index}]")
        case _:
            if before != after or describe_kind(before) != describe_kind(after):
                change = f"{excerpt(before)} -> {excerpt(after)}"
                yield f"{where}: {change}" if where else change


_MAX_NAMED_REQUESTS = 50


def refusal(state: RunState, asked: DecideInput) -> DecisionRefusal | None:
    """Return why the run refuses this decision, or None if it accepts it."""
    earlier = state.decisions.get(asked.id)
    if earlier is not None:
        brief = earlier.model_copy(update={"payload": None, "proofs": ()})
        return RequestClosed(asked.id, brief)
    request = state.pending.get(asked.id)
    if request is None:
        return RequestUnknown(asked.id, tuple(state.pending)[:_MAX_NAMED_REQUESTS])
    refused = _decider_refusal(request, asked) or _outdated_refusal(request, asked)
    if refused is not None:
        return refused
    problem = _payload_problem(request, asked)
    return None if problem is None else PayloadRefused(request.id, problem)


def _decider_refusal(request: Pending, decision_input: DecideInput) -> DecisionRefusal | None:
    """Return why this person, or this kind of decision, is not allowed."""
    if request.approvers and listed_name(decision_input.by, request.approvers) is None:
        return DeciderNotAllowed(request.id, decision_input.by, request.approvers)
    if request.choices and decision_input.decision == "approve":
        return FailedTaskApproved(request.id)
    return None


def _outdated_refusal(request: Pending, decision_input: DecideInput) -> DecisionRefusal | None:
    """Return why the decision does not apply to what the request shows now."""
    if decision_input.digest is not None and decision_input.digest != request.digest:
        return RequestChanged(request.id, decision_input.digest, request.digest)
    approved = decision_input.decision == "approve" and (
        listed_name(decision_input.by, request.approved_by) is not None
    )
    if approved and not _edits(request, decision_input):
        return AlreadyApproved(request.id, decision_input.by, request.approved_by, request.quorum)
    if decision_input.digest is None and (request.edited or request.digest_required):
        return DigestMissing(request.id, request.edited)
    return None


def _replaces_shown_value(request: Pending, decision_input: DecideInput) -> bool:
    """Return whether the decision replaces the value shown.

    Null counts only if an approval may edit the value: many programs write null for "not given".
    """
    has_payload = "payload" in decision_input.model_fields_set
    may_be = request.editable and decision_input.decision == "approve"
    return has_payload and (decision_input.payload is not None or may_be)


def _edits(request: Pending, decision_input: DecideInput) -> bool:
    """Return whether the decision changes the value shown."""
    return _replaces_shown_value(request, decision_input) and (
        json_digest(decision_input.payload) != json_digest(request.show)
    )


def _payload_problem(request: Pending, decision_input: DecideInput) -> str | None:
    """Return what is wrong with the value that the decision gives, or keeps, or None."""
    if not _replaces_shown_value(request, decision_input):
        if decision_input.decision == "reject" or request.payload_schema is None:
            return None
        unfit = form_problem(request, request.show, "the shown value")
        return None if unfit is None else wording.shown_value_invalid(unfit)
    large = too_large(decision_input.payload, "`payload`", MAX_SHOWN)
    if large is not None:
        return large
    if not request.editable:
        return wording.not_editable(request.id)
    if decision_input.decision == "reject":
        return wording.rejected_with_payload()
    return form_problem(request, decision_input.payload, "payload")


def form_problem(request: Pending, payload: JsonValue, where: str) -> str | None:
    """Return what is wrong with a value that replaces the one shown, or None.

    It must match the JSON Schema of the request, or else keep the types of the value shown.
    """
    if request.payload_schema is None:
        mismatch = _mismatch(request.show, payload, where)
        if mismatch is None:
            return None
        return f"{mismatch}; a change must keep the form of the value shown"
    try:
        problems = mismatches(payload, request.payload_schema, where)
    except UnusableSchema as error:
        return f"{where} cannot be checked against its schema: {error}"
    return "; ".join(problems) or None


def _mismatch(original: JsonValue, replacement: JsonValue, where: str) -> str | None:
    """Return where the given value has another shape than the shown one, or None."""
    match original, replacement:
        case None, _:
            return None
        case dict(), dict():
            if original.keys() != replacement.keys():
                return f"{where} has the keys {listed(replacement)}, not {listed(original)}"
            parts = (
                _mismatch(original[key], replacement[key], f"{where}.{key}") for key in original
            )
        case list(), list():
            pattern = original[0] if original else None
            parts = (
                _mismatch(pattern, item, f"{where}[{i}]") for i, item in enumerate(replacement)
            )
        case _ if type(original) is type(replacement):
            return None
        case _:
            kinds = describe_kind(original), describe_kind(replacement)
            return None if kinds[0] == kinds[1] else f"{where} is {kinds[1]}, not {kinds[0]}"
    return next((part for part in parts if part is not None), None)


def approvable(request: Pending) -> bool:
    """Return whether `on_timeout: approve` may approve the value shown: it matches the schema."""
    return request.payload_schema is None or form_problem(request, request.show, "it") is None


def refused_as(request: Pending) -> Verdict:
    """Return the verdict of a rejection: a failed task stays failed."""
    return "failed" if request.choices else "rejected"


def record(state: RunState, asked: DecideInput, at: datetime, how: How) -> Decision:
    """Take an allowed decision; close the request, unless more people must approve."""
    request = state.pending[asked.id]
    by = listed_name(asked.by, request.approvers) or asked.by
    if _edits(request, asked):
        request = _with_new_value(request, asked.payload, by)
    approve = asked.decision == "approve"
    names = (*request.approved_by, by) if approve else (by,)
    enough = not approve or how == "deadline" or len(names) >= request.quorum
    own_proofs = () if asked.proof is None else (asked.proof,)
    proofs = (*request.proofs, *own_proofs) if approve and how != "deadline" else own_proofs
    decision = Decision(
        id=asked.id,
        verdict=refused_as(request) if not approve else "approved" if enough else "counted",
        by=", ".join(names) if enough else by,
        comment=asked.comment,
        at=at.isoformat(timespec="milliseconds"),
        how=how,
        payload=request.show if approve and request.editable else None,
        changes=request.changes if approve else (),
        digest=request.digest,
        proofs=proofs if enough else own_proofs,
    )
    if not enough:
        state.pending[asked.id] = request.model_copy(
            update={"approved_by": names, "proofs": proofs}
        )
        return decision.brief
    del state.pending[asked.id]
    state.decide(decision)
    if approve and request.remembered_as is not None and how != "deadline":
        _remember(state, request.remembered_as, decision)
    return decision.brief


def _with_new_value(request: Pending, show: JsonValue, by: str) -> Pending:
    """Return a request with another value to show; who approved before had not seen this one."""
    new_changes = tuple(f"{change} ({by})" for change in changes(request.show, show))
    edited = request.model_copy(
        update={
            "show": show,
            "digest": request_digest(request.origin, request.prompt, show),
            "edited": True,
            "approved_by": (),
            "proofs": (),
            "changes": (*request.changes, *new_changes)[-MAX_CHANGES:],
        }
    )
    return edited.model_copy(update={"on_timeout": edited.at_deadline})


def _remember(state: RunState, name: str, decision: Decision) -> None:
    """Keep a decision for equal requests; the oldest of too many is forgotten."""
    state.remembered[name] = decision
    if len(state.remembered) > MAX_DECISIONS:
        del state.remembered[next(iter(state.remembered))]


def is_approved(decision: Decision | None) -> TypeGuard[Decision]:
    """Return whether the request was approved: not rejected, and not left without a decision."""
    return decision is not None and decision.verdict == "approved"


def decision_data(decision: Decision) -> Json:
    """Return what other steps may read of a decision."""
    return {
        "decision": decision.verdict,
        "by": decision.by,
        "comment": decision.comment,
        "at": decision.at,
    }


def rejected(decision: Decision | None, data: Json | None = None) -> Outcome:
    """Return the failure of a step or a call that was not approved.

    Args:
        decision: the rejection; None if nobody decided in time.
        data: what other steps may read of it. Default: the decision.
    """
    if decision is None:
        return Outcome.failed("NotDecided", "nobody decided in time")
    reason = decision.comment or "no reason given"
    message = f"{decision.by} rejected it: {reason}"
    return Outcome.failed("Rejected", message, data or decision_data(decision))
