"""The budget of one evaluation: a template, a condition, a value with templates, a routing.

It counts steps and bytes, never measured time or memory: the same evaluation gives the same result
on every machine and in every replay. Every operation charges before it works.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, cast

from pydantic import Field

from coterie.dsl.errors import EvaluationLimitExceeded
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.values import Frozen

MAX_STEPS: Final = 200_000
MAX_BYTES: Final = 20_000_000
MAX_INTEGER_BITS: Final = 14_400
"""About 4,300 digits: Python writes no longer number, and JSON readers refuse it."""
MAX_DEPTH: Final = 200
"""Maximum nesting of a value."""

SHORT_TEXT: Final = 64
"""Characters of a key that are charged with the step that handles it."""
ATOMS: Final = frozenset({bool, type(None)})

_STEP_BYTES_BITS: Final = 10
"""Making a kilobyte takes about as long as a step."""


class EvaluationBudget(Frozen):
    """What one evaluation may cost; a plan carries the numbers with which it was compiled."""

    steps: int = Field(default=MAX_STEPS, ge=1, le=MAX_STEPS)
    """Operations: a node of the expression, an item of a list, some characters of a text."""
    bytes: int = Field(default=MAX_BYTES, ge=1, le=MAX_BYTES)
    """Bytes of all texts and lists that the evaluation makes, including those that it drops."""


DEFAULT_BUDGET: Final = EvaluationBudget()


class EvaluationMeter:
    """The rest of the budget of one evaluation."""

    __slots__ = ("budget", "bytes_left", "steps_left")

    def __init__(self, budget: EvaluationBudget = DEFAULT_BUDGET) -> None:
        self.budget = budget
        self.steps_left = budget.steps
        self.bytes_left = budget.bytes

    def charge(self, steps: int, made: int = 0) -> None:
        """Take steps, and bytes that will be made, from the budget.

        Raises:
            EvaluationLimitExceeded: the rest is too small; names the bound.
            TypeError: an amount is not a whole number. No budget would ever refuse NaN, and a
            rounded fraction may differ in a replay.
            ValueError: an amount is negative, which would widen the budget.
        """
        if type(steps) is not int or type(made) is not int:
            raise TypeError("only whole numbers can be charged")
        if steps < 0 or made < 0:
            raise ValueError("no negative amount can be charged")
        if steps > self.steps_left:
            raise EvaluationLimitExceeded(
                f"it takes more than {self.budget.steps:,} steps", bound="steps"
            )
        if made > self.bytes_left:
            raise EvaluationLimitExceeded(
                f"it makes more than {self.budget.bytes:,} bytes", bound="bytes"
            )
        self.steps_left -= steps
        self.bytes_left -= made

    def charge_integer(self, bits: int) -> None:
        """Charge for a whole number of `bits` bits, or for a product of that size.

        Raises:
            EvaluationLimitExceeded: the number is too large, or the rest of the budget too small.
        """
        if bits > MAX_INTEGER_BITS:
            raise EvaluationLimitExceeded(
                f"it makes a whole number of more than {MAX_INTEGER_BITS:,} bits", bound="integer"
            )
        self.charge(1 + bits // 256)

    def work(self) -> int:
        """Return what has been charged so far, in units of `EvaluationWork`."""
        spent = self.budget.bytes - self.bytes_left
        return self.budget.steps - self.steps_left + (spent >> _STEP_BYTES_BITS)

    def walk(self, value: object) -> int:
        """Charge for reading the whole value, shared parts each time; return the steps."""
        return _walk(self, value, 0)


@dataclass(slots=True, eq=False)
class EvaluationWork:
    """The work of a run's evaluations: steps, and a step for each kilobyte.

    The run's pacer takes the sum between two evaluations, never during one.
    """

    meters: list[EvaluationMeter] = field(default_factory=list[EvaluationMeter], init=False)
    """Of the evaluations since the last `take`."""

    def meter(self, budget: EvaluationBudget) -> EvaluationMeter:
        """Return a meter for a new evaluation, whose work counts here."""
        meter = EvaluationMeter(budget)
        self.meters.append(meter)
        return meter

    def take(self) -> int:
        """Return the work since the last call."""
        work = sum(map(EvaluationMeter.work, self.meters))
        self.meters.clear()
        return work


def _walk(meter: EvaluationMeter, value: object, depth: int) -> int:
    kind = type(value)
    if kind in ATOMS or kind is float or kind is int:
        return 1
    if kind is str:
        steps = 1 + (len(cast("str", value)) >> 9)
        meter.charge(steps)
        return steps
    inner = parts(value)
    if inner is None:
        return 1
    if depth > MAX_DEPTH:
        raise EvaluationLimitExceeded(f"it is nested deeper than {MAX_DEPTH}", bound="depth")
    total = 1
    for part in inner:
        meter.charge(1)
        total += _walk(meter, part, depth + 1)
    return total


def parts(value: object) -> Iterable[object] | None:
    """Return the parts of a container; None for any other value."""
    match value:
        case list() | tuple():
            return cast("Iterable[object]", value)
        case dict():
            mapping = cast("dict[object, object]", value)
            return (part for pair in mapping.items() for part in pair)
        case Outcome():
            return (value.data, value.text)
        case _:
            return None


def digits_steps(number: int) -> int:
    """Return the steps to write a whole number: the square of its length."""
    return (number.bit_length() >> 9) ** 2


def text_bytes(text: str) -> int:
    """Return a lower bound of the text's bytes."""
    return len(text) if text.isascii() else 4 * len(text)


class Names(dict[str, object]):
    """The names that templates read, and the meter of their evaluation."""

    __slots__ = ("meter",)

    def __init__(self, names: dict[str, object], meter: EvaluationMeter) -> None:
        super().__init__(names)
        self.meter = meter


def meter_of(names: object) -> EvaluationMeter:
    """Return the meter that the names carry, or a new one."""
    return names.meter if type(names) is Names else EvaluationMeter()
