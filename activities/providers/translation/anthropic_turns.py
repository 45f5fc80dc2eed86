"""Translate a request into the body of Anthropic's Messages API. Pure; knows no SDK."""

from collections.abc import Sequence
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
    calls_of,
)
from coterie.activities.providers.provider import ModelRequest, ProviderSettings
from coterie.activities.providers.translation.output_schemas import (
    goes_in_words,
    strict_schema,
    with_words,
)
from coterie.activities.providers.translation.wire_values import (
    PDF,
    arguments_object,
    base64_of,
    media_of,
    plain,
    strict_id,
    tool_name,
)
from coterie.dsl.model.tools.tool_use import NamedTool
from coterie.dsl.values import Json

_LOOKBACK = 18
"""The API finds a cached prefix up to 20 blocks before a mark."""


def anthropic_body(request: ModelRequest, settings: ProviderSettings) -> Json:
    """Return the body, without what the client's own parameters carry.

    The beginning of a conversation has the same bytes in every request. The one exception is the
    mark for the cache after a turn with very many blocks, which the next request has elsewhere.

    Args:
        request: The model call.
        settings: Of the provider, whose own thinking returns to it.
    """
    provider = settings.name
    system, schema = _structured_output(request, settings)
    mark = _cache_mark(request)
    body: Json = {"messages": _messages(request, provider, mark)}
    tools: list[JsonValue] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        for tool in request.tools
    ]
    if system is not None:
        text: Json = {"type": "text", "text": system}
        if mark is not None:
            text["cache_control"] = mark
        body["system"] = system if request.prompt_cache == "off" else [text]
    elif mark is not None and tools:
        tools[-1] = {**_mapping(tools[-1]), "cache_control": mark}
    if tools:
        body["tools"] = tools
        body |= _tool_choice(request)
    output: Json = {key: value for key, value in (("effort", request.effort), *schema) if value}
    if output:
        body["output_config"] = output
    if mark is not None:
        body["cache_control"] = mark
    return body | _thinking(request, provider)


def _thinking(request: ModelRequest, provider: str) -> Json:
    """Return how the model thinks.

    With a number of tokens, the API demands the thinking of the latest turn with calls. Where
    another model took that turn, or a compaction dropped its thinking, the model answers without.
    """
    shown: Json = {"display": "summarized"} if request.reasoning == "summary" else {}
    match request.thinking:
        case None:
            return {}
        case "adaptive":
            return {"thinking": {"type": "adaptive", **shown}}
        case "off":
            return {"thinking": {"type": "disabled"}}
        case int() if _lacks_thinking(request.messages, provider):
            return {}
        case int(budget):
            return {"thinking": {"type": "enabled", "budget_tokens": budget, **shown}}


def _lacks_thinking(messages: Sequence[ModelMessage], provider: str) -> bool:
    """Return whether the latest turn of the model has calls, and no thinking of this provider."""
    for message in reversed(messages):
        if message.role == "assistant":
            own = any(
                isinstance(part, ThinkingPart) and part.provider == provider
                for part in message.content
            )
            return bool(calls_of(message.content)) and not own
    return False


def _structured_output(
    request: ModelRequest, settings: ProviderSettings
) -> tuple[str | None, tuple[tuple[str, JsonValue], ...]]:
    """Return the system prompt and the output format; one of the two carries the schema."""
    system = None if request.system is None else plain(request.system)
    if request.output_schema is None:
        return system, ()
    words = goes_in_words(request, settings)
    strict = None if words else strict_schema(request.output_schema)
    if strict is None:
        return with_words(system, request.output_schema), ()
    return system, (("format", {"type": "json_schema", "schema": strict}),)


