"""What a call of a tool came to: for the trail, and as the model gets it."""

import json
from typing import NamedTuple

from pydantic import JsonValue

from coterie.activities.contracts import KeptResult
from coterie.dsl.model.outcomes import Outcome, with_text
from coterie.dsl.tool_loop.call_checks import fingerprint
from coterie.dsl.tool_loop.exchange import ToolResult
from coterie.dsl.visible import shortened_text
from coterie.workflows.core.causes.trail_causes import TrailCause
from coterie.workflows.core.location import Skipped
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.trail import skip_cause

_MAX_ERROR_LENGTH = 4_000
"""Characters of a failure's message that a model gets."""


class MadeCall(NamedTuple):
    """What a call came to, and what the model learns besides."""

    outcome: Outcome
    kept: KeptResult | None = None
    note: str = ""
    """How the arguments that ran differ from the model's."""


class EndedCall(NamedTuple):
    """How a call ended, for the trail and for the model."""

    outcome: Outcome
    cause: TrailCause | None
    result: ToolResult
    digest: str
    """Of what the model gets, to notice equal results."""


def result_for_model(made: MadeCall, most: int | None) -> tuple[ToolResult, str]:
    """Return the result as the model gets it, and a digest of what it is.

    Args:
        made: What the call came to.
        most: `max_result` of its tool.
    """
    outcome, note = made.outcome, f"{made.note}\n" if made.note else ""
    error = outcome.error
    if error is not None:
        text = _shown_error(f"{note}{error.type}: {error.message}")
        return ToolResult(text=text, failed=True), fingerprint([error.type, outcome.data])
    if made.kept is not None:
        name, size = made.kept.name, made.kept.size
        size = size if most is None else min(size, most)
        return ToolResult(text=note, kept=name, size=size, max_result=most), name
    text = f"{note}{with_text(_text(outcome.data), outcome)}"
    said = [outcome.data, outcome.text] if outcome.text else outcome.data
    return ToolResult(text=text, max_result=most), fingerprint(said)


def _shown_error(text: str) -> str:
    """Return the message of a failure, cut off with a mark if it is long."""
    return shortened_text(text, _MAX_ERROR_LENGTH)


def skipped_call(skipped: Skipped, scope: Scope) -> EndedCall:
    """Return the end of a call that a person skipped."""
    value = skipped.value
    return EndedCall(
        Outcome("skipped", value),
        skip_cause(value),
        _skipped_result(value),
        fingerprint(value),
    )


def _skipped_result(value: JsonValue) -> ToolResult:
    if value is None:
        return ToolResult(text="a person skipped this call", failed=True)
    return ToolResult(text=f"[A person skipped this call, and gave its result.]\n{_text(value)}")


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
