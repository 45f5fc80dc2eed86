"""A position in a document, with its counterpart in the plan."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from pydantic import BaseModel, JsonValue

from coterie.dsl.model.document import TeamDocument
from coterie.dsl.model.plan import Team
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import NodePath, Segment
from coterie.explaining.origins import Effective, Origin


@dataclass(frozen=True, slots=True)
class DocumentPosition:
    """A position in the document, with its counterpart in the plan."""

    node: Node
    path: NodePath = ()
    step: str = ""
    """The team or step, as the trail names it."""
    compiled: object = None
    """The part of the plan compiled from it, or None."""
    field: str = ""
    """The field of the language, if any: `Retry.retries`."""

    def child(
        self, key: Segment, node: Node, *, shown: Segment | None = None, field: str = ""
    ) -> "DocumentPosition":
        """Return a position below; a document's tasks are a plan's steps."""
        name = "steps" if isinstance(self.compiled, Team) and key == "tasks" else key
        path = (*self.path, key if shown is None else shown)
        return DocumentPosition(node, path, self.step, _part(self.compiled, name), field)

    def value(self, value: JsonValue, origin: Origin) -> Effective:
        """Return a value at this position."""
        return Effective(self.path, value, origin, self.step, self.field)

    def below(self, value: JsonValue, origin: Origin, path: NodePath, owner: str) -> Effective:
        """Return an effective value below that the document does not write there."""
        field = f"{owner}.{path[-1]}" if owner else ""
        return Effective((*self.path, *path), value, origin, self.step, field)


def _part(whole: object, key: Segment) -> object:
    """Return the part of a plan below a key or index; None if there is none."""
    match whole, key:
        case dict(), str():
            return cast("dict[str, object]", whole).get(key)
        case tuple(), int():
            items = cast("tuple[object, ...]", whole)
            return items[key] if key < len(items) else None
        case BaseModel(), str():
            fields = type(whole).model_fields
            name = next((name for name, info in fields.items() if info.alias == key), key)
            return getattr(whole, name, None)
        case _:
            return None


def holds_models(values: Iterable[object]) -> bool:
    """Return whether a value is a model, or a tuple that begins with one."""
    for value in values:
        items = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
        if items and isinstance(items[0], BaseModel):
            return True
    return False


def location_of(step: str, key: str, item: object) -> str:
    """Return the location of a team, or of a branch of a parallel step, as the trail names it."""
    if isinstance(item, TeamDocument):
        return key
    return f"{step}/{key}" if isinstance(item, tuple) and step else step
