"""Estimate the input of a model call, for a call whose usage nobody will report."""

import json
from collections.abc import Iterator

from activities.providers.message_model import TextPart, ToolCallPart, ToolResultPart
from activities.providers.provider import ModelRequest

_BYTES_OF_A_TOKEN = 4


def estimated_input(request: ModelRequest) -> int:
    """Return about how many tokens a request sends: four bytes each, images not counted."""
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in _texts(request))
    return -(-size // _BYTES_OF_A_TOKEN)


def _texts(request: ModelRequest) -> Iterator[str]:
    yield request.system or ""
    for tool in request.tools:
        yield tool.name + tool.description + json.dumps(tool.input_schema)
    if request.output_schema is not None:
        yield json.dumps(request.output_schema)
    for message in request.messages:
        for part in message.content:
            match part:
                case TextPart(text=text) | ToolResultPart(text=text):
                    yield text
                case ToolCallPart(name=name, arguments=arguments):
                    yield name + arguments
                case _:
                    pass
