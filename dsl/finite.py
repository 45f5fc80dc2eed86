"""Numbers that JSON cannot hold: NaN and the infinities, such as `1e400`."""

import math

from dsl.errors import RunRefused
from dsl.values import Json, JsonValue


def check_finite(context: Json) -> None:
    """Refuse a context that JSON cannot hold.

    Raises:
        RunRefused: it has a non-finite number; names the path.
    """
    found = non_finite(context)
    if found is not None:
        raise RunRefused(
            f"the context's {found!r} is NaN or beyond all numbers, which JSON has not; start the "
            "run with a number or a text there"
        )


def non_finite(value: JsonValue, path: str = "") -> str | None:
    """Return the dotted path of the first non-finite number, or None."""
    match value:
        case float() if not math.isfinite(value):
            return path
        case dict():
            below = ((str(key), item) for key, item in value.items())
        case list():
            below = ((str(number), item) for number, item in enumerate(value))
        case _:
            return None
    for name, item in below:
        found = non_finite(item, f"{path}.{name}" if path else name)
        if found is not None:
            return found
    return None


def finite_float(text: str) -> float:
    """Return the number that a JSON text writes, for `parse_float` of `json`.

    Raises:
        ValueError: It is beyond all numbers, such as `1e400`.
    """
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is beyond all numbers")
    return number
