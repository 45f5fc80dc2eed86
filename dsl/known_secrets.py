"""Secrets whose values are known: never repeated, in full, in part or in base64."""

import base64
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from pydantic import JsonValue

from coterie.dsl.redaction import HIDDEN, names_secret, without_shapes

_MIN_LENGTH = 8
"""Minimum length of a masked secret; shorter values match ordinary text too often."""
_WINDOW = 12
"""Characters in a row of a longer value that give it away."""
_PIECE = 4
"""Characters in a row that could be the beginning of a value."""


class KnownSecrets:
    """Masks certain values in texts."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._windows: dict[int, set[str]] = {}
        self._pieces: set[str] = set()
        for value in values:
            for part in _masked_parts(value.strip()):
                for form in (part, *_base64_forms(part)):
                    self._add(form)

    def _add(self, form: str) -> None:
        if len(form) < _MIN_LENGTH:
            return
        width = min(len(form), _WINDOW)
        windows = self._windows.setdefault(width, set())
        windows.update(form[at : at + width] for at in range(len(form) - width + 1))
        self._pieces.update(form[at : at + _PIECE] for at in range(len(form) - _PIECE + 1))

    def without(self, text: str) -> str:
        """Return a text with the values, and everything in the form of a key, masked."""
        spans = sorted(
            (at, at + width)
            for width, windows in self._windows.items()
            for at in range(len(text) - width + 1)
            if text[at : at + width] in windows
        )
        parts: list[str] = []
        end = 0
        for begin, stop in spans:
            if begin > end or not parts:
                parts += [text[end:begin], HIDDEN]
            end = max(end, stop)
        return without_shapes("".join([*parts, text[end:]]))

    def unfinished(self, text: str) -> int:
        """Return how many characters at the end may be the beginning of a value."""
        count = 0
        for length in range(_PIECE, min(len(text), _WINDOW - 1) + 1):
            at = len(text) - length
            if text[at : at + _PIECE] not in self._pieces:
                break
            count = length
        return count

    def without_in(self, value: JsonValue) -> JsonValue:
        """Return JSON whose texts and field names have the values masked."""
        match value:
            case str():
                return self.without(value)
            case list():
                return [self.without_in(item) for item in value]
            case dict():
                return {self.without(k): self.without_in(v) for k, v in value.items()}
            case _:
                return value


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of the variables whose names look like secrets."""
    return tuple(value for name, value in environment.items() if names_secret(name))


def _masked_parts(value: str) -> tuple[str, ...]:
    """Return the parts of a value to mask: of an address its password, path and query."""
    if "://" not in value:
        return (value,)
    try:
        parts = urlsplit(value)
        return tuple(part for part in (parts.password, parts.path.strip("/"), parts.query) if part)
    except ValueError:
        return (value,)


def _base64_forms(value: str) -> Iterable[str]:
    """Return the base64 of a text at each offset within a larger encoded text."""
    for shift, unsure in enumerate((0, 2, 3)):
        data = b"\0" * shift + value.encode("utf-8", "surrogatepass")
        whole = base64.b64encode(data[: len(data) // 3 * 3]).decode()[unsure:]
        yield whole
        yield whole.translate({ord("+"): "-", ord("/"): "_"})
