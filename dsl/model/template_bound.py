"""Bounds that a template may give: a number or a duration, or a template with a maximum."""

from typing import Annotated, Literal, NamedTuple

from pydantic import Discriminator, Field, Tag

from coterie.dsl.errors import InvalidPlan
from coterie.dsl.values import Frozen, Seconds, Timeout

MAX_BOUND = 1_000_000
MAX_CONCURRENCY = 1_000
MAX_GRAPH_TASKS = 10_000
MAX_RETRIES = 100
MAX_TURNS = 1_000
"""Model turns of an agent with tools."""


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


RETRIES = BoundKey(("retry", "retries"), "retries", MAX_RETRIES)
"""Of every step. They are around the attempts, and rendered once for all of them."""


class TemplateBound(Frozen):
    """A whole number that a template gives in the run, never above a maximum."""

    value: str
    """A template for a whole number."""
    maximum: int = Field(ge=1, le=MAX_BOUND)
    """The most that it may give. In a step that runs, the number that it gave."""


class TemplateDuration(Frozen):
    """A duration that a template gives in the run, never above a maximum."""

    value: str
    """A template for a duration: a number of seconds, or a text like `90s`."""
    maximum: Timeout
    """The longest that it may give. In a step that runs, the seconds that it gave."""


def bound_tag(value: object) -> str:
    """Return the union tag of a bound, so that an error names the form that is written."""
    if isinstance(value, dict | TemplateBound | TemplateDuration):
        return "bound:template"
    return "bound:path" if isinstance(value, str) and "{{" in value else "bound:number"


_Template = Annotated[TemplateBound, Tag("bound:template")]
_TemplateDuration = Annotated[TemplateDuration, Tag("bound:template")]
_Path = Annotated[str, Field(pattern=r"\{\{"), Tag("bound:path")]
"""In a document, the template of one declared context path whose schema has a `maximum`, which the
compiler looks up."""

Bound = Annotated[
    Annotated[int, Field(ge=1, le=MAX_BOUND), Tag("bound:number")] | _Template | _Path,
    Discriminator(bound_tag),
]
"""A number of rounds, attempts or visits."""
ConcurrencyBound = Annotated[
    Annotated[int, Field(ge=1, le=MAX_CONCURRENCY), Tag("bound:number")] | _Template | _Path,
    Discriminator(bound_tag),
]
TasksBound = Annotated[
    Annotated[int, Field(ge=1, le=MAX_GRAPH_TASKS), Tag("bound:number")] | _Template | _Path,
    Discriminator(bound_tag),
]
TurnsBound = Annotated[
    Annotated[int, Field(ge=1, le=MAX_TURNS), Tag("bound:number")] | _Template | _Path,
    Discriminator(bound_tag),
]
"""Model turns of an agent with tools."""
RetriesBound = Annotated[
    Annotated[int, Field(ge=0, le=MAX_RETRIES), Tag("bound:number")] | _Template | _Path,
    Discriminator(bound_tag),
]
"""Additional attempts: 0 or more."""
TimeoutBound = Annotated[
    Annotated[Timeout, Tag("bound:number")] | _TemplateDuration | _Path, Discriminator(bound_tag)
]
"""A time limit, above zero."""
DeadlineBound = Annotated[
    Annotated[Seconds, Tag("bound:number")] | _TemplateDuration | _Path, Discriminator(bound_tag)
]
"""How long to wait: zero or more."""

BoundTemplate = TemplateBound | TemplateDuration
AnyBound = float | BoundTemplate | str
"""Any of these bounds; an `int` is a `float`."""


def maximum_of(bound: AnyBound) -> float:
    """Return the most that a bound allows in any run."""
    match bound:
        case TemplateBound(maximum=maximum) | TemplateDuration(maximum=maximum):
            return maximum
        case str():
            return float("inf")  # refused before any run
        case number:
            return number


def number_of(bound: int | TemplateBound | str) -> int:
    """Return the number of a bound of a step that runs: as written, or as its template gave it."""
    match bound:
        case TemplateBound(maximum=number):
            return number
        case str():
            raise InvalidPlan(f"the bound {bound} has no maximum")
        case number:
            return number


def seconds_of(bound: float | TemplateDuration | str) -> float:
    """Return the seconds of a bound of a step that runs, like `number_of`."""
    match bound:
        case TemplateDuration(maximum=seconds):
            return seconds
        case str():
            raise InvalidPlan(f"the bound {bound} has no maximum")
        case seconds:
            return seconds


def optional_seconds(bound: float | TemplateDuration | str | None) -> float | None:
    """Return the seconds of a bound that a step may lack; None if it does."""
    return None if bound is None else seconds_of(bound)
