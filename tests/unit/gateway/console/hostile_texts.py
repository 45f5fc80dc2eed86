"""Texts that want to be more than text in a page, and the check that they are not."""

from collections.abc import Callable

from tests.unit.gateway.console.pages import Tree, text_in

HOSTILE = (
    "<img src=x onerror=alert(1)>'\"</style></script><script>alert(2)</script>{{7*7}}\x1b[2J\u202e"
)


def hostile(paths: set[str]) -> Callable[[str, str], str]:
    """Give each text a marker that names its path."""

    def change(path: str, text: str) -> str:
        if not text:
            return text
        paths.add(path)
        return f"{HOSTILE}⟦{path}⟧"

    return change


def harmless(tree: Tree) -> str:
    """Return the text of a page in which no hostile text became anything else."""
    assert not tree.xpath(
        "//script[text() or not(starts-with(@src, '/static/'))] | //img | //iframe | //*[@style]"
    )
    names = {str(name) for node in tree.iter() for name in getattr(node, "attrib", {})}
    assert not {name for name in names if name.startswith("on")}
    text = text_in(tree)
    assert not set(text) & {"\x1b", "\u202e"}
    assert "{{7*7}}" in text
    return text
