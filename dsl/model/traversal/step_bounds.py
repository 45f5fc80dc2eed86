"""Bounds of steps: which keys of each kind of step a template may give, and what it may give."""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from coterie.dsl.model.plan import Persona
from coterie.dsl.model.steps import AgentStep, Step
from coterie.dsl.model.template_bound import (
    MAX_BOUND,
    MAX_CONCURRENCY,
    MAX_GRAPH_TASKS,
    MAX_RETRIES,
    MAX_TURNS,
    AnyBound,
    BoundTemplate,
    TemplateBound,
    TemplateDuration,
    maximum_of,
)
from coterie.dsl.values import MAX_DURATION, Frozen

BoundUnit = Literal["count", "retries", "timeout", "deadline"]
"""A whole number from 1 or from 0; seconds above 0, or from 0."""


class BoundKey(NamedTuple):
    """A key whose value is a bound."""

    path: tuple[str, ...]
    """From the step."""
    unit: BoundUnit
    high: float
    """The most that any document may allow."""

    @property
    def name(self) -> str:
        """The path as people write it."""
        return ".".join(self.path)


VISITS = BoundKey(("max_visits", "limit"), "count", MAX_BOUND)
"""Of a team."""
RETRIES = BoundKey(("retry", "retries"), "retries", MAX_RETRIES)
"""They are around the attempts, and rendered once for all of them."""
_COMMON = (
    BoundKey(("timeout",), "timeout", MAX_DURATION),
    RETRIES,
)
_ROUNDS = BoundKey(("max_iterations",), "count", MAX_BOUND)
_CONCURRENCY = BoundKey(("concurrency",), "count", MAX_CONCURRENCY)
TURNS = BoundKey(("max_turns",), "count", MAX_TURNS)
"""Of an agent with tools."""
_CALL_APPROVAL = BoundKey(("requires_approval", "deadline"), "timeout", MAX_DURATION)
_APPROVAL = BoundKey(("deadline",), "timeout", MAX_DURATION)
_DEADLINE = BoundKey(("deadline",), "deadline", MAX_DURATION)

BOUNDS_OF_STEPS: Mapping[str, tuple[BoundKey, ...]] = {
    "agent": (*_COMMON, TURNS, _CALL_APPROVAL),
    "skill": (*_COMMON, _CALL_APPROVAL),
    "tool": (*_COMMON, BoundKey(("call_retries",), "retries", MAX_RETRIES)),
    "loop": (*_COMMON, _ROUNDS, _CONCURRENCY),
    "branch": _COMMON,
    "parallel": _COMMON,
    "task_graph": (
        *_COMMON,
        _ROUNDS,
        _CONCURRENCY,
        BoundKey(("max_tasks",), "count", MAX_GRAPH_TASKS),
        BoundKey(("task_retries",), "retries", MAX_RETRIES),
    ),
    "set": _COMMON,
    "approval": (*_COMMON, _APPROVAL),
    "wait": (*_COMMON, _DEADLINE),
    "reply": _COMMON,
    "team": _COMMON,
    "try": _COMMON,
    "block": _COMMON,
    "return": _COMMON,
    "fail": _COMMON,
}
"""`{kind: its bounds that a template may give}`."""


_PARTS_OF_STEPS: Mapping[str, tuple[tuple[BoundKey, str, tuple[str, ...]], ...]] = {
    kind: tuple((key, key.path[0], key.path[1:]) for key in keys)
    for kind, keys in BOUNDS_OF_STEPS.items()
}
"""The same, taken apart: every attempt of a step looks for templates."""


def bounds_of(step: Step) -> Iterator[tuple[BoundKey, AnyBound]]:
    """Yield the bounds that a step has, templates or not."""
    for key in BOUNDS_OF_STEPS[step.kind]:
        value: object = step
        for name in key.path:
            value = getattr(value, name, None)
        if isinstance(value, int | float | str | TemplateBound | TemplateDuration):
            yield key, value


def bound_templates(step: Step) -> list[tuple[BoundKey, BoundTemplate]]:
    """Return the bounds of a step that a template gives, with their maxima."""
    found: list[tuple[BoundKey, BoundTemplate]] = []
    for key, first, further in _PARTS_OF_STEPS[step.kind]:
        value: object = getattr(step, first, None)
        if value is None or value is False:
            continue
        for name in further:
            value = getattr(value, name, None)
        if isinstance(value, TemplateBound | TemplateDuration):
            found.append((key, value))
    return found


def maximum_turns(step: AgentStep, persona: Persona) -> int:
    """Return the most model turns with tools that an agent may take in any run."""
    if step.max_turns is None:
        return persona.max_turns
    return int(min(maximum_of(step.max_turns), MAX_TURNS))


def with_bound(step: Step, key: BoundKey, bound: AnyBound) -> Step:
    """Return the step with another bound."""
    first, *further = key.path
    value: object = bound
    if further:
        part = getattr(step, first)
        assert isinstance(part, Frozen)
        value = part.model_copy(update={further[0]: bound})
    return step.model_copy(update={first: value})
