"""The cost of operations on texts, charged before they run."""

import re
from typing import Final, cast

from coterie.dsl.errors import EvaluationLimitExceeded
from coterie.dsl.model.evaluation_budget import EvaluationMeter, text_bytes
from coterie.dsl.templates.operand_words import OperandError

_WHITESPACE: Final = " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f"
_LINE_ENDS: Final = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_PIECE = 64
"""Bytes of a short text object."""
_MAX_NEEDLE_SIZE = 100
"""Longer texts are searched in linear time."""


def charge_scan(meter: EvaluationMeter, text: str, growth: int = 0) -> None:
    """Charge for one pass over the text that makes at most `growth` times as much."""
    size = len(text)
    if growth and not text.isascii():
        growth *= 3  # a capital letter may become three characters
    meter.charge(size >> 6, text_bytes(text) * growth)


def charge_search(meter: EvaluationMeter, text: str, needle: str) -> None:
    """Charge for finding every occurrence of the needle."""
    meter.charge((len(text) * min(len(needle) + 1, _MAX_NEEDLE_SIZE)) >> 9)


def charge_strip(meter: EvaluationMeter, text: str, characters: str | None = None) -> None:
    """Charge for stripping characters from both ends."""
    meter.charge((len(text) * (1 + len(characters or ""))) >> 8, text_bytes(text))


def charge_split(
    meter: EvaluationMeter, text: str, separator: str | None = None, maximum: int = -1
) -> None:
    """Charge for splitting at separators or whitespace."""
    if separator is None:
        gaps = sum(map(text.count, _WHITESPACE)) if text.isascii() else len(text) // 2
        meter.charge(len(text) >> 5)
    else:
        charge_search(meter, text, separator)
        gaps = text.count(separator) if separator else 0
    pieces = 1 + (gaps if maximum < 0 else min(gaps, maximum))
    meter.charge(pieces // 4, text_bytes(text) + _PIECE * pieces)


def charge_lines(meter: EvaluationMeter, text: str) -> None:
    """Charge for splitting the text into lines."""
    meter.charge(len(text) >> 5)
    lines = 1 + sum(map(text.count, _LINE_ENDS))
    meter.charge(lines // 4, text_bytes(text) + _PIECE * lines)


def charge_replace(
    meter: EvaluationMeter, text: str, before: str, after: str, count: int | None
) -> None:
    """Charge for `count` replacements, or for all if the count is negative."""
    charge_search(meter, text, before)
    occurrences = text.count(before)
    times = occurrences if count is None or count < 0 else min(count, occurrences)
    meter.charge(times >> 4, text_bytes(text) + times * text_bytes(after))


def charge_indent(meter: EvaluationMeter, text: str, width: int | str) -> None:
    """Charge for indenting each line of the text."""
    charge_lines(meter, text)
    meter.charge(5)
    size = max(0, width) if isinstance(width, int) else text_bytes(width)
    lines = 1 + sum(map(text.count, _LINE_ENDS))
    meter.charge(0, 2 * text_bytes(text) + 2 * lines * size)


def charge_wrap(meter: EvaluationMeter, text: str, width: int, end: str) -> None:
    """Charge for wrapping the text to that width.

    Raises:
        TypeError: the width is not a whole number; with NaN, the lines would never end.
    """
    if not isinstance(cast("object", width), int):
        raise OperandError("the width of a line is a whole number")
    size = len(text)
    lines = 2 + sum(map(text.count, _LINE_ENDS)) + 2 * size // max(1, width)
    meter.charge(size + 4 * lines, 2 * text_bytes(text) + lines * (text_bytes(end) + _PIECE))


def charge_words(meter: EvaluationMeter, text: str) -> None:
    """Charge for reading every word of the text."""
    meter.charge(len(text) // 2, 3 * text_bytes(text))


def charge_tags(meter: EvaluationMeter, text: str) -> None:
    """Charge for removing each tag and entity; a tag copies what comes after it."""
    meter.charge((len(text) * (1 + text.count("<"))) >> 11, 2 * text_bytes(text))
    meter.charge(8 + text.count("<") + 16 * text.count("&"))
    charge_split(meter, text)


def charge_url(meter: EvaluationMeter, text: str) -> None:
    """Charge for encoding the text as part of a URL."""
    meter.charge(1 + len(text) // (4 if text.isascii() else 1), 12 * len(text))


_DIRECTIVE = re.compile(
    r"%(?:\([^()%]*\))?[#0\- +]*(?P<width>[0-9]{0,4})(?:\.(?P<precision>[0-9]{0,4}))?"
    r"[hlL]?[a-zA-Z%]"
)
"""A directive; one whose width or precision has more digits than any allowed one is none."""
_MAX_WIDTH = 1000


def charge_format(meter: EvaluationMeter, text: str, longest: int, steps: int) -> None:
    """Charge for filling `%` directives, each with `longest` bytes in `steps` steps.

    Raises:
        EvaluationLimitExceeded: a width or precision is computed or above 1,000; or as `charge`.
    """
    meter.charge(len(text) >> 4)
    byte_count = text_bytes(text)
    rest = 0
    for directive in _DIRECTIVE.finditer(text):
        rest += directive[0].count("%")
        size = max(int(directive["width"] or 0), int(directive["precision"] or 0))
        if size > _MAX_WIDTH:
            raise _too_wide()
        meter.charge(1 + steps)
        byte_count += size * 2 + longest
    if rest != text.count("%"):
        raise _too_wide()
    meter.charge(0, byte_count)


def _too_wide() -> EvaluationLimitExceeded:
    return EvaluationLimitExceeded(
        f"a width or precision of more than {_MAX_WIDTH:,} characters, or one that is computed",
        bound="format",
    )
