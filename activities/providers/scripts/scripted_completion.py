"""The answer of a scripted entry, as a model would give it."""

import json
from collections.abc import Sequence

from coterie.activities.contracts import TokenUsage
from coterie.activities.providers.message_model import (
    TextPart,
    ToolCallPart,
)
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.scripts.script import ScriptedAnswer, ScriptedCall
from coterie.activities.providers.scripts.script_templates import with_values
from coterie.activities.providers.scripts.scripted_choice import (
    texts_of,
)


def completion_of_entry(entry: ScriptedAnswer, request: ModelRequest) -> Completion:
    """Turn the entry into a model's answer.

    Raises:
        ProviderFailure: The entry is an error, or cannot be filled; never retried.
    """
    entry = with_values(entry, request)
    if entry.error is not None:
        raise ProviderFailure(
            entry.error.type, entry.error.message, retryable=False, usage=entry.usage
        )
    text = text_of_entry(entry)
    calls = tuple(
        ToolCallPart(f"call_{request.turn}_{number}", call.tool, _arguments(call))
        for number, call in enumerate(entry.tool_calls, 1)
    )
    stop_reason = entry.stop_reason
    if calls and "stop_reason" not in entry.model_fields_set:
        stop_reason = "tool_calls"
    return Completion(
        content=(*((TextPart(text),) if text or not calls else ()), *calls),
        stop_reason=stop_reason,
        model=request.model,
        usage=entry.usage or _estimate_usage(request, text, calls),
    )


def text_of_entry(entry: ScriptedAnswer) -> str:
    """Return the text of an entry; empty if it has only calls."""
    if "answer" not in entry.model_fields_set:
        return ""
    answer = entry.answer
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def _arguments(call: ScriptedCall) -> str:
    arguments = call.arguments
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _estimate_usage(
    request: ModelRequest, text: str, calls: Sequence[ToolCallPart] = ()
) -> TokenUsage:
    """Estimate four characters per token: close enough, and the same each time."""
    question_length = len(request.system or "") + sum(map(len, texts_of(request)))
    wrote = len(text) + sum(len(call.name) + len(call.arguments) for call in calls)
    return TokenUsage(input_tokens=-(-question_length // 4), output_tokens=-(-wrote // 4))
