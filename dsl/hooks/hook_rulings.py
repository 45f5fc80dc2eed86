"""Hook rulings: what a hook decides, and what it changes. Pure.

A hook that cannot decide fails: a broken condition never lets pass what it should stop.
"""

from dataclasses import dataclass, replace
from typing import assert_never

from pydantic import JsonValue

from coterie.dsl.errors import TemplateFailed, listed
from coterie.dsl.evaluate.condition_evaluation import holds
from coterie.dsl.json_values import describe_kind
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.hooks import DECISIONS_AT, Hook, HookDecision
from coterie.dsl.model.merge import deep_merge
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.values import Json
from coterie.dsl.visible import shortened_text

MAX_MESSAGE = 2_000
"""Characters of a hook's message."""


@dataclass(frozen=True, slots=True)
class HookRuling:
    """What a hook decides."""

    hook: str
    decision: HookDecision
    message: str = ""
    value: JsonValue = None
    """With `modify`: what changes."""


def applies(hook: Hook, facts: Facts) -> bool | HookRuling:
    """Return whether the hook's condition holds; a ruling if nobody can tell."""
    if hook.when is None:
        return True
    try:
        return holds(hook.when, facts)
    except TemplateFailed as error:
        return undecided(hook, f"`when`: {error}")


def ruling_of(hook: Hook, facts: Facts) -> HookRuling:
    """Return what a hook decides whose condition holds."""
    try:
        decided = fill(hook.decide, facts.names())
        message = shortened_text(str(fill(hook.message, facts.names())), MAX_MESSAGE)
        value = fill(hook.value, facts.names()) if decided == "modify" else None
    except TemplateFailed as error:
        return undecided(hook, str(error))
    for decision in DECISIONS_AT[hook.on]:
        if decision == decided:
            return HookRuling(hook.label, decision, message, value)
    text = repr(decided[:60]) if isinstance(decided, str) else describe_kind(decided)
    return undecided(hook, f"`decide` gives {text}; allowed: {listed(DECISIONS_AT[hook.on])}")


def undecided(hook: Hook, why: str) -> HookRuling:
    """Return the failure of a hook that cannot decide."""
    return HookRuling(hook.label, "fail", shortened_text(f"it cannot decide: {why}", MAX_MESSAGE))


def retried_too_often(hook: Hook, ruling: HookRuling) -> HookRuling:
    """Return what a ruling to retry becomes when no retry is left."""
    times = "1 retry" if hook.retries == 1 else f"{hook.retries} retries"
    message = f"{ruling.message}; {times} did not help" if ruling.message else ""
    return replace(ruling, decision="fail", message=message or f"{times} did not help")


def modified(hook: Hook, ruling: HookRuling, facts: Json) -> Json | HookRuling:
    """Return the facts of a point as the ruling changes them; a failure if it cannot."""
    point, value = hook.on, ruling.value
    match point:
        case "before_tool_call":
            return _with_arguments(hook, value, facts)
        case "before_turn" | "before_model_call":
            is_text = isinstance(value, str) and bool(value.strip())
            return facts if is_text else _unusable(hook, value, "a text")
        case "before_run":
            return facts if isinstance(value, dict) else _unusable(hook, value, "a mapping")
        case "after_tool_call":
            return {**facts, "result": value, "error": None}
        case "after_model_call":
            return {**facts, "answer": value}
        case "after_run":
            return {**facts, "output": value}
        case "after_turn":
            return undecided(hook, "nothing is left to modify after a turn")
        case _:
            assert_never(point)


def _with_arguments(hook: Hook, value: JsonValue, facts: Json) -> Json | HookRuling:
    arguments = facts["arguments"]
    if isinstance(value, dict) and isinstance(arguments, dict):
        return {**facts, "arguments": deep_merge(arguments, value)}
    return _unusable(hook, value, "a mapping of arguments")


def _unusable(hook: Hook, value: JsonValue, kind: str) -> HookRuling:
    return undecided(hook, f"`value` gives {describe_kind(value)}, not {kind}")
