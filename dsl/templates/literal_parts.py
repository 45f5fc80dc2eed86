"""The parts of a value that are known before its templates are rendered: keys and literal texts.

A template that is one expression may give anything, unless it is a literal: `{{ {'path':
context.folder} }}` is a mapping with one key. A template with text around it gives a text.
"""

from enum import Enum
from typing import NamedTuple, TypeAlias

from jinja2 import nodes
from pydantic import JsonValue

from coterie.dsl.templates.jinja_engine import ENVIRONMENT
from coterie.dsl.templates.template import is_template, parse
from coterie.dsl.templates.template_paths import single_expression
from coterie.dsl.templates.template_rules import BadTemplate


class Unknown(Enum):
    """A value that only the run knows."""

    VALUE = "any value"


class PartText(NamedTuple):
    """A text with some known pieces, and anything between them."""

    pieces: tuple[str, ...]


Part: TypeAlias = (
    "Unknown | PartText | bool | int | float | str | list[Part] | dict[str, Part] | None"
)


def known_parts(value: JsonValue) -> Part:
    """Return the value, with the results of templates left open."""
    match value:
        case str():
            return _of_text(value) if is_template(value) else value
        case dict():
            return {key: known_parts(item) for key, item in value.items()}
        case list():
            return [known_parts(item) for item in value]
        case _:
            return value


def _of_text(text: str) -> Part:
    try:
        parse(text)
    except BadTemplate:
        return Unknown.VALUE  # reported with all other templates
    tree = ENVIRONMENT.parse(text)
    expression = single_expression(tree)
    if expression is not None:
        return _of_expression(expression)
    parts = [part for node in tree.body if isinstance(node, nodes.Output) for part in node.nodes]
    return PartText(tuple(n.data if isinstance(n, nodes.TemplateData) else "" for n in parts))


def _of_expression(node: nodes.Node) -> Part:
    match node:
        case nodes.Const(value=None | bool() | int() | float() | str() as value):
            return value
        case nodes.Dict(items=pairs):
            return _of_pairs(pairs)
        case nodes.List(items=items):
            return [_of_expression(item) for item in items]
        case nodes.Concat(nodes=joined):
            constants = [n.value if isinstance(n, nodes.Const) else "" for n in joined]
            return PartText(tuple(str(constant) for constant in constants))
        case _:
            return Unknown.VALUE


def _of_pairs(pairs: list[nodes.Pair]) -> Part:
    parts: dict[str, Part] = {}
    for pair in pairs:
        if not isinstance(pair.key, nodes.Const) or not isinstance(pair.key.value, str):
            return Unknown.VALUE  # a key that only the run knows
        parts[pair.key.value] = _of_expression(pair.value)
    return parts
