"""Translate a request into the body of OpenAI's Responses API. Pure; knows no SDK.

Nothing is stored at the vendor: the items of earlier answers return as they came, the encrypted
reasoning among them, because a call without its reasoning is refused, and the reverse.
"""

import re
from collections.abc import Iterator
from typing import assert_never

from pydantic import JsonValue

from coterie.activities.providers.message_model import (
    ImagePart,
    ModelMessage,
    OpaquePart,
    Part,
    StoredPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from coterie.activities.providers.provider import ModelRequest, ProviderSettings
from coterie.activities.providers.translation.output_schemas import openai_format
from coterie.activities.providers.translation.wire_values import (
    FILE_NAME,
    PDF,
    arguments_text,
    cache_key,
    data_url,
    media_of,
    plain,
    result_text,
    strict_id,
    tool_name,
)
from coterie.dsl.model.tools.tool_use import NamedTool
from coterie.dsl.values import Json

_WITHOUT_REASONING = re.compile(r"(ft:)?(gpt-3\.5|gpt-4|chatgpt-)|gpt-5[\w.]*-chat")
"""Models that refuse a request for encrypted reasoning."""


def responses_body(request: ModelRequest, settings: ProviderSettings) -> Json:
    """Return the body.

    Args:
        request: The model call.
        settings: Of the provider, whose own items return to it.
    """
    provider = settings.name
    system, described = openai_format(request, settings)
    parameters: Json = {
        "model": request.model,
        "instructions": None if system is None else plain(system),
        "input": [item for turn in request.messages for item in _items(turn, provider)],
        **_tools(request),
        "max_output_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "reasoning": _reasoning(request) or None,
        "text": None if described is None else {"format": {"type": "json_schema", **described}},
        "include": ["reasoning.encrypted_content"] if _reasons(request, settings) else None,
        "store": False,
        "prompt_cache_key": None if request.prompt_cache == "off" else cache_key(request),
    }
    return {key: value for key, value in parameters.items() if value is not None}


def _reasoning(request: ModelRequest) -> Json:
    effort: Json = {} if request.effort is None else {"effort": request.effort}
    return {**effort, "summary": "auto"} if request.reasoning == "summary" else effort


def _reasons(request: ModelRequest, settings: ProviderSettings) -> bool:
    """Return whether the model reasons: as the provider's section says, else by its name."""
    if settings.reasoning is not None:
        return settings.reasoning
    return request.effort is not None or _WITHOUT_REASONING.match(request.model) is None


def _tools(request: ModelRequest) -> Json:
    if not request.tools:
        return {}
    parameters: Json = {
        "tools": [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
                "strict": False,  # strict mode would demand every key
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
            parameters["tool_choice"] = {"type": "function", "name": name}
    if request.parallel_tool_calls is False:
        parameters["parallel_tool_calls"] = False
    return parameters


def _items(message: ModelMessage, provider: str) -> Iterator[Json]:
    """Yield the items of a message: its text and images as one, each other part by itself."""
    match message.role:
        case "user":
            for part in message.content:
                if isinstance(part, ToolResultPart):
                    yield {
                        "type": "function_call_output",
                        "call_id": strict_id(part.call_id),
                        "output": _output(part),
                    }
            parts = [part for part in message.content if isinstance(part, TextPart | ImagePart)]
            if parts:
                yield {"role": "user", "content": _wire_content(parts)}
        case "assistant":
            for part in message.content:
                item = _item(part, provider)
                if item is not None:
                    yield item


def _wire_content(content: list[TextPart | ImagePart]) -> JsonValue:
    if not any(isinstance(part, ImagePart) for part in content):
        return plain("".join(part.text for part in content if isinstance(part, TextPart)))
    return [
        {"type": "input_text", "text": plain(part.text)}
        if isinstance(part, TextPart)
        else _image_part(part)
        for part in content
    ]


def _output(result: ToolResultPart) -> JsonValue:
    """Return the text as one string; a list only with images."""
    text, media = result_text(result), [_image_part(image) for image in media_of(result)]
    return [{"type": "input_text", "text": text}, *media] if media else text


def _image_part(image: ImagePart) -> Json:
    if image.media_type == PDF:
        return {"type": "input_file", "filename": FILE_NAME, "file_data": data_url(image)}
    return {"type": "input_image", "image_url": data_url(image)}


def _item(part: Part, provider: str) -> Json | None:
    match part:
        case TextPart(text=text, extra=extra):
            own = (extra or {}).get(provider)
            if own is not None:
                return own
            return {"role": "assistant", "content": plain(text)} if text else None
        case ToolCallPart(id=call, name=name, arguments=arguments, extra=extra):
            own = (extra or {}).get(provider)
            return {
                "type": "function_call",
                "call_id": strict_id(call),
                "name": tool_name(name),
                "arguments": arguments_text(arguments),
                **(own or {}),
            }
        case ThinkingPart(provider=sender, opaque=opaque):
            return opaque if sender == provider and isinstance(opaque, dict) else None
        case OpaquePart(provider=sender, item=item):
            return item if sender == provider else None
        case ToolResultPart() | ImagePart() | StoredPart():
            return None  # checked before: these stand in user messages
        case _:
            assert_never(part)
