"""Bounds that a template may give: a whole number, or a template with a maximum."""

from typing import Annotated

from pydantic import Discriminator, Field, Tag

from dsl.values import Frozen

MAX_BOUND = 1_000_000


class TemplateBound(Frozen):
    """A bound that a template gives in the run, never above a maximum."""

    value: str
    """A template for a whole number of 1 or more."""
    maximum: int = Field(ge=1, le=MAX_BOUND)
    """The most that it may give; a larger number counts as this one."""


def bound_tag(value: object) -> str:
    """Return the union tag of a bound, so that an error names the form that is written."""
    if isinstance(value, dict | TemplateBound):
        return "bound:template"
    return "bound:path" if isinstance(value, str) and "{{" in value else "bound:number"


Bound = Annotated[
    Annotated[int, Field(ge=1, le=MAX_BOUND), Tag("bound:number")]
    | Annotated[TemplateBound, Tag("bound:template")]
    | Annotated[str, Field(pattern=r"\{\{"), Tag("bound:path")],
    Discriminator(bound_tag),
]
"""A whole number; a template with its maximum; or, in a document, the template of one declared
context path whose schema has a `maximum`, which the compiler looks up.
"""


def most_of(bound: int | TemplateBound | str) -> float:
    """Return the most that a bound allows in any run."""
    match bound:
        case int():
            return bound
        case TemplateBound(maximum=maximum):
            return maximum
        case str():
            return float("inf")  # refused before any run
