"""The mapping of `requires_approval`: its condition, and the older key for when it asks."""

from collections.abc import Callable

from dsl.normalise.dialects import Here
from dsl.source.nodes import Node, path_of_node
from dsl.wording.approval_wording import moment_is_not_a_condition

_MOMENTS = ("before", "after")


def approval_form(node: Node, here: Here, condition: Callable[[Node], Node]) -> Node:
    """Normalise the condition of an approval; refuse `when: after`, which is now `at: after`.

    Args:
        node: The value of `requires_approval`.
        here: Collects the problem.
        condition: Normalises a condition.
    """
    entries = node.entries()
    asked = entries.get("when")
    if asked is None:
        return node
    if asked.value not in _MOMENTS:
        return node.with_value({**entries, "when": condition(asked)})
    details = moment_is_not_a_condition(str(asked.value))
    here.problems.note("E108", asked.at, (*path_of_node(here.root, node), "when"), details)
    rest = {key: item for key, item in entries.items() if key != "when"}
    return node.with_value({"at": asked, **rest})
