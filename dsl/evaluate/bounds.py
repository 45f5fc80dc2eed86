"""Bounds that a template gives, rendered once for each attempt of their step."""

from collections.abc import Mapping

from coterie.dsl.errors import InvalidBound
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.steps import Step
from coterie.dsl.model.template_bound import (
    RETRIES,
    BoundKey,
    BoundTemplate,
    TemplateBound,
    number_of,
)
from coterie.dsl.model.traversal.step_bounds import VISITS, bound_templates, with_bound
from coterie.dsl.templates.jsonable import brief
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.values import JsonValue, seconds

_LOWEST = {"count": 1, "retries": 0, "timeout": 0, "deadline": 0}


def rendered_bound(
    key: BoundKey, bound: BoundTemplate, names: Mapping[str, object], owner: str
) -> float:
    """Return what the template of a bound gives: a whole number, or seconds.

    Args:
        key: The key that is bounded.
        bound: The template, and its maximum.
        names: What the template reads.
        owner: What has the bound, for the failure: `'work'`.

    Raises:
        InvalidBound: the value has the wrong type, or is above the maximum.
        TemplateFailed: as `fill`.
    """
    value = fill(bound.value, names)
    number = _number(key, value)
    lowest = _LOWEST[key.unit]
    too_low = number is None or number < lowest or (key.unit == "timeout" and number == 0)
    if number is None or too_low or number > bound.maximum:
        what = f"{key.name} of {owner} gives {brief(value)}"
        raise InvalidBound(f"{what}: it must be {_wanted_text(key, bound.maximum)}")
    return number


def rendered_bounds(step: Step, names: Mapping[str, object]) -> dict[str, float]:
    """Return what the templates of a step's bounds give, except for `retry`, which is around it.

    Raises:
        InvalidBound, TemplateFailed: as `rendered_bound`.
    """
    return {
        key.name: rendered_bound(key, bound, names, repr(step.name))
        for key, bound in bound_templates(step)
        if key is not RETRIES
    }


def with_numbers(step: Step, numbers: Mapping[str, float]) -> Step:
    """Return the step with these numbers as its bounds, as they were rendered."""
    for key, bound in bound_templates(step):
        if key.name in numbers:
            value = numbers[key.name]
            number = int(value) if isinstance(bound, TemplateBound) else value
            step = with_bound(step, key, bound.model_copy(update={"maximum": number}))
    return step


def visits_allowed(team: str, limit: int | TemplateBound | str, facts: Facts) -> int:
    """Return how many visits a team's `max_visits` allows, as its template gives them now.

    Raises:
        InvalidBound, TemplateFailed: as `rendered_bound`.
    """
    if isinstance(limit, TemplateBound):
        return int(rendered_bound(VISITS, limit, facts.names(), f"the team {team!r}"))
    return number_of(limit)


def _number(key: BoundKey, value: JsonValue) -> float | None:
    """Return the number or the seconds of a rendered bound; None for anything else."""
    if key.unit in ("timeout", "deadline"):
        try:
            length = seconds(value)
        except ValueError:
            return None
        if isinstance(length, bool) or not isinstance(length, int | float):
            return None
        return float(length)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _wanted_text(key: BoundKey, maximum: float) -> str:
    match key.unit:
        case "count" | "retries":
            return f"a whole number from {_LOWEST[key.unit]} to {maximum:g}"
        case "timeout":
            return f"a duration above 0 and at most {maximum:g} s, like 90 or 5m"
        case "deadline":
            return f"a duration of at most {maximum:g} s, like 90 or 5m"
