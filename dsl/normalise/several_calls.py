"""A `tool` step with `calls`: a concurrent loop whose rounds each make one call.

A failed call is a result like the others, so one failure loses no other result.
"""

from coterie.dsl.model.facts import CALL_VARIABLE
from coterie.dsl.normalise.form_context import Here
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.nodes import Node, Place, text_node

CALLED_TOOL = f"{{{{ {CALL_VARIABLE}.tool }}}}"
"""The `tool` of the step that makes each call."""

CONCURRENCY = 20

_RESULT = ("success", "data", "error", "seconds")
"""What each result has of the outcome of its call, besides the name of the tool."""


@rule("E107")
def calls_with_one_call(key: str) -> ProblemText:
    return ProblemText(
        f"`{key}` is part of one call, and `calls` makes several",
        fix=f"remove `{key}`, or write it in an item of `calls`: `calls: [{{tool: ..., "
        "arguments: {...}}]`",
    )


def calls_as_loop(node: Node, here: Here) -> Node:
    """Return the loop for a `tool` step with `calls`; every other step stays as it is."""
    entries = node.entries()
    calls, kind = entries.get("calls"), entries.get("kind")
    if calls is None or kind is None or kind.value != "tool":
        return node
    for key in ("tool", "arguments"):
        if key in entries:
            misplaced_node = entries[key]
            here.problems.report(
                calls_with_one_call(key), Place(misplaced_node.at, here.path_of(misplaced_node))
            )
    name = entries.get("name")
    base = name.value if name is not None and isinstance(name.value, str) else "calls"
    own = ("kind", "calls", "tool", "arguments")
    return node.with_value(
        {
            "kind": kind.with_value("loop"),
            **{key: item for key, item in entries.items() if key not in own},
            "iterate_on": calls,
            "loop_variable": text_node(calls, CALL_VARIABLE),
            "concurrency": Node(CONCURRENCY, calls.mark),
            "body": calls.with_value([_call(calls, base), _result(calls, base)]),
        }
    )


def _call(at: Node, base: str) -> Node:
    return at.with_value(
        {
            "name": text_node(at, f"{base}_call"),
            "type": text_node(at, "tool"),
            "tool": text_node(at, CALLED_TOOL),
            "arguments": text_node(at, f"{{{{ {CALL_VARIABLE}.arguments | default({{}}) }}}}"),
            "on_failure": text_node(at, "continue"),
        }
    )


def _result(at: Node, base: str) -> Node:
    """Return the step whose data is the item of the call."""
    named = text_node(at, f"{{{{ {CALL_VARIABLE}.tool | default(none) }}}}")
    fields = {key: text_node(at, f"{{{{ tasks.{base}_call.{key} }}}}") for key in _RESULT}
    return at.with_value(
        {
            "name": text_node(at, f"{base}_result"),
            "type": text_node(at, "set"),
            "values": at.with_value({"tool": named, **fields}),
        }
    )
