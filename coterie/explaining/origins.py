"""Describe the origin of an effective value."""

from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from coterie.dsl.source.nodes import Node, dotted
from coterie.dsl.values import NodePath

OriginKind = Literal["file", "default", "built_in", "contract", "call"]


@dataclass(frozen=True, slots=True)
class Origin:
    """A place in a file, or its substitute."""

    kind: OriginKind
    file: str | None = None
    line: int | None = None
    column: int | None = None
    via: str = ""
    """The rule that brought it here, if it is not obvious: a persona, a document default."""

    def text(self) -> str:
        """Format the origin: `config/teams/review.yml:12`, `default`."""
        match self.kind:
            case "file":
                at = f"{self.file}:{self.line}"
                return f"{at} ({self.via})" if self.via else at
            case "default":
                return "default"
            case "built_in":
                return "built in"
            case "contract" | "call":
                return self.via


DEFAULT = Origin("default")
BUILT_IN = Origin("built_in")
CALL = Origin("call", via="--model")


def from_node(node: Node, via: str = "") -> Origin:
    """Return the place of a value's key."""
    mark = node.at
    return Origin("file", mark.file, mark.line, mark.column, via)


@dataclass(frozen=True, slots=True)
class Effective:
    """One effective value."""

    path: NodePath
    """Its path for people: tasks by name, rules by index."""
    value: JsonValue
    origin: Origin
    step: str = ""
    """The team or step that it belongs to, as the trail names it: `review/check`."""
    field: str = ""
    """The field of the language that it sets: `Retry.retries`; empty within JSON."""

    @property
    def dotted(self) -> str:
        """The dotted path."""
        return dotted(self.path)

    def as_dict(self) -> dict[str, JsonValue]:
        """Return the flat form for `--json`."""
        origin = self.origin
        return {
            "path": self.dotted,
            "value": self.value,
            "origin": origin.kind,
            "file": origin.file,
            "line": origin.line,
            "column": origin.column,
            "via": origin.via or None,
        }
