"""What the person at an MCP client may answer, as a form, and what an answer decides. Pure.

A question of a tool approves nothing, so any client may answer it. An approval says `via: mcp`.
Both are recorded as the client's. A request that names approvers is for them alone.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import JsonValue

from coterie.activities.changes.shown_changes import asked_changes, shortened_diff
from coterie.dsl.person_names import is_among
from coterie.dsl.sizes import MAX_BY_LENGTH
from coterie.dsl.values import Frozen, Json
from coterie.dsl.visible import shortened_text, visible
from coterie.mcp_server.tool_sets import CallerRole, Permits
from coterie.rendering.request_text import asked_change
from coterie.runs.run_client import MessageSigner
from coterie.workflows.core.extract import extract
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Pending

_MAX_MESSAGE_LENGTH = 2_000
_MAX_SHOWN = 4_000
_SHORTENED = "(shortened; `coterie pending` shows all of it)"
_MAX_FIELDS = 20
_KINDS = ("string", "number", "integer", "boolean")
_FIELD_KEYS = (
    *("type", "title", "description", "enum", "format", "pattern"),
    *("minLength", "maxLength", "minimum", "maximum"),
)
_ANSWER: Final = "answer"
"""The only field of a question without a form of its own."""
_COMMENT: Json = {
    "type": "object",
    "properties": {"comment": {"type": "string", "title": "Comment", "maxLength": 1_000}},
}


SignerFor = Callable[[str], MessageSigner | None]
"""Returns who signs decisions under a verified name; None where there is no key."""


@dataclass(frozen=True, slots=True)
class McpClient:
    """The program that calls."""

    name: str = "client"
    """Chosen by itself, or verified."""
    approver: str | None = None
    """The verified name with which it decides; empty: it decides no approvals; None: nobody has
    verified it."""
    answers: bool = False
    """Whether it shows forms to a person."""
    follows_tasks: bool = False
    """Whether it polls a task."""
    signer_for: SignerFor | None = None
    """None: nobody has verified it, so nobody signs for it."""
    permits: Permits | None = None
    """What it may do with the runs of a team; None: everything."""

    @property
    def by(self) -> str:
        """The name under which its messages and answers are recorded."""
        return f"mcp:{visible(self.name)}"[:MAX_BY_LENGTH]

    @property
    def decides_as(self) -> str:
        """The name under which its decisions count: each caller has one, whatever it calls."""
        return self.approver or self.by

    def lacks(self, roles: Sequence[CallerRole], team: str) -> str | None:
        """Return why it has none of the roles for a team; None if it has one."""
        return None if self.permits is None else self.permits(roles, team)

    def signer(self) -> MessageSigner | None:
        """Return who signs its decisions; None: they stay unsigned.

        Raises:
            CommandError: The key cannot be read.
        """
        return None if self.signer_for is None else self.signer_for(self.decides_as)


class ClientQuestion(Frozen):
    """A request that the person at a client may answer."""

    key: str
    """Of this request as it is shown now: after a change, it has another key."""
    message: str
    form: Json
    """A JSON Schema of an object with plain fields, which every client can show."""


class FormReply(Frozen):
    """What the person at a client did with a form."""

    action: Literal["accept", "decline", "cancel"]
    content: Json | None = None


def may_answer(request: Pending, client: McpClient) -> bool:
    """Return whether a client's person may answer a request."""
    decides_approvals = client.approver != ""
    open_to_clients = request.is_question or (request.via == "mcp" and decides_approvals)
    is_approver = not request.approvers or is_among(client.decides_as, request.approvers)
    return open_to_clients and is_approver and not request.choices


def questions_for(
    pending: Iterable[Pending], client: McpClient, workspace: Path | None
) -> tuple[ClientQuestion, ...]:
    """Return the requests that a client can show to its person, as forms.

    Args:
        pending: The requests that wait.
        client: The client.
        workspace: Folder of the files that they would change; None if it is elsewhere.
    """
    questions: list[ClientQuestion] = []
    for request in pending:
        form = _form(request)
        if form is not None and may_answer(request, client):
            key, message = question_key(request), _text(request, workspace)
            questions.append(ClientQuestion(key=key, message=message, form=form))
    return tuple(questions)


