"""Conditions in every written form, older ones too, each with the meaning that its author intended.

Works on nodes, as `dsl.normalise.here` does. Extra keys of an older form stay, so that the
models refuse them in place.
"""

import json
from collections.abc import Mapping

from pydantic import JsonValue

from coterie.dsl.errors import closest
from coterie.dsl.evaluate.operator_table import OPERATORS, SHORT_NAMES, WITHOUT_VALUE
from coterie.dsl.model.conditions import CONDITION_KEYS
from coterie.dsl.normalise.form_context import Here
from coterie.dsl.paths import get, parse
from coterie.dsl.source.nodes import Node, change_below, each_item

OUTCOMES = ("all_success", "any_success", "any_failure", "all_failure")


def condition_form(node: Node, here: Here) -> Node:
    """Normalise a condition: lists are AND, bare strings are outcomes or expressions."""
    match node.value:
        case list() as items:
            parts = [condition_form(item, here) for item in items]
            return node.with_value({"and": node.with_value(parts)})
        case str() as text:
            key = "outcome" if text.strip() in OUTCOMES else "expression"
            return node.with_value({key: node.with_value(text.strip())})
        case dict():
            return _join_conditions(_present_form(node, here), here)
        case _:
            return node


def _join_conditions(node: Node, here: Here) -> Node:
    """Normalise the operator of a condition, and the conditions that it joins."""
    entries = node.entries()
    operator = entries.get("operator")
    if operator is not None and str(operator.value) in SHORT_NAMES:
        full = operator.with_value(SHORT_NAMES[str(operator.value)])
        node = node.with_value({**entries, "operator": full})

    def inner(part: Node) -> Node:
        return condition_form(part, here)

    for key in ("and", "or"):
        node = change_below(node, (key,), each_item(inner))
    return change_below(node, ("not",), inner)


def _present_form(node: Node, here: Here) -> Node:
    """Return a condition in its present form; nested conditions are left to the next round."""
    entries = node.entries()
    kind = entries.get("type")
    match str(kind.value).lower() if kind is not None else "":
        case "and" | "or" as word:
            inner, rest = _inner(node, entries, "conditions", "condition")
            return node.with_value({word: inner, **rest})
        case "not":
            inner, rest = _inner(node, entries, "condition", "conditions")
            parts = inner.items()  # of several: together they would not hold
            return node.with_value({"not": parts[0] if len(parts) == 1 else inner, **rest})
        case "simple":
            return _simple(node, entries, here)
        case _:
            pass
    if "field" in entries and "type" not in entries and {"operator", "value"} & entries.keys():
        return _simple(node, entries, here)
    if "config_field" in entries:
        return _config_field(node, entries, here)
    if _is_plain(entries):
        equal = [_equal(key, value, here) for key, value in entries.items()]
        return equal[0] if len(equal) == 1 else node.with_value({"and": Node([*equal], node.mark)})
    return node


def _inner(node: Node, entries: Mapping[str, Node], *keys: str) -> tuple[Node, dict[str, Node]]:
    """Return what an older form joins, under its first known key, and the extra keys."""
    key = next((key for key in keys if key in entries), None)
    rest = {other: item for other, item in entries.items() if other not in ("type", key)}
    return Node(None, node.mark) if key is None else entries[key], rest


def _simple(node: Node, entries: Mapping[str, Node], here: Here) -> Node:
    """Convert `field`: a variable, or a path into a task's data, or else one into the context."""
    rest = {key: item for key, item in entries.items() if key not in ("type", "field")}
    field = entries.get("field")
    if field is None or not isinstance(field.value, str):
        return node.with_value(rest)
    first, _, below = field.value.partition(".")
    if "task" in rest:
        return node.with_value({**rest, "output_field": field})
    if first in here.variables:
        return _of_variable(node, field, rest)
    if first in here.tasks and below:
        task = field.with_value(first)
        return node.with_value({**rest, "task": task, "output_field": field.with_value(below)})
    path = below if first == "context" and below else field.value
    return node.with_value({**rest, "context_field": field.with_value(path)})


