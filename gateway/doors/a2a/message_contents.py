"""What a message asks for: a start, a message of a session, or a decision. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue, ValidationError

from coterie.dsl.errors import listed
from coterie.dsl.model.plan import Plan
from coterie.dsl.sizes import MAX_NAME_LENGTH, MAX_WHY_LENGTH
from coterie.dsl.values import Documented, Json
from coterie.dsl.visible import shortened_text
from coterie.gateway.operations.error_reports import Rejection, invalid_input, problems_of
from coterie.gateway.sessions.message_inputs import (
    message_schemas,
    session_message,
    start_context,
    takes_text,
)
from coterie.workflows.core.requests import Pending

Act = Literal["approve", "reject", "retry", "skip"]
_WORDS: Mapping[str, Act] = {"approve": "approve", "reject": "reject", "retry": "retry"}
"""Texts that decide: only these words, so that no sentence is taken for a decision."""


IN_REPLY_TO: Final = "in_reply_to"
"""The key of the metadata of a message with the id of the status message that it answers."""
_MAX_LISTED: Final = 5
_MAX_PROMPT: Final = 200


class DecisionData(Documented):
    """A decision as a data part."""

    request: Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH)] | None = None
    """The id of the request. Default: the one with the digest; without it, the only one."""
    decision: Act
    comment: Annotated[str, Field(max_length=MAX_WHY_LENGTH)] = ""
    payload: JsonValue = None
    """Of an approval: the value instead of the shown one; of `skip`: the data of the task."""
    digest: Annotated[str, Field(max_length=200)] | None = None
    """Of the request as it was shown. Needed, unless the message names the status it answers."""


@dataclass(frozen=True, slots=True)
class MessageContent:
    """The texts and values of a message, in order."""

    texts: tuple[str, ...]
    values: tuple[JsonValue, ...]
    """Of its data parts, and of texts that are marked as JSON."""

    @property
    def text(self) -> str:
        """Its texts as one."""
        return "\n".join(self.texts)


@dataclass(frozen=True, slots=True)
class RequestAnswer:
    """A decision about one request."""

    request: Pending
    """As the client has seen it: a run takes no decision with another digest."""
    act: Act
    comment: str
    payload: JsonValue = None
    has_payload: bool = False


def _refuse(message: str, fix: str) -> Rejection:
    return Rejection(422, "invalid", message, fix)


def task_context(plan: Plan, team: str, content: MessageContent) -> Json:
    """Return the context with which a message starts a run: its data parts, and its text.

    Raises:
        Rejection: The message does not say what the inputs are.
    """
    given = _merge_objects(content.values)
    return start_context(plan, team, given, content.text) if content.texts else given


def session_value(plan: Plan, content: MessageContent) -> JsonValue:
    """Return the message of a session: its text, or its value.

    Raises:
        Rejection: It has neither, or both, or the session does not take the text.
    """
    if len(content.values) + bool(content.texts) != 1:
        raise _refuse(
            "a message of a session has either texts or one value",
            "Send one text, or one data part.",
        )
    return (
        session_message(message_schemas(plan), content.text) if content.texts else content.values[0]
    )


def session_context(metadata: JsonValue) -> Json:
    """Return the context with which a session starts: `context` of the metadata of its message.

    Raises:
        Rejection: It is not an object.
    """
    context: JsonValue = metadata.get("context") if isinstance(metadata, dict) else None
    if context is None:
        return {}
    if not isinstance(context, dict):
        raise _refuse("`context` in the metadata is not an object", "Send `{input: value}` there.")
    return context


def status_answered(metadata: JsonValue) -> str | None:
    """Return the id of the status message that a message answers; None if it names none."""
    named = metadata.get(IN_REPLY_TO) if isinstance(metadata, dict) else None
    return named if isinstance(named, str) else None


def answer_to(
    content: MessageContent, pending: Sequence[Pending], *, is_reply: bool
) -> RequestAnswer:
    """Return the decision that a message makes.

    Args:
        content: What the message says.
        pending: The requests that wait now.
        is_reply: Whether the message names the status that shows them, so that its sender has
            seen what it decides.

    Raises:
        Rejection: It makes none, or does not say about which request that its sender has seen.
    """
    if content.values:
        return _answer_of_data(content, pending, is_reply=is_reply)
    request = _choose_request(None, None, pending, is_reply=is_reply)
    if request.is_question:
        return RequestAnswer(request, "approve", "", _form(content, request), True)
    word, _, comment = content.text.strip().partition("\n")
    act = _WORDS.get(word.strip().casefold())
    if act is None:
        raise _refuse(
            f"the text decides nothing: {request.id} waits for a decision",
            "Send `approve` or `reject` as the first line of the text, with a comment below it; or "
            'a data part such as {"decision": "approve"}.',
        )
    return RequestAnswer(request, _checked_act(act, request), comment.strip())


def _answer_of_data(
    content: MessageContent, pending: Sequence[Pending], *, is_reply: bool
) -> RequestAnswer:
    if len(content.values) != 1:
        raise _refuse("the message has several values", "Send one data part with the decision.")
    value = content.values[0]
    if not isinstance(value, dict) or "decision" not in value:
        request = _choose_request(None, None, pending, is_reply=is_reply)
        if request.is_question:
            return RequestAnswer(request, "approve", content.text, value, True)
        fix = 'Send a data part such as {"decision": "approve"}.'
        raise _refuse("the data part has no `decision`", fix)
    try:
        data = DecisionData.model_validate(value)
    except ValidationError as error:
        report = invalid_input(problems_of(error), ", ".join(DecisionData.model_fields)).report
        raise _refuse(report.message, report.fix) from None
    request = _choose_request(data.request, data.digest, pending, is_reply=is_reply)
    return RequestAnswer(
        request,
        _checked_act(data.decision, request),
        data.comment or content.text,
        data.payload,
        "payload" in data.model_fields_set,
    )


def decisions_about(request: Pending) -> tuple[Act, ...]:
    """Return what a client may decide about a request."""
    return ("retry", "skip", "reject") if request.choices else ("approve", "reject")


def _checked_act(act: Act, request: Pending) -> Act:
    allowed = decisions_about(request)
    if act not in allowed:
        raise _refuse(
            f"the request {request.id} takes no {act!r}", f"Allowed are: {listed(allowed)}."
        )
    return act


def _form(content: MessageContent, request: Pending) -> JsonValue:
    """Return a text as the answer to a question: as the only input of its form, if it has one."""
    schema = request.payload_schema
    if not request.editable:
        raise _refuse(
            f"the question {request.id} takes no value",
            'Send a data part such as {"decision": "approve", "comment": "..."}.',
        )
    if schema is None or schema.get("type") == "string":
        return content.text
    inputs = _text_inputs(schema)
    if len(inputs) == 1:
        return {inputs[0]: content.text}
    names = listed(_properties(schema)) or "any"
    raise _refuse(
        f"the question {request.id} asks for more than a text",
        f"Send a data part with its fields: {names}.",
    )


def _choose_request(
    id: str | None, digest: str | None, pending: Sequence[Pending], *, is_reply: bool
) -> Pending:
    """Return the request that a message is about, if its sender has seen it as it is now."""
    named = [request for request in pending if id in (None, request.id)]
    chosen = [request for request in named if digest in (None, request.digest)]
    if digest is None and not is_reply:
        raise _refuse_unseen("the message does not show which request its sender has seen", pending)
    if len(chosen) == 1:
        return chosen[0]
    if chosen:
        text = f"{len(chosen)} requests wait, and the message does not say which one it decides"
    elif named and digest is not None:
        text = "no request waits with this digest"
    else:
        text = f"no request {id!r} waits"
    raise _refuse_unseen(text, pending)


def _refuse_unseen(text: str, pending: Sequence[Pending]) -> Rejection:
    """Return the error that shows what waits, and how to answer that."""
    shown = [
        f"{request.id} (digest {request.digest}): {shortened_text(request.prompt, _MAX_PROMPT)}"
        for request in pending[:_MAX_LISTED]
    ]
    more = len(pending) - len(shown)
    waiting = "; ".join([*shown, *([f"and {more} more"] if more else [])])
    return Rejection(
        409,
        "message_refused",
        f"{text}. Waiting: {waiting}",
        'Decide with a data part such as {"decision": "approve", "digest": "..."}; or name the '
        f"status that you answer: its `messageId` as `{IN_REPLY_TO}` in the metadata.",
    )


def _merge_objects(values: Sequence[JsonValue]) -> Json:
    context: Json = {}
    for value in values:
        if not isinstance(value, dict):
            raise _refuse(
                "a data part is not an object", "Send a data part `{input: value}` for the inputs."
            )
        context |= value
    return context


def _properties(schema: Json) -> Json:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _text_inputs(schema: Json) -> list[str]:
    return [
        name
        for name, inner in _properties(schema).items()
        if isinstance(inner, dict) and takes_text(inner)
    ]
