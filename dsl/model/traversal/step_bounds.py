"""Bounds of steps: which keys a template gives, and what it may give."""

from functools import cache

from coterie.dsl.model.plan import Persona
from coterie.dsl.model.step_kinds.step_base import StepBase
from coterie.dsl.model.steps import PersonaStep, Step
from coterie.dsl.model.template_bound import (
    MAX_BOUND,
    MAX_TURNS,
    AnyBound,
    BoundKey,
    BoundTemplate,
    TemplateBound,
    TemplateDuration,
    maximum_of,
)
from coterie.dsl.values import Frozen

VISITS = BoundKey(("max_visits", "limit"), "count", MAX_BOUND)
"""Of a team."""


@cache
def _parts(model: type[StepBase]) -> tuple[tuple[BoundKey, str, tuple[str, ...]], ...]:
    """Return the bounds of a kind of step, taken apart: every attempt looks for templates."""
    return tuple((key, key.path[0], key.path[1:]) for key in model.bounds)


def bounds_of(step: Step) -> list[tuple[BoundKey, AnyBound]]:
    """Return the bounds that a step has, templates or not."""
    bounds: list[tuple[BoundKey, AnyBound]] = []
    for key, first, further in _parts(type(step)):
        value: object = getattr(step, first, None)
        if value is None:
            continue
        for name in further:
            value = getattr(value, name, None)
        if isinstance(value, int | float | str | TemplateBound | TemplateDuration):
            bounds.append((key, value))
    return bounds


def bound_templates(step: Step) -> list[tuple[BoundKey, BoundTemplate]]:
    """Return the bounds of a step that a template gives, with their maxima."""
    return [
        (key, bound)
        for key, bound in bounds_of(step)
        if isinstance(bound, TemplateBound | TemplateDuration)
    ]


def maximum_turns(step: PersonaStep, persona: Persona) -> int:
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
