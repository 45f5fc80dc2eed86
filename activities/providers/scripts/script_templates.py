"""Fill templates of a script's entry with what the call contains.

So a script can call a tool with the question of a stranger, and answer with what the tool found.
The values that are filled in are never rendered again.
"""

import json
from collections.abc import Sequence
from typing import cast

from pydantic import JsonValue

from coterie.activities.contracts import FailureType
from coterie.activities.providers.message_model import ModelMessage, ToolResultPart, calls_of
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.scripts.script import ScriptedAnswer
from coterie.dsl.errors import TemplateFailed
from coterie.dsl.model.evaluation_budget import EvaluationBudget, EvaluationMeter, Names
from coterie.dsl.templates.template_filling import fill

_LITTLE = EvaluationBudget(steps=20_000, bytes=2_000_000)
"""Budget of one entry: some milliseconds of the event loop."""


def with_values(entry: ScriptedAnswer, request: ModelRequest) -> ScriptedAnswer:
    """Return the entry with its templates filled; one without `templates` stays as it is.

    `prompts` has the texts of the user messages, and `results` the latest result of each tool by
    its name: a value if it is JSON, else a text.

    Raises:
        ProviderFailure: A name has no value, or the evaluation takes too long; never retried.
    """
    if not entry.templates:
        return entry
    prompts: list[JsonValue] = [
        message.text
        for message in request.messages
        if message.role == "user" and message.text.strip()
    ]
    facts: dict[str, object] = {"prompts": prompts, "results": _results(request.messages)}
    names = Names(facts, EvaluationMeter(_LITTLE))
    calls: list[JsonValue] = [{"arguments": call.arguments} for call in entry.tool_calls]
    try:
        filled = cast("list[JsonValue]", fill([entry.answer, *calls], names))
    except TemplateFailed as error:
        raise ProviderFailure(
            FailureType.PROVIDER_REFUSED,
            f"the scripted answer of {entry.task!r} cannot be filled: {error}",
            retryable=False,
        ) from None
    filled_calls = [
        call.model_copy(update=cast("dict[str, object]", values))
        for call, values in zip(entry.tool_calls, filled[1:], strict=True)
    ]
    changes: dict[str, object] = {"tool_calls": tuple(filled_calls), "templates": False}
    if "answer" in entry.model_fields_set:  # else the entry has none
        changes["answer"] = filled[0]
    return entry.model_copy(update=changes)


def _results(messages: Sequence[ModelMessage]) -> dict[str, JsonValue]:
    results: dict[str, JsonValue] = {}
    names: dict[str, str] = {}
    for message in messages:
        names |= {call.id: call.name for call in calls_of(message.content)}
        for part in message.content:
            if isinstance(part, ToolResultPart) and part.call_id in names:
                results[names[part.call_id]] = _value(part.text)
    return results


def _value(text: str) -> JsonValue:
    try:
        return cast("JsonValue", json.loads(text))
    except (ValueError, RecursionError):
        return text
