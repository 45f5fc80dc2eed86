"""Estimate the input tokens of a model call whose usage will never be reported."""

import json
from collections.abc import Iterable, Iterator

from coterie.activities.contracts import TokenUsage
from coterie.activities.providers.message_model import (
    ModelMessage,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from coterie.activities.providers.provider import ModelRequest

_BYTES_OF_A_TOKEN = 4


def estimated_input(request: ModelRequest) -> int:
    """Return about how many tokens a request sends: four bytes each, images not counted."""
    return _tokens(_texts(request))


def counted_or_estimated(
    usage: TokenUsage, request: ModelRequest, content: tuple[Part, ...] = ()
) -> tuple[TokenUsage, bool]:
    """Return what a call used, and whether that is an estimate: some servers report no usage."""
    if usage.total:
        return usage, False
    return TokenUsage(estimated_input(request), estimated_parts(content)), True


def estimated_message(message: ModelMessage) -> int:
    """Return about how many tokens a message has."""
    return estimated_parts(message.content)


def estimated_parts(*contents: tuple[Part, ...]) -> int:
    """Return about how many tokens the parts of messages have."""
    return _tokens(text for content in contents for text in _texts_of(content))


def _tokens(texts: Iterable[str]) -> int:
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    return -(-size // _BYTES_OF_A_TOKEN)


def _texts(request: ModelRequest) -> Iterator[str]:
    yield request.system or ""
    for tool in request.tools:
        yield tool.name + tool.description + json.dumps(tool.input_schema)
    if request.output_schema is not None:
        yield json.dumps(request.output_schema)
    for message in request.messages:
        yield from _texts_of(message.content)


def _texts_of(content: tuple[Part, ...]) -> Iterator[str]:
    for part in content:
        match part:
            case TextPart(text=text) | ToolResultPart(text=text):
                yield text
            case ToolCallPart(name=name, arguments=arguments):
                yield name + arguments
            case _:
                pass
