"""Places of a document as their author calls them: `discovery/read_project`, not `tasks[0]`."""

from collections.abc import Callable
from typing import NamedTuple

from dsl.source.nodes import Node, dotted
from dsl.values import UNREADABLE, NodePath

_BODIES = (("orchestration", "teams"), ("llm_config", "personas"))


class AuthorPath(NamedTuple):
    """A step by its name, and the field below it."""

    step: str
    """`team/step`, or `persona/step`; the blocks around it between."""
    field: str
    """Dotted; empty for the step itself."""

    def __str__(self) -> str:
        """Both: `discovery/read_project: input.path`."""
        return f"{self.step}: {self.field}" if self.field else self.step


def naming_steps(tree: Node) -> Callable[[NodePath], str]:
    """Tells the step that a place of this tree belongs to, and the field; else an empty text."""
    return lambda path: str(author_path(tree, path) or "")


def author_path(tree: Node, path: NodePath) -> AuthorPath | None:
    """The step that a place of the tree belongs to; None where it belongs to no named step."""
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
    return AuthorPath("/".join(names), dotted(path[end:]))
