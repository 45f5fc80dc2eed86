"""What a message asks for: a start, a message of a session, or a decision. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, cast

from pydantic import Field, JsonValue, ValidationError

from coterie.dsl.errors import listed
from coterie.dsl.sizes import MAX_NAME_LENGTH, MAX_WHY_LENGTH
from coterie.dsl.values import Documented, Json
from coterie.gateway.operations.error_reports import Rejection, invalid_input, problems_of
from coterie.workflows.core.requests import Pending

Act = Literal["approve", "reject", "retry", "skip"]
_WORDS: Mapping[str, Act] = {"approve": "approve", "reject": "reject", "retry": "retry"}
"""Texts that decide: only these words, so that no sentence is taken for a decision."""


class DecisionData(Documented):
    """A decision as a data part."""

    request: Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH)] | None = None
    """The id of the request. Default: the only one that waits."""
    decision: Act
    comment: Annotated[str, Field(max_length=MAX_WHY_LENGTH)] = ""
    payload: JsonValue = None
    """Of an approval: the value instead of the shown one; of `skip`: the data of the task."""
    digest: Annotated[str, Field(max_length=200)] | None = None
    """Of the request as it was shown. Default: as it is now."""


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
    act: Act
    comment: str
    digest: str | None
    """None if the client named none, and the request demands one."""
    payload: JsonValue = None
    has_payload: bool = False


def _refuse(message: str, fix: str) -> Rejection:
    return Rejection(422, "invalid", message, fix)


def start_context(content: MessageContent, schema: Json) -> Json:
    """Return the context with which a message starts a run.

    Data parts give it; a text gives the one input that takes a text and is missing.

    Raises:
        Rejection: The message does not say what the inputs are.
    """
    context = _merge_objects(content.values)
    if not content.texts:
        return context
    wanted = [name for name in _text_inputs(schema) if name not in context]
    required = [name for name in wanted if name in _required_names(schema)]
    chosen = required if required else wanted
    if len(chosen) == 1:
        return {**context, chosen[0]: content.text}
    names = listed(_properties(schema)) or "none"
    raise _refuse(
        f"the message has a text, and {len(chosen) or 'no'} inputs of the team take one",
        f"Send a data part `{{input: value}}`; the inputs are: {names}.",
    )


def session_message(content: MessageContent) -> JsonValue:
    """Return the message of a session: its text, or its value.

    Raises:
        Rejection: It has neither, or both.
    """
    if len(content.values) + bool(content.texts) != 1:
        raise _refuse(
            "a message of a session has either texts or one value",
            "Send one text, or one data part.",
        )
    return content.text if content.texts else content.values[0]


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


def answer_to(content: MessageContent, pending: Sequence[Pending]) -> RequestAnswer:
    """Return the decision that a message makes.

    Raises:
        Rejection: It makes none, or does not say about which request.
    """
    if content.values:
        return _answer_of_data(content, pending)
    request = _choose_request(None, pending)
    if request.is_question:
        return RequestAnswer(request, "approve", "", request.digest, _form(content, request), True)
    word, _, comment = content.text.strip().partition("\n")
    act = _WORDS.get(word.strip().casefold())
    if act is None:
        raise _refuse(
            f"the text decides nothing: {request.id} waits for a decision",
            "Send `approve` or `reject` as the first line of the text, with a comment below it; or "
            'a data part such as {"decision": "approve"}.',
        )
    digest = None if request.digest_required else request.digest
    return RequestAnswer(request, act, comment.strip(), digest)


def _answer_of_data(content: MessageContent, pending: Sequence[Pending]) -> RequestAnswer:
    if len(content.values) != 1:
        raise _refuse("the message has several values", "Send one data part with the decision.")
    value = content.values[0]
    if not isinstance(value, dict) or "decision" not in value:
        request = _choose_request(None, pending)
        if request.is_question:
            return RequestAnswer(request, "approve", content.text, request.digest, value, True)
        fix = 'Send a data part such as {"decision": "approve"}.'
        raise _refuse("the data part has no `decision`", fix)
    try:
        data = DecisionData.model_validate(value)
    except ValidationError as error:
        report = invalid_input(problems_of(error), ", ".join(DecisionData.model_fields)).report
        raise _refuse(report.message, report.fix) from None
    request = _choose_request(data.request, pending)
    digest = data.digest or (None if request.digest_required else request.digest)
    return RequestAnswer(
        request,
        data.decision,
        data.comment or content.text,
        digest,
        data.payload,
        "payload" in data.model_fields_set,
    )


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


def _choose_request(id: str | None, pending: Sequence[Pending]) -> Pending:
    ids = [request.id for request in pending]
    if id is None and len(pending) == 1:
        return pending[0]
    if id in ids:
        return pending[ids.index(id)]
    if id is None:
        text = f"{len(pending)} requests wait, and the message does not say which one it decides"
    else:
        text = f"no request {id!r} waits"
    raise Rejection(
        409,
        "message_refused",
        text,
        f"Send a data part with `request`; waiting are: {listed(ids)}.",
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


def _required_names(schema: Json) -> list[str]:
    required = schema.get("required")
    return cast("list[str]", required) if isinstance(required, list) else []


def _text_inputs(schema: Json) -> list[str]:
    return [
        name
        for name, inner in _properties(schema).items()
        if isinstance(inner, dict) and _takes_text(inner)
    ]


def _takes_text(schema: Json) -> bool:
    kind = schema.get("type")
    if isinstance(kind, list):
        return "string" in kind
    return kind == "string" or (kind is None and "properties" not in schema)
