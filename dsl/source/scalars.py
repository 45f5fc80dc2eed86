"""The scalars of YAML 1.2's core schema, in which `on`, `yes` and `12:30` are texts."""

import math
import re
from typing import Literal

Scalar = str | int | float | bool | None

_MAX_INTEGER_LENGTH = 300


class BadScalar(ValueError):
    """A text that is not a value of its tag; `defect` is the reason."""

    def __init__(self, defect: Literal["too_large", "not_json", "not_a_number", "not_a_boolean"]):
        self.defect = defect
        super().__init__(defect)


_CORE = "tag:yaml.org,2002:"
TAGS = tuple(f"{_CORE}{tag}" for tag in ("null", "bool", "int", "float", "str", "seq", "map"))

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
    """Return the tag of a text that is written without quotes."""
    if not text or text[0] in _BEGINS:
        for tag, pattern in _PLAIN:
            if pattern.fullmatch(text):
                return tag
    return f"{_CORE}str"


def scalar(text: str, tag: str) -> Scalar:
    """Return the value of a text with this tag.

    Raises:
        BadScalar: the text is not such a value.
    """
    try:
        match tag.removeprefix(_CORE):
            case "null":
                return None
            case "bool" if (word := text.lower()) in ("true", "false"):
                return word == "true"
            case "bool":
                raise BadScalar("not_a_boolean")
            case "int" if len(text) <= _MAX_INTEGER_LENGTH:
                return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
            case "int":
                raise BadScalar("too_large")
            case "float":
                return _finite(text)
            case _:
                return text
    except BadScalar:
        raise
    except ValueError:
        raise BadScalar("not_a_number") from None


def _finite(text: str) -> float:
    if text.lower().endswith((".nan", ".inf")):
        raise BadScalar("not_json")
    number = float(text)
    if not math.isfinite(number):
        raise BadScalar("too_large")
    return number
