"""Changes of parts of a tree: below a path, of each item, of named entries."""

from collections.abc import Callable

from dsl.source.nodes import Node

Change = Callable[[Node], Node]


def change_below(node: Node, path: tuple[str, ...], change: Change) -> Node:
    """Change the node at a path, if there is one."""
    if not path:
        return change(node)
    entries = node.entries()
    if path[0] not in entries:
        return node
    changed = change_below(entries[path[0]], path[1:], change)
    return node.with_value({**entries, path[0]: changed})


def each_item(change: Change) -> Change:
    """Return the change of every item of a list, or of every value of a mapping."""

    def every(node: Node) -> Node:
        match node.value:
            case dict() as entries:
                return node.with_value({key: change(item) for key, item in entries.items()})
            case list() as items:
                return node.with_value([change(item) for item in items])
            case _:
                return node

    return every


def change_entries(node: Node, **changes: Change) -> Node:
    """Change the named entries of the mapping; a trailing underscore is not part of a name."""
    entries = node.entries()
    changed = {
        key: change(entries[key])
        for name, change in changes.items()
        if (key := name.rstrip("_")) in entries
    }
    return node.with_value({**entries, **changed}) if changed else node


def each_entry(change: Callable[[str, Node], Node]) -> Change:
    """Return the change of every value of a mapping, which may depend on its key."""

    def every(node: Node) -> Node:
        if not isinstance(node.value, dict):
            return node
        return node.with_value({key: change(key, item) for key, item in node.value.items()})

    return every
