"""Check a request by the rules of its vendor and by those that all share, before it is sent.

Vendors refuse what is found here with a 400. A scripted model refuses what breaks a shared rule, so
a test without a vendor finds it. The rules about settings are a table, `dsl/model/vendors`.
"""

import re
from collections.abc import Iterator, Sequence

from coterie.activities.contracts import FailureType
from coterie.activities.providers.message_model import (
    ImagePart,
    ModelMessage,
    OpaquePart,
    StoredPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    calls_of,
    returnable,
)
from coterie.activities.providers.provider import ModelRequest, ProviderSettings
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.dsl.model.tools.tool_use import NamedTool
from coterie.dsl.model.vendors.vendor_rules import CallSettings
from coterie.dsl.model.vendors.vendors import broken_rules

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What every vendor accepts as the name of a tool."""

_OF_MODELS = (ToolCallPart, ThinkingPart, OpaquePart)
_OF_USERS = (ToolResultPart, ImagePart)


def check_request(request: ModelRequest, settings: ProviderSettings | None = None) -> None:
    """Refuse a request that its vendor does not accept; without settings, that no vendor accepts.

    Raises:
        ProviderFailure: Says which rule it breaks; never retried.
    """
    problem = _broken_rule(request, settings) or next(_problems(request), None)
    if problem is not None:
        raise ProviderFailure(
            FailureType.PROVIDER_REFUSED,
            f"the request for {request.model!r} cannot be sent: {problem}",
            retryable=False,
        )


def call_settings(request: ModelRequest, settings: ProviderSettings) -> CallSettings:
    """Return the settings of a call that the rules of vendors are about."""
    return CallSettings(
        model=request.model,
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        top_p=request.top_p,
        effort=request.effort,
        thinking=request.thinking,
        has_tools=bool(request.tools),
        tool_choice=request.tool_choice,
        output_schema=request.output_schema,
        summary=request.reasoning == "summary",
        reasoning=settings.reasoning,
    )


def _broken_rule(request: ModelRequest, settings: ProviderSettings | None) -> str | None:
    if settings is None:
        return None
    call = call_settings(request, settings)
    broken = broken_rules(settings.vendor_api, call, "refuse")
    return next((f"{rule.message}; {rule.fix}" for rule in broken), None)


def _problems(request: ModelRequest) -> Iterator[str]:
    yield from _tool_problems(request)
    yield from _part_problems(request.messages)
    yield from _pair_problems(request.messages)
    if request.messages and request.messages[-1].role != "user":
        yield "its last message is not a user message"


def _tool_problems(request: ModelRequest) -> Iterator[str]:
    names: set[str] = set()
    for tool in request.tools:
        if TOOL_NAME.fullmatch(tool.name) is None:
            yield (
                f"the tool name {tool.name!r} is invalid: it must have 1 to 64 letters, digits, "
                "hyphens and underscores"
            )
        if tool.name in names:
            yield f"two tools have the name {tool.name!r}"
        if tool.input_schema.get("type") != "object":
            yield f"the input schema of tool {tool.name!r} must have the type object"
        names.add(tool.name)
    match request.tool_choice:
        case NamedTool(tool=name) if name not in names:
            yield f"tool_choice names {name!r}, which is not among its tools"
        case "required" if not names:
            yield "tool_choice is required, but it offers no tool"
        case _:
            return


def _part_problems(messages: Sequence[ModelMessage]) -> Iterator[str]:
    for number, message in enumerate(messages, 1):
        misplaced = _OF_MODELS if message.role == "user" else _OF_USERS
        for part in message.content:
            if isinstance(part, misplaced):
                yield f"message {number}, of the {message.role}, has a {type(part).__name__}"
            media = part.media if isinstance(part, ToolResultPart) else (part,)
            if any(isinstance(item, StoredPart) for item in media):
                yield f"message {number} names a stored file instead of its content"
        content = returnable(message.content)
        if message.role == "assistant" and (not content or content != message.content):
            yield (
                f"message {number}, of the assistant, is empty or ends with thinking, which "
                "cannot stand in a conversation"
            )


def _pair_problems(messages: Sequence[ModelMessage]) -> Iterator[str]:
    """Find calls without exactly one result right after them, and results without a call."""
    earlier_calls: set[str] = set()
    open_calls: tuple[str, ...] = ()
    for number, message in enumerate(messages, 1):
        results = [part.call_id for part in message.content if isinstance(part, ToolResultPart)]
        for call in open_calls:
            if results.count(call) != 1:
                many = "several results" if call in results else "no result"
                yield f"the call {call!r} has {many} in message {number}, right after it"
        for result in results:
            if result not in open_calls:
                yield f"the result for {result!r} in message {number} has no call right before it"
        if any(not isinstance(part, ToolResultPart) for part in message.content[: len(results)]):
            yield f"the results in message {number} must come before everything else"
        open_calls = tuple(call.id for call in calls_of(message.content))
        for call in open_calls:
            if call in earlier_calls:
                yield f"message {number} uses the id {call!r} of another call"
            earlier_calls.add(call)
    if open_calls:
        yield f"the call {open_calls[0]!r} has no result"
