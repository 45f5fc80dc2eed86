"""Names that refer to nothing."""

from collections.abc import Collection

from coterie.dsl.errors import Code, closest
from coterie.dsl.problem_details import DidYouMean, UnknownName
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Mark
from coterie.dsl.values import UNREADABLE, NodePath


def unknown(
    problems: Problems,
    mark: Mark,
    path: NodePath,
    code: Code,
    what: str,
    name: str,
    known: Collection[str],
) -> None:
    """Note a name that refers to nothing, with the known names; E303 reports a template."""
    if name == UNREADABLE or problems.has("E303", path):
        return
    if not problems.describes(code):
        problems.note(code, mark, path, UnknownName(what, name, (), None))
        return
    there = tuple(sorted({one for one in known if one != UNREADABLE}))
    meant = closest(name, there)
    suggestion = None if meant is None else DidYouMean(meant)
    problems.note(code, mark, path, UnknownName(what, name, there, suggestion))
