"""Where an effective value came from."""

from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from dsl.source.yaml_reader import Node, dotted
from dsl.values import NodePath

OriginKind = Literal["file", "default", "built_in", "contract", "call"]


@dataclass(frozen=True, slots=True)
class Origin:
    """A place in a file, or what stands in for one."""

    kind: OriginKind
    file: str | None = None
    line: int | None = None
    column: int | None = None
    via: str = ""
    """By which rule it came here, when that is not plain: a persona, a default of the document."""

    def told(self) -> str:
        """As people read it: `config/teams/review.yml:12`, `default`."""
        match self.kind:
            case "file":
                place = f"{self.file}:{self.line}"
                return f"{place} ({self.via})" if self.via else place
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
    """The place of a value, at its key."""
    mark = node.at
    return Origin("file", mark.file, mark.line, mark.column, via)


@dataclass(frozen=True, slots=True)
class Effective:
    """One value as it counts in the end."""

    path: NodePath
    """Where it stands, as people find it: tasks by their names, rules by their index."""
    value: JsonValue
    origin: Origin
    step: str = ""
    """The team or step that it belongs to, as the trail names it: `review/check`."""
    field: str = ""
    """The field of the language that it fills: `LoopStep.max_iterations`; empty within JSON."""

    @property
    def dotted(self) -> str:
        """The path as people write it."""
        return dotted(self.path)

    def as_dict(self) -> dict[str, JsonValue]:
        """The flat form that `--json` prints."""
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
