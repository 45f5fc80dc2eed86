"""Names that refer to nothing."""

from collections.abc import Collection

from coterie.dsl.errors import closest
from coterie.dsl.problem_codes import CODES_OF_NAMES
from coterie.dsl.problem_details import DidYouMean, UnknownName
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Place
from coterie.dsl.values import UNREADABLE


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
    code, title = CODES_OF_NAMES[what], f"{what}{origin}"
    if not problems.describes(code):
        problems.report(UnknownName(code, title, name, (), None), place)
        return
    there = tuple(sorted({one for one in known if one != UNREADABLE}))
    meant = closest(name, there)
    suggestion = None if meant is None else DidYouMean(meant)
    problems.report(UnknownName(code, title, name, there, suggestion), place)
