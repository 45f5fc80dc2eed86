"""Hook rulings: which hooks a run asks at a point, what one decides, and what it changes. Pure.

A hook that cannot decide fails: a broken condition never lets pass what it should stop.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import assert_never

from pydantic import JsonValue

from dsl.errors import TemplateFailed, listed
from dsl.evaluate.condition_evaluation import holds
from dsl.json_values import describe_kind
from dsl.model.conditions import Condition, ContextField, Expression
from dsl.model.facts import Facts
from dsl.model.hooks import CHECK, DECISIONS_AT, Hook, HookDecision, HookPoint
from dsl.model.merge import deep_merge
from dsl.model.traversal.step_walk import leaves
from dsl.paths import Path
from dsl.paths import parse as parse_path
from dsl.templates.template import is_template, parse
from dsl.templates.template_filling import fill
from dsl.values import Json

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


def hooks_at(hooks: Sequence[Hook], point: HookPoint, tool: str = "") -> Iterator[Hook]:
    """Yield the hooks of a point, and of a tool, in written order."""
    for hook in hooks:
        if hook.on == point and (hook.tool is None or matches_tool(hook.tool, tool)):
            yield hook


def matches_tool(pattern: str, tool: str) -> bool:
    """Return whether a tool has a name of the pattern; only `*` has a meaning of its own."""
    literal = pattern.replace("[", "[[]").replace("?", "[?]")
    return fnmatchcase(tool, literal)


def reads_check(hook: Hook) -> bool:
    """Return whether the condition of the hook reads what its skill returned."""
    return hook.skill is not None and any(path[0] == CHECK for path in _read(hook.when))


def reads_result(hooks: Sequence[Hook], tool: str) -> bool:
    """Return whether a hook needs the result of a tool, so that it must be in the run."""
    return any(
        path[0] == "result"
        for hook in hooks_at(hooks, "after_tool_call", tool)
        for path in read_by(hook)
    )


def read_by(hook: Hook) -> Iterator[Path]:
    """Yield every path that the condition and the templates of a hook read."""
    yield from _read(hook.when)
    for value in (hook.decide, hook.message, hook.value, hook.input):
        for text in _texts(value):
            yield from _paths(text)


def _read(condition: Condition | None) -> Iterator[Path]:
    if condition is None:
        return
    for leaf, _ in leaves(condition, ()):
        if isinstance(leaf, Expression):
            yield from _paths(leaf.expression)
        elif isinstance(leaf, ContextField):
            yield ("context", *parse_path(leaf.context_field))


def _paths(text: str) -> Iterator[Path]:
    if is_template(text):
        yield from parse(text).paths


def _texts(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _texts(item)
        case list():
            for item in value:
                yield from _texts(item)
        case _:
            pass


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
        message = str(fill(hook.message, facts.names()))[:MAX_MESSAGE]
        value = fill(hook.value, facts.names()) if decided == "modify" else None
    except TemplateFailed as error:
        return undecided(hook, str(error))
    for decision in DECISIONS_AT[hook.on]:
        if decision == decided:
            return HookRuling(hook.label, decision, message, value)
    shown = repr(decided[:60]) if isinstance(decided, str) else describe_kind(decided)
    return undecided(hook, f"`decide` gives {shown}; allowed: {listed(DECISIONS_AT[hook.on])}")


def undecided(hook: Hook, why: str) -> HookRuling:
    """Return the failure of a hook that cannot decide."""
    return HookRuling(hook.label, "fail", f"it cannot decide: {why}"[:MAX_MESSAGE])


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
    given = facts["arguments"]
    if isinstance(value, dict) and isinstance(given, dict):
        return {**facts, "arguments": deep_merge(given, value)}
    return _unusable(hook, value, "a mapping of arguments")


def _unusable(hook: Hook, value: JsonValue, wanted: str) -> HookRuling:
    return undecided(hook, f"`value` gives {describe_kind(value)}, not {wanted}")
