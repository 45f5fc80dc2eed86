"""Read what a client of AG-UI asks for, and refuse what would have no effect."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from ag_ui.core import Message, ResumeEntry, RunAgentInput, UserMessage
from ag_ui.core.types import TextPart
from pydantic import JsonValue, ValidationError
from pydantic_core import from_json

from coterie.dsl.sizes import MAX_ID_SIZE
from coterie.dsl.strict_json import unsound_part
from coterie.dsl.values import Json
from coterie.gateway.operations.error_reports import (
    UNREADABLE_BODY,
    Rejection,
    invalid_input,
    problems_of,
)

PROTOCOL = "1.0"
_MAX_MESSAGES = 2_000
_MAX_ANSWERS = 100
_MAX_RUN_ID = 100
"""Characters: it is also the id of a message to a session."""


@dataclass(frozen=True, slots=True)
class AguiInput:
    """What a client asks for."""

    thread: str
    run: str
    text: str | None
    """Of the last message, if it is one of the user."""
    context: Json
    """The state that the client has."""
    messages: Sequence[Message]
    answers: Sequence[ResumeEntry]


def read_input(body: bytes) -> AguiInput:
    """Read the body of a request.

    Raises:
        Rejection: It is none of AG-UI 1.x, or asks for what this door does not do.
    """
    try:
        value: JsonValue = from_json(body)
    except ValueError:
        report = UNREADABLE_BODY.report
        raise Rejection(UNREADABLE_BODY.status, report.code, report.message, report.fix) from None
    unsound = unsound_part(value)
    if unsound is not None:
        raise Rejection(422, "invalid", f"in the body, {unsound}")
    try:
        given = RunAgentInput.model_validate(value)
    except ValidationError as error:
        report = invalid_input(problems_of(error), "").report
        raise Rejection(422, report.code, report.message, report.fix) from None
    _check(given)
    last = given.messages[-1] if given.messages else None
    text = _text_of(last) if isinstance(last, UserMessage) and not given.resume else None
    return AguiInput(
        thread=given.thread_id,
        run=given.run_id,
        text=text,
        context=_context_of(given.state),
        messages=given.messages,
        answers=given.resume or (),
    )


def _check(given: RunAgentInput) -> None:
    version = given.protocol_version or PROTOCOL
    problems = [
        (
            version.partition(".")[0] != PROTOCOL.partition(".")[0],
            f"this door speaks AG-UI {PROTOCOL}, and the request says {version[:20]!r}",
        ),
        (
            bool(given.tools),
            "`tools` of a client are not offered to models: declare them in the team",
        ),
        (
            bool(given.context),
            "`context` of a client is not read: give values in `state`, as the team declares them",
        ),
        (
            not 0 < len(given.run_id) <= _MAX_RUN_ID,
            f"`runId` must have 1 to {_MAX_RUN_ID} characters",
        ),
        (
            not 0 < len(given.thread_id) <= MAX_ID_SIZE,
            f"`threadId` must have 1 to {MAX_ID_SIZE} characters",
        ),
        (
            len(given.messages) > _MAX_MESSAGES,
            f"`messages` must have at most {_MAX_MESSAGES:,} items",
        ),
        (
            len(given.resume or ()) > _MAX_ANSWERS,
            f"`resume` must have at most {_MAX_ANSWERS} items",
        ),
    ]
    for is_wrong, message in problems:
        if is_wrong:
            raise Rejection(422, "invalid", message)


def _text_of(message: UserMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    texts: list[str] = []
    for part in message.content:
        if not isinstance(part, TextPart):
            raise Rejection(
                422, "invalid", f"a message has a part of the type {part.type!r}; send texts"
            )
        texts.append(part.text)
    return "\n".join(texts)


def _context_of(state: object) -> Json:
    if state is None:
        return {}
    if not isinstance(state, dict):
        raise Rejection(422, "invalid", "`state` must be an object: the context of the run")
    return cast("Json", state)
