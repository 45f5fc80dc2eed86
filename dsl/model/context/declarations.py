"""The declared context of a document: the form, the default and the bound of each path."""

from collections.abc import Mapping, Sequence

from pydantic import Field, JsonValue

from coterie.dsl.paths import Path, parse
from coterie.dsl.values import Frozen, Json


class DeclaredPath(Frozen):
    """What one path of the context holds."""

    schema_: Json = Field(default_factory=dict[str, JsonValue], alias="schema")
    """JSON Schema of its value, without `default` and `keep_last`."""
    required: bool = False
    """It has no default: a start must give it."""
    default: JsonValue = None
    keep_last: int | None = Field(default=None, ge=1)
    """The number of latest items that a write leaves in the list."""


Declarations = Mapping[str, DeclaredPath]
"""`{dotted path: what it holds}`; empty where a document declares nothing."""

UNDECLARED: Declarations = {}
"""A document without a declared context: every path is free."""


def declared_above(path: Path, declared: Declarations) -> str | None:
    """Return the declared path at or nearest above a path, or None."""
    candidates = (declared_at(path[:length], declared) for length in range(len(path), 0, -1))
    return next((text for text in candidates if text is not None), None)


def declared_at(path: Path, declared: Declarations) -> str | None:
    """Return the declaration of exactly this path; a segment may have dots, and then has none."""
    text = ".".join(path)
    return text if text in declared and parse(text) == path else None


def declared_below(path: Path, declared: Declarations) -> Sequence[str]:
    """Return the declared paths that begin with a path, itself excluded, in written order."""
    return _below(declared).get(path, ())


_Below = dict[Path, list[str]]
_MAX_INDEXES = 8
_INDEXES: dict[int, tuple[Declarations, int, _Below]] = {}
"""`{identity: (declarations, their number, index)}`: a document asks thousands of times of one."""


def _below(declared: Declarations) -> _Below:
    """Return `{path: the declared paths that begin with it}`, made once for one object."""
    entry = _INDEXES.get(id(declared))
    if entry is not None and entry[0] is declared and entry[1] == len(declared):
        return entry[2]
    below: _Below = {}
    for text in declared:
        parts = parse(text)
        for length in range(len(parts)):
            below.setdefault(parts[:length], []).append(text)
    if len(_INDEXES) >= _MAX_INDEXES:
        _INDEXES.clear()
    _INDEXES[id(declared)] = declared, len(declared), below
    return below
