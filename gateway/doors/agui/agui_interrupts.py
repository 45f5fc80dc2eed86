"""Requests of a run as interrupts of AG-UI, and the answers to them as decisions.

The id of an interrupt has the run, the request, and the digest of what was shown. Every client
sends it back, so a decision is about what the person saw, whatever else the client keeps.
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeVar, cast
from urllib.parse import quote, unquote

from ag_ui.core import Interrupt, ResumeEntry
from pydantic import JsonValue, ValidationError

from coterie.dsl.values import Frozen, Json
from coterie.failures import CommandError
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import (
    Rejection,
    failed_request,
    invalid_input,
    problems_of,
)
from coterie.gateway.operations.operation import Why
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform
from coterie.gateway.operations.request_decisions import (
    RequestsAsked,
    WaitingRequest,
    WaitingRequests,
)
from coterie.gateway.operations.run_access import RunAccess
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.state_keys import StepKey

_ID = re.compile(r"(?P<run>[^:]+):(?P<request>[^:]+):(?P<digest>[^:]*)")
_UNCHANGED = ("refused", "unknown_run")
"""Codes of a decision that came too late, or about something else."""


class InterruptPick(NamedTuple):
    """What an interrupt is about."""

    run: str
    request: str
    digest: str

    def __str__(self) -> str:
        """Return the id of the interrupt."""
        return ":".join(quote(part, safe="") for part in self)

    @classmethod
    def parse(cls, text: str) -> "InterruptPick":
        """Read the id of an interrupt; raises Rejection."""
        match = _ID.fullmatch(text)
        if match is None:
            raise Rejection(
                422,
                "invalid",
                "`resume` names an interrupt that this door has not sent",
                "Send back the `id` of each interrupt of the run.",
            )
        return cls(*map(unquote, match.groups()))


class ApprovalAnswer(Frozen):
    """The payload that answers an approval or a question."""

    approved: bool | None = None
    """A question needs none: its answer is the value."""
    comment: Why = ""
    value: JsonValue = None
    """In place of what was shown, if that may be edited."""


class FailureAnswer(Frozen):
    """The payload that decides about a failed task."""

    decision: Literal["retry", "skip", "fail"]
    comment: Why = ""
    value: JsonValue = None
    """The data of a skipped task."""


Answer = TypeVar("Answer", ApprovalAnswer, FailureAnswer)


def interrupt_of(waiting: WaitingRequest, tool: str) -> Interrupt:
    """Return a request as an interrupt.

    Args:
        waiting: The request.
        tool: The id of the tool call that it is about; empty: none that the client knows.
    """
    request = waiting.request
    fields: Json = {
        "id": str(InterruptPick(waiting.run, request.id, request.digest)),
        "reason": _reason(request),
        "message": request.prompt,
        "response_schema": answer_schema(request),
        "metadata": {
            "coterie": {
                "run": waiting.run,
                "request": request.id,
                "digest": request.digest,
                "show": request.show,
                "call": None if request.call is None else request.call.model_dump(mode="json"),
                "approvers": list(request.approvers),
                "quorum": request.quorum,
                "approved_by": list(request.approved_by),
                "is_yours": waiting.is_yours,
            }
        },
    }
    if tool:
        fields["tool_call_id"] = tool
    if request.deadline is not None:
        fields["expires_at"] = request.deadline
    return Interrupt.model_validate(fields)


def _reason(request: Pending) -> str:
    if request.choices:
        return "failed_task"
    if request.is_question:
        return "question"
    return "approval" if request.call is None else "tool_call"


def answer_schema(request: Pending) -> Json:
    """Return the JSON Schema of the payload that answers a request."""
    comment: Json = {"type": "string"}
    if request.choices:
        decision: Json = {"enum": list(request.choices)}
        properties: Json = {"decision": decision, "comment": comment, "value": {}}
        return _object(properties, ["decision"])
    properties = {"approved": {"type": "boolean"}, "comment": comment}
    if request.editable:
        properties["value"] = request.payload_schema or {}
    return _object(properties, ["value"] if request.is_question else ["approved"])


def _object(properties: Json, required: Sequence[str]) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


class Answers:
    """Decides the requests that a client answers, in the name of its identity."""

    def __init__(self, access: RunAccess, identity: Identity) -> None:
        """Take the runs, and who answers."""
        self._access = access
        self._identity = identity

    async def decide(self, entries: Sequence[ResumeEntry]) -> None:
        """Decide what still waits as it was shown; the rest was decided or changed elsewhere.

        Raises:
            CommandError: The identity may not, or an answer does not fit.
        """
        for entry in entries:
            pick = InterruptPick.parse(entry.interrupt_id)
            waiting = await self._waiting(pick)
            if waiting is None or entry.status == "cancelled":
                continue  # who gives up decides nothing: the request waits for others
            try:
                await self._decide(pick, waiting.request, entry.payload)
            except CommandError as error:
                if failed_request(error).report.code not in _UNCHANGED:
                    raise
                if await self._waiting(pick) is not None:
                    raise

    async def _waiting(self, pick: InterruptPick) -> WaitingRequest | None:
        found = cast(
            "WaitingRequests", await self._perform("requests", RequestsAsked(run=pick.run))
        )
        return next(
            (
                waiting
                for waiting in found.requests
                if (waiting.request.id, waiting.request.digest) == (pick.request, pick.digest)
            ),
            None,
        )

    async def _decide(self, pick: InterruptPick, request: Pending, payload: JsonValue) -> None:
        if request.choices:
            failure = _answer(FailureAnswer, payload, answer_schema(request))
            await self._decide_failure(pick, failure)
            return
        answer = _answer(ApprovalAnswer, payload, answer_schema(request))
        has_value = "value" in answer.model_fields_set
        if answer.approved is None and not (request.is_question and has_value):
            raise Rejection(
                422,
                "invalid",
                f"the answer to the request {pick.request!r} says neither yes nor no",
                "Send a payload that fits the `responseSchema` of the interrupt.",
            )
        asked: Json = {
            "run": pick.run,
            "request": pick.request,
            "digest": pick.digest,
            "decision": "reject" if answer.approved is False else "approve",
            "comment": answer.comment,
        }
        if has_value:
            asked["payload"] = answer.value
        await self._perform_named("decide", asked)

    async def _decide_failure(self, pick: InterruptPick, answer: FailureAnswer) -> None:
        task = str(StepKey.of_failed(pick.request))
        steering: Json = {"run": pick.run, "task": task, "why": answer.comment}
        match answer.decision:
            case "retry":
                await self._perform_named("retry", steering)
            case "skip":
                await self._perform_named("skip", {**steering, "value": answer.value})
            case "fail":
                reject: Json = {"decision": "reject", "comment": answer.comment}
                await self._perform_named("decide", {**pick._asdict(), **reject})

    async def _perform_named(self, name: str, asked: Json) -> None:
        await self._perform(name, operation_named(name).input.model_validate(asked))

    async def _perform(self, name: str, asked: Frozen) -> Frozen:
        return await perform(self._access, operation_named(name), asked, self._identity)


def _answer(model: type[Answer], payload: JsonValue, schema: Json) -> Answer:
    """Read a payload; raises Rejection."""
    try:
        return model.model_validate(payload)
    except ValidationError as error:
        allowed = ", ".join(cast("Json", schema["properties"]))
        failed = invalid_input(problems_of(error), allowed)
        message = f"the payload of an answer does not fit: {failed.report.message}"
        raise Rejection(422, failed.report.code, message, failed.report.fix) from None
