"""Bounds that a template gives, rendered once for each execution of their step."""

from collections.abc import Mapping

from dsl.evaluate.because import brief
from dsl.model.outcomes import Outcome
from dsl.model.sections.template_bound import TemplateBound
from dsl.templates.template_filling import fill


def rendered_bound(bound: TemplateBound, names: Mapping[str, object], what: str) -> int | Outcome:
    """Return the whole number that the template gives, at most the maximum of the bound.

    Args:
        bound: The template, and its maximum.
        names: What the template reads.
        what: The bound, as the failure calls it: `max_iterations of 'work'`.

    Returns:
        The failure `InvalidBound` for anything else than a whole number of 1 or more.

    Raises:
        TemplateFailed: as `fill`.
    """
    found = fill(bound.value, names)
    number = int(found) if isinstance(found, float) and found.is_integer() else found
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        wanted = "a whole number of 1 or more"
        return Outcome.failed("InvalidBound", f"{what} gives {brief(found)}: it must be {wanted}")
    return min(number, bound.maximum)
