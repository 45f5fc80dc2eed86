"""The fields of a form: what each holds, and what an empty one means. Pure."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, cast

from pydantic import JsonValue

from coterie.dsl.values import Json

FieldKind = Literal[
    "text",
    "lines",
    "number",
    "integer",
    "boolean",
    "choice",
    "json",
    "fixed",
    "group",
    "list",
]
"""`lines`: a list, one item a line; `fixed`: a value that nobody may change."""
Blank = Literal["absent", "missing", "empty", "null"]
"""What an empty field means: no value, a problem, the empty text, list or group, or null."""


@dataclass(frozen=True, slots=True)
class FormField:
    """One field of a form, or a group of them."""

    name: str
    """The keys that lead to the value, joined by `/`; empty for the whole value."""
    kind: FieldKind
    label: str
    description: str
    required: bool
    choices: tuple[str, ...] = ()
    """Of a choice: each as JSON, or a word."""
    value: str = ""
    """What the field holds at first, or what the person typed."""
    problem: str = ""
    blank: Blank = "absent"
    fields: tuple["FormField", ...] = ()
    """Of a group, or the items of a list."""
    is_dropped: bool = False
    """Of an item: whether the person removes it."""
    is_focused: bool = False
    """Whether the page begins here: the first problem, or what the person has just added."""
    takes_file: bool = False
    """Whether the person may give a text file instead."""
    rule: Json = field(default_factory=dict[str, JsonValue])
    """The JSON Schema of one value; empty if only the whole form can be checked."""

    @property
    def hint(self) -> str:
        """What to type."""
        hints = {
            "json": "JSON",
            "integer": "a whole number",
            "number": "a number",
            "lines": "one a line",
        }
        return hints.get(self.kind, "")

    @property
    def key(self) -> str:
        """The last key of its name, as it is in the value."""
        return unescaped(self.name.rpartition("/")[2])

    @property
    def options(self) -> tuple["Option", ...]:
        """What a person may choose."""
        if self.kind == "boolean":
            return (Option("true", "yes"), Option("false", "no"))
        return tuple(Option(choice, _label(choice)) for choice in self.choices)

    def parts(self) -> Iterator["FormField"]:
        """Yield the field and all in it."""
        yield self
        for part in self.fields:
            yield from part.parts()


class Option(NamedTuple):
    """One choice: what the form sends, and what the person reads."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Typed:
    """What a person sent with a form."""

    texts: Mapping[str, str]
    """`{name of the field: what was typed}`."""
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    """`{name of a list: its items}`."""
    dropped: frozenset[str] = frozenset()
    """Names of the items that the person removes."""


def escaped(key: str) -> str:
    """Return a key as a part of a name."""
    return key.replace("~", "~0").replace("/", "~1")


def unescaped(part: str) -> str:
    """Return the key of a part of a name."""
    return part.replace("~1", "/").replace("~0", "~")


def joined(name: str, key: str) -> str:
    """Return the name of what a key leads to."""
    return f"{name}/{escaped(key)}" if name else escaped(key)


def json_text(value: JsonValue, indent: int | None = None) -> str:
    """Return a value as JSON, for a field."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _label(choice: str) -> str:
    try:
        value = cast("JsonValue", json.loads(choice))
    except ValueError:
        return choice
    return value if isinstance(value, str) else choice