def question_key(request: Pending) -> str:
    """Return the key of a request as it is shown now."""
    return visible(f"{request.id}@{request.digest}")


def decisions_of(
    pending: Sequence[Pending], replies: Mapping[str, FormReply], client: McpClient
) -> tuple[DecideInput, ...]:
    """Return what replies decide; those to requests that are not open to the client, nothing."""
    decisions: list[DecideInput] = []
    for request in pending:
        reply = replies.get(question_key(request))
        if reply is None or reply.action == "cancel" or not may_answer(request, client):
            continue
        decisions.append(_decision(request, reply, client))
    return tuple(decisions)


def answer_given(request: Pending, message: JsonValue, client: McpClient) -> DecideInput:
    """Return the decision that answers a question with a message: a text, or its whole form."""
    payload: JsonValue = message if isinstance(message, dict) else {_ANSWER: message}
    return DecideInput(
        id=request.id,
        decision="approve",
        by=client.decides_as,
        digest=request.digest,
        payload=payload,
    )


def _decision(request: Pending, reply: FormReply, client: McpClient) -> DecideInput:
    content = reply.content or {}
    decision = "approve" if reply.action == "accept" else "reject"
    decide_input = DecideInput(
        id=request.id, decision=decision, by=client.decides_as, digest=request.digest
    )
    if reply.action == "decline":
        return decide_input.model_copy(update={"comment": "declined"})
    if request.payload_schema is not None:
        return DecideInput.model_validate({**decide_input.model_dump(), "payload": content})
    comment = content.get("comment")
    text = shortened_text(comment, 1_000) if isinstance(comment, str) else ""
    return decide_input.model_copy(update={"comment": text})


def _text(request: Pending, workspace: Path | None) -> str:
    """Return the question, and what the person decides about."""
    prompt = visible(request.prompt[:_MAX_MESSAGE_LENGTH])
    if len(request.prompt) > _MAX_MESSAGE_LENGTH:
        prompt += f" {_SHORTENED}"
    if request.asked_because:
        because = shortened_text(request.asked_because, _MAX_MESSAGE_LENGTH)
        prompt += f"\n\nAsked because {visible(because)}"
    if request.is_question:
        return prompt
    change = asked_change(request)
    diff = shortened_diff(change, workspace, "`coterie pending`")
    if diff:
        _, remainder = asked_changes(change)
        about = (
            "" if remainder is None else f"\n\n{visible(json.dumps(remainder, ensure_ascii=False))}"
        )
        return f"{prompt}{shortened_text(about, _MAX_SHOWN)}\n\n{diff}"
    if request.show in (None, {}, ""):
        return prompt
    part = extract(request.show, (), 0, _MAX_SHOWN)
    value = visible(json.dumps(part.value, indent=2, ensure_ascii=False))
    rest = "" if part.whole else f"\n{_SHORTENED}"
    return f"{prompt}\n\n{value}{rest}"


def _form(request: Pending) -> Json | None:
    """Return the form of an answer; None if a client cannot show it."""
    schema = request.payload_schema
    if schema is None:
        return _COMMENT
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not 0 < len(properties) <= _MAX_FIELDS:
        return None
    values = request.show if isinstance(request.show, dict) else {}
    fields: Json = {}
    for name, field in properties.items():
        plain = _field(field, values.get(name))
        if plain is None:
            return None
        fields[visible(name)] = plain
    required_names = schema.get("required")
    names = [*required_names] if isinstance(required_names, list) else []
    return {"type": "object", "properties": fields, "required": names}


def _field(field: JsonValue, default: JsonValue) -> Json | None:
    if not isinstance(field, dict):
        return None
    plain: Json = {key: field[key] for key in _FIELD_KEYS if key in field}
    choices = plain.get("enum")
    if isinstance(choices, list) and all(isinstance(choice, str) for choice in choices):
        plain["type"] = "string"
    if plain.get("type") not in _KINDS:
        return None
    if default not in (None, ""):
        plain["default"] = default
    return plain
