"""Names that refer to something: how an unknown one is told."""

from collections.abc import Collection

from dsl.errors import Code, listed, nearest
from dsl.source.nodes import UNREADABLE, Mark, Problems
from dsl.values import NodePath


def unknown(
    problems: Problems,
    mark: Mark,
    path: NodePath,
    code: Code,
    what: str,
    name: str,
    known: Collection[str],
) -> None:
    """Note a name that refers to nothing, with those that there are; E303 tells a template."""
    if name == UNREADABLE or problems.has("E303", path):
        return
    there = [one for one in known if one != UNREADABLE]
    problems.add(
        code,
        mark,
        path,
        f"unknown {what} {name!r}",
        allowed=listed(there),
        fix=nearest(name, there),
    )