_ASKED = {
    "equals": "({path} | default(none)) == {value}",
    "not_equals": "({path} | default(none)) != {value}",
    "contains": "{path} is iterable and {value} in {path}",
    "greater_than": "{path} is {kind} and {path} > {value}",
    "less_than": "{path} is {kind} and {path} < {value}",
    "greater_or_equal": "{path} is {kind} and {path} >= {value}",
    "less_or_equal": "{path} is {kind} and {path} <= {value}",
    "exists": "{path} is defined",
    "is_empty": '({path} | default(none)) in [none, "", [], {{}}]',
    "is_null": "({path} | default(none)) is none",
}
"""The test of a variable that each operator of the older forms means; a missing value passes. A new
operator needs no row: people write an expression."""


def _of_variable(node: Node, field: Node, rest: Mapping[str, Node]) -> Node:
    """Return a test of a variable as an expression."""
    operator = rest.get("operator")
    name = "equals" if operator is None else str(operator.value)
    test = _ASKED.get(SHORT_NAMES.get(name, name))
    more = {key: item for key, item in rest.items() if key not in ("operator", "value")}
    if test is None:  # no such test of a variable: refused as a context field would be
        return node.with_value({**rest, "context_field": field})
    value = rest["value"].plain() if "value" in rest else None
    kind = "string" if isinstance(value, str) else "number"
    test = test.format(path=_path(str(field.value)), value=_literal(value), kind=kind)
    if name in WITHOUT_VALUE and value is False:
        test = f"not ({test})"
    text = f"{{{{ {test} }}}}"
    return node.with_value({"expression": Node(text, field.mark), **more})


def _path(text: str) -> str:
    """Return a dotted path as templates follow it, for any segments."""
    first, *rest = parse(text)
    return first + "".join(f"[{seg}]" if seg.isdigit() else f"[{_literal(seg)}]" for seg in rest)


def _literal(value: JsonValue) -> str:
    """Return a value as an expression writes it."""
    match value:
        case None:
            return "none"
        case list():
            return f"[{', '.join(map(_literal, value))}]"
        case dict():
            pairs = (f"{_literal(key)}: {_literal(item)}" for key, item in value.items())
            return f"{{{', '.join(pairs)}}}"
        case _:
            return json.dumps(value, ensure_ascii=False)


def _equal(key: str, value: Node, here: Here) -> Node:
    """Convert `{key: value}`: of a variable that the steps set, or of the context."""
    at = Node({}, value.at)
    test = {"operator": Node("equals", value.mark), "value": value}
    field = Node(key, value.at)
    if key.partition(".")[0] in here.variables:
        return _of_variable(at, field, test)
    return at.with_value({"context_field": field, **test})


def _config_field(node: Node, entries: Mapping[str, Node], here: Here) -> Node:
    """Evaluate a question about the document itself now, since a plan never changes."""
    field = entries["config_field"]
    operator = entries.get("operator")
    name = "equals" if operator is None else str(operator.value)
    name = SHORT_NAMES.get(name, name)
    test = next(
        (row.test for operator_name, row in OPERATORS.items() if operator_name == name), None
    )
    own = ("config_field", "operator", "value")
    rest = {key: item for key, item in entries.items() if key not in own}
    if not isinstance(field.value, str) or test is None:  # refused as a context field would be
        others = {key: item for key, item in entries.items() if key != "config_field"}
        return node.with_value({"context_field": field, **others})
    value = entries["value"].plain() if "value" in entries else None
    holds = test(get(here.document, parse(field.value)), value)
    always = Node({"and": Node([], node.mark)}, node.mark)
    return node.with_value({**(always.entries() if holds else {"not": always}), **rest})


def _is_plain(entries: Mapping[str, Node]) -> bool:
    """Return whether it is `{key: value}` over the context, and not a misspelled condition."""
    words = (*CONDITION_KEYS, "operator", "value", "type", "conditions", "config_field")
    return bool(entries) and not any(key in words or closest(key, words) for key in entries)
