"""Translate a request into the messages and tools of Chat Completions. Pure; knows no SDK."""

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from coterie.activities.providers.message_model import (
    ImagePart,
    ModelMessage,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    calls_of,
)
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.providers.translation.wire_values import (
    FILE_NAME,
    PDF,
    arguments_text,
    data_url,
    media_of,
    plain,
    result_text,
    short_id,
    tool_name,
)
from coterie.dsl.model.tools.tool_use import NamedTool
from coterie.dsl.values import Json


def chat_messages(request: ModelRequest, system: str | None, provider: str) -> list[JsonValue]:
    """Return the messages.

    Args:
        request: The model call.
        system: The system prompt to send.
        provider: The worker's name of the provider, whose own extras return to it.
    """
    turns: list[JsonValue] = [
        turn
        for message in request.messages
        for turn in _turns(message, provider, bool(request.tools))
    ]
    return turns if system is None else [{"role": "system", "content": plain(system)}, *turns]


def chat_tools(request: ModelRequest) -> Json:
    """Return the parameters that offer tools; none without tools."""
    if not request.tools:
        return {}
    parameters: Json = {
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.input_schema,
                },
            }
            for tool in request.tools
        ]
    }
    match request.tool_choice:
        case "auto":
            pass
        case "required" | "none" as word:
            parameters["tool_choice"] = word
        case NamedTool(tool=name):
            parameters["tool_choice"] = {"type": "function", "function": {"name": name}}
    if request.parallel_tool_calls is False:
        parameters["parallel_tool_calls"] = False
    return parameters


def _turns(message: ModelMessage, provider: str, with_tools: bool) -> Iterator[Json]:
    match message.role:
        case "user":
            yield from _results(message.content)
            rest = [*_result_media(message.content)]  # results are texts only
            rest += [part for part in message.content if isinstance(part, TextPart | ImagePart)]
            if rest:
                yield {"role": "user", "content": _wire_content(rest)}
        case "assistant":
            yield _answer(message, provider, with_tools)


def _results(content: Sequence[Part]) -> Iterator[Json]:
    for part in content:
        if isinstance(part, ToolResultPart):
            text = result_text(part)
            yield {"role": "tool", "tool_call_id": short_id(part.call_id), "content": text}


def _result_media(content: Sequence[Part]) -> Iterator[TextPart | ImagePart]:
    for part in content:
        if isinstance(part, ToolResultPart) and part.media:
            yield TextPart(f"From the result of {short_id(part.call_id)}:")
            yield from media_of(part)


def _wire_content(content: Sequence[TextPart | ImagePart]) -> JsonValue:
    """Return text as one string, which every server takes; a list only with images."""
    if not any(isinstance(part, ImagePart) for part in content):
        return plain("".join(part.text for part in content if isinstance(part, TextPart)))
    return [
        {"type": "text", "text": plain(part.text)}
        if isinstance(part, TextPart)
        else _image_part(part)
        for part in content
    ]


def _image_part(image: ImagePart) -> Json:
    if image.media_type == PDF:
        return {"type": "file", "file": {"filename": FILE_NAME, "file_data": data_url(image)}}
    return {"type": "image_url", "image_url": {"url": data_url(image)}}


def _answer(message: ModelMessage, provider: str, with_tools: bool) -> Json:
    calls = calls_of(message.content)
    text = plain(message.text)
    turn: Json = {"role": "assistant", "content": text if text or not calls else None}
    # Servers that think want it back with tools, and some refuse it without.
    for part in message.content if with_tools else ():
        if isinstance(part, ThinkingPart) and part.provider == provider:
            turn |= part.opaque if isinstance(part.opaque, dict) else {}
    if calls:
        turn["tool_calls"] = [_call(call, provider) for call in calls]
    return turn


def _call(call: ToolCallPart, provider: str) -> Json:
    return {
        "id": short_id(call.id),
        "type": "function",
        "function": {"name": tool_name(call.name), "arguments": arguments_text(call.arguments)},
        **(call.extra or {}).get(provider, {}),
    }
