"""Paths in a document in the author's terms: `discovery/read_project`, not `tasks[0]`."""

from typing import NamedTuple

from coterie.dsl.model.facts import CALL_VARIABLE
from coterie.dsl.source.nodes import Node, dotted
from coterie.dsl.values import UNREADABLE, NodePath

_BODIES = (("orchestration", "teams"), ("llm_config", "personas"))


class AuthorPath(NamedTuple):
    """A step by its name, and the field in it."""

    step: str
    """`team/step`, or `persona/step`; with the blocks in between."""
    field: str
    """Dotted; empty for the step itself."""

    def __str__(self) -> str:
        """Return both: `discovery/read_project: input.path`."""
        return f"{self.step}: {self.field}" if self.field else self.step


def name_of_path(tree: Node, path: NodePath) -> str:
    """Return the step and field of a path of the tree; empty without a named step."""
    return str(author_path(tree, path) or "")


def author_path(tree: Node, path: NodePath) -> AuthorPath | None:
    """Return the step that contains a path of the tree; None if no named step does."""
    if path[:2] not in _BODIES or len(path) < 4:
        return None
    names = [str(path[2])]
    end = 0
    for number, segment in enumerate(path):
        if not isinstance(segment, int):
            continue
        name = tree.find(path[: number + 1]).entries().get("name")
        if name is not None and isinstance(name.value, str) and number > 2:
            if name.value == UNREADABLE:
                return None
            names.append(name.value)
            end = number + 1
    if not end:
        return None
    field = path[end:]
    if field[:1] == ("iterate_on",) and _makes_calls(tree.find(path[:end])):
        field = ("calls", *field[1:])
    return AuthorPath("/".join(names), dotted(field))


def _makes_calls(step: Node) -> bool:
    """Return whether the author wrote the list of a loop as `calls`."""
    variable = step.entries().get("loop_variable")
    return variable is not None and variable.value == CALL_VARIABLE
