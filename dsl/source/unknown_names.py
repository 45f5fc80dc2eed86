"""Names that refer to nothing."""

from collections.abc import Collection

from coterie.dsl.errors import closest
from coterie.dsl.problem_details import Code
from coterie.dsl.problem_texts import DidYouMean, UnknownName
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Place
from coterie.dsl.values import UNREADABLE

_CODES: dict[str, Code] = {
    "key": "E101",
    "model": "E105",
    "team": "E201",
    "persona": "E202",
    "agent type": "E203",
    "aggregation": "E204",
    "API": "E204",
    "Nexus operation": "E204",
    "activity": "E204",
    "workflow": "E204",
    "MCP server": "E204",
    "MCP tool": "E204",
    "offered tool": "E204",
    "operation": "E204",
    "tool function": "E204",
    "tool": "E204",
    "provider": "E205",
    "provider kind": "E205",
    "signal": "E206",
    "task": "E206",
    "task of an agent": "E206",
    "command": "E209",
    "channel": "E212",
    "prompt": "E502",
}
"""`{kind of thing: the code of a name that no such thing has}`."""


def unknown(
    problems: Problems,
    place: Place,
    what: str,
    name: str,
    known: Collection[str],
    *,
    origin: str = "",
) -> None:
    """Note a name that refers to nothing, with the known names; E303 reports a template.

    Args:
        problems: collects it.
        place: of the name.
        what: the kind of thing that it should name.
        name: as written.
        known: the names of such things.
        origin: words after the kind: where the name comes from, or which of these things.
    """
    if name == UNREADABLE or problems.has("E303", place.path):
        return
    code, title = _CODES[what], f"{what}{origin}"
    if not problems.describes(code):
        problems.report(UnknownName(code, title, name, (), None), place)
        return
    there = tuple(sorted({candidate for candidate in known if candidate != UNREADABLE}))
    likely_name = closest(name, there)
    suggestion = None if likely_name is None else DidYouMean(likely_name)
    problems.report(UnknownName(code, title, name, there, suggestion), place)
