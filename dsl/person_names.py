"""Names of people and their comparison: spellings of one name count once."""

import unicodedata
from collections.abc import Iterable


def person_key(name: str) -> str:
    """Return the common form of all spellings of a name: NFC, without outer blanks, case folded."""
    folded = unicodedata.normalize("NFC", name).strip().casefold()
    return unicodedata.normalize("NFC", folded)


def listed_name(name: str, people: Iterable[str]) -> str | None:
    """Return the name as the list of people writes it; None if it is not in the list."""
    key = person_key(name)
    return next((person for person in people if person_key(person) == key), None)


def is_among(name: str, people: Iterable[str]) -> bool:
    """Return whether one of the people has this name."""
    return listed_name(name, people) is not None


def each_once(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names in order, each person once, with the first spelling."""
    names_by_key: dict[str, str] = {}
    for name in names:
        names_by_key.setdefault(person_key(name), name)
    return tuple(names_by_key.values())
