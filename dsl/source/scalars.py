"""What the scalars of YAML 1.2's core schema are: `on`, `yes` and `12:30` are texts."""

import math
import re
from collections.abc import Callable

Scalar = str | int | float | bool | None

_MAX_INTEGER_LENGTH = 300


def _integer(text: str) -> int:
    if len(text) > _MAX_INTEGER_LENGTH:
        raise ValueError(f"{text[:20]}... is too large for a number")
    return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


def _float(text: str) -> float:
    if text.lower().endswith((".nan", ".inf")):
        raise ValueError(f"{text} is no number of JSON; as a text it stands in quotes")
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large for a number")
    return number


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


_CORE = "tag:yaml.org,2002:"
_VALUES: dict[str, Callable[[str], Scalar]] = {
    f"{_CORE}null": lambda _: None,
    f"{_CORE}bool": _boolean,
    f"{_CORE}int": _integer,
    f"{_CORE}float": _float,
    f"{_CORE}str": str,
}
TAGS = (*_VALUES, f"{_CORE}seq", f"{_CORE}map")

_PLAIN = tuple(
    (f"{_CORE}{tag}", re.compile(pattern))
    for tag, pattern in (
        ("bool", r"true|True|TRUE|false|False|FALSE"),
        ("null", r"~|null|Null|NULL|"),
        ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"),
        ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"),
        ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"),
    )
)
"""The core schema of YAML 1.2."""
_BEGINS = frozenset("tTfF~nN-+0123456789.")


def plain_tag(text: str) -> str:
    """The tag of a text that is written without quotes."""
    if not text or text[0] in _BEGINS:
        for tag, pattern in _PLAIN:
            if pattern.fullmatch(text):
                return tag
    return f"{_CORE}str"


def scalar(text: str, tag: str) -> Scalar:
    """The value of a text with this tag.

    Raises:
        ValueError: the text is no such value.
    """
    return _VALUES.get(tag, str)(text)