def _tool_choice(request: ModelRequest) -> Json:
    match request.tool_choice:
        case "auto":
            choice: Json = {"type": "auto"}
        case "required":
            choice = {"type": "any"}
        case "none":
            return {"tool_choice": {"type": "none"}}
        case NamedTool(tool=name):
            choice = {"type": "tool", "name": name}
    if request.parallel_tool_calls is False:
        choice["disable_parallel_tool_use"] = True
    return {} if choice == {"type": "auto"} else {"tool_choice": choice}


def _cache_mark(request: ModelRequest) -> Json | None:
    match request.prompt_cache:
        case "off":
            return None
        case "auto":  # a single question would pay for a write that nobody reads
            repeated = request.tools or len(request.messages) > 1
            return {"type": "ephemeral"} if repeated else None
        case "5m":
            return {"type": "ephemeral"}
        case "1h":
            return {"type": "ephemeral", "ttl": "1h"}


def _messages(request: ModelRequest, provider: str, mark: Json | None) -> list[JsonValue]:
    """Return the messages; the API joins neighbours of one role, and refuses empty ones."""
    messages, may_mark = request.messages, request.prompt_cache != "off"
    turns = [(message, _blocks(message, provider)) for message in messages]
    if mark is not None:
        _mark_previous_end([blocks for _, blocks in turns], mark)
    return [
        {"role": message.role, "content": _content(message, blocks, may_mark=may_mark)}
        for message, blocks in turns
        if blocks or message is messages[-1]
    ]


def _mark_previous_end(turns: list[list[Json]], mark: Json) -> None:
    """Mark where the previous request ended, if the mark at the end would not find it."""
    if len(turns) > 2 and sum(map(len, turns[-2:])) > _LOOKBACK and turns[-3]:
        turns[-3][-1] = {**turns[-3][-1], "cache_control": mark}


def _content(message: ModelMessage, blocks: list[Json], *, may_mark: bool) -> JsonValue:
    """Return a lone text as it is, unless a later request may have to mark it."""
    match message.content, blocks:
        case (TextPart(extra=None),), [{"text": text}] if not may_mark:
            return text
        case _:
            return [*blocks]


def _blocks(message: ModelMessage, provider: str) -> list[Json]:
    blocks = (_block(part, provider) for part in message.content)
    return [block for block in blocks if block is not None]


def _block(part: Part, provider: str) -> Json | None:
    match part:
        case TextPart(text=text, extra=extra):
            if not text.strip():
                return None  # the API refuses blank texts
            return {"type": "text", "text": plain(text), **(extra or {}).get(provider, {})}
        case ToolCallPart(id=call, name=name, arguments=arguments, extra=extra):
            return {
                "type": "tool_use",
                "id": strict_id(call),
                "name": tool_name(name),
                "input": arguments_object(arguments),
                **(extra or {}).get(provider, {}),
            }
        case ToolResultPart(call_id=call, is_error=is_error):
            result: Json = {"type": "tool_result", "tool_use_id": strict_id(call)}
            content = _result_content(part)
            if content:
                result["content"] = content
            return {**result, "is_error": True} if is_error else result
        case ThinkingPart(provider=sender, opaque=opaque):
            return _mapping(opaque) if sender == provider else None
        case ImagePart():
            return _image_block(part)
        case StoredPart():
            return None  # checked before: its content has replaced it
        case OpaquePart(provider=sender, item=item):
            return item if sender == provider else None
        case _:
            assert_never(part)


def _result_content(result: ToolResultPart) -> JsonValue:
    """Return the text as one string; a list only with images."""
    text = plain(result.text) if result.text.strip() else ""
    media = [_image_block(image) for image in media_of(result)]
    if not media:
        return text
    return [*([{"type": "text", "text": text}] if text else []), *media]


def _image_block(image: ImagePart) -> Json:
    kind = "document" if image.media_type == PDF else "image"
    source: Json = {"type": "base64", "media_type": image.media_type, "data": base64_of(image)}
    return {"type": kind, "source": source}


def _mapping(value: JsonValue) -> Json:
    return value if isinstance(value, dict) else {}
