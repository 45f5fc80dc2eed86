"""Sums of loads: what steps cost together, as alternatives, and repeated."""

from collections.abc import Iterable, Mapping

Key = tuple[str, ...]
Load = Mapping[Key, float]
"""`{("model_calls",): 3, ("model", "anthropic/claude"): 3, ("team", "review"): 1, ...}`"""

MODEL_CALLS: Key = ("model_calls",)
FUNCTION_CALLS: Key = ("function_calls",)
APPROVALS: Key = ("approvals",)
OUTPUT_TOKENS: Key = ("output_tokens",)
COST: Key = ("cost",)


def numbers_by_name(load: Load, kind: str) -> dict[str, float]:
    """Return `{name: number}` of one kind of keys: the calls of each "model" or "team"."""
    return {key[1]: number for key, number in load.items() if key[0] == kind}


def added(loads: Iterable[Load]) -> Load:
    """Add the loads of a sequence."""
    total: dict[Key, float] = {}
    for load in loads:
        for key, value in load.items():
            total[key] = total.get(key, 0) + value
    return total


def largest(loads: Iterable[Load]) -> Load:
    """Take the largest of each count, for alternatives."""
    largest: dict[Key, float] = {}
    for load in loads:
        for key, value in load.items():
            largest[key] = max(largest.get(key, 0), value)
    return largest


def times(load: Load, number: float) -> Load:
    """Multiply a load by a number of repetitions."""
    if number == 0:
        return {}
    return {key: value * number for key, value in load.items() if value}
