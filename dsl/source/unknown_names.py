"""Names in problems: how a step is called, and what refers to nothing."""

from collections.abc import Collection

from dsl.errors import Code, closest
from dsl.problem_details import DidYouMean, UnknownName
from dsl.source.nodes import UNREADABLE, Mark, Problems
from dsl.values import NodePath


def called(name: str, noun: str = "") -> str:
    """A step as problems call it: `the wait 'x'`; one whose name is missing has none to give."""
    if name == UNREADABLE:
        return f"{noun or 'the step'} without a name"
    return f"{noun} {name!r}" if noun else repr(name)


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
    there = tuple(sorted({one for one in known if one != UNREADABLE}))
    meant = closest(name, there)
    suggestion = None if meant is None else DidYouMean(meant)
    problems.note(code, mark, path, UnknownName(what, name, there, suggestion))
