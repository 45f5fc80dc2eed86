"""List the files that a document was read from."""

from coterie.dsl.source.nodes import Node
from coterie.settings import Settings


def documents_of(tree: Node, settings: Settings) -> tuple[str, ...]:
    """List the files of a merged document, absolute and sorted."""
    named = {settings.cwd / file for file in _files(tree)}
    return tuple(sorted(str(file) for file in named if file.is_file()))


def _files(tree: Node) -> set[str]:
    found = {tree.mark.file}
    for below in (*tree.entries().values(), *tree.items()):
        found |= _files(below)
    return found
