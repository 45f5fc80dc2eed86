"""What a template cannot reach: Python, chance, clocks, other templates, a worker's memory."""

import copy

import pytest
from hypothesis import given
from pydantic import JsonValue

from coterie.dsl.errors import TemplateFailed
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.templates.jinja_engine import ENVIRONMENT
from coterie.dsl.templates.template import parse
from coterie.dsl.templates.template_filling import fill, fill_text
from coterie.dsl.templates.template_rules import BadTemplate
from tests.support.documents.strategies import json_values


def names() -> dict[str, object]:
    return {
        "context": {
            "items": [1],
            "get": "g",
            "keys": {"values": 2},
            "text": "abc",
            "upper": "u",
            "plain": {"k": 1},
        },
        "tasks": {"t": Outcome.failed("T", "m", {"items": 3})},
    }


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{ context.items }}", [1]),
        ("{{ context['items'] }}", [1]),
        ("{{ context.items | length }}", 1),
        ("{{ context.get }}", "g"),
        ("{{ context.keys.values }}", 2),
        ("{{ context.keys.values + 1 }}", 3),
        ("{{ context.upper }}", "u"),
        ("{{ tasks.t.data.items }}", 3),
        ("{{ context.plain.items() | list }}", [["k", 1]]),
        ("{{ context.plain.get('x', 5) }}", 5),
        ("{{ context.text.upper() }}", "ABC"),
    ],
)
def test_data_wins_over_methods(template: str, value: JsonValue) -> None:
    assert fill(template, names()) == value


@pytest.mark.parametrize(
    "expression",
    [
        "context.__class__",
        "context['__class__']",
        "context.text.__class__.__mro__",
        "''.__class__",
        "[].append(1)",
        "[].__len__()",
        "context | attr('__class__')",
        "(context | attr('update'))({'x': 1})",
        "context.update({'x': 1})",
        "context.pop('items')",
        "context.plain.clear()",
        "context.plain.setdefault('x', 1)",
        "tasks.t.model_copy",
        "tasks.t.model_dump()",
        "tasks.t.error.model_dump()",
        "tasks.t.__dict__",
        "(1).bit_length()",
        "1.5.hex()",
        "'{0.__class__}'.format(1)",
        "'{}'.format_map({})",
        "self",
        "self._TemplateReference__context",
        "range.__globals__",
        "range(1).count(0)",
        "[tasks] | map(attribute='__class__') | list",
        "lipsum()",
        "cycler(1)",
        "namespace()",
        "dict(a=1)",
        "now()",
        "'a' | random",
        "[1] | random",
        "context is sameas context",
        "2 ** 9",
        "'x' | center(9)",
        "'x' | safe",
        "context | pprint",
    ],
)
def test_nothing_but_data_and_listed_methods_can_be_reached(expression: str) -> None:
    facts = names()
    before = copy.deepcopy(facts)
    with pytest.raises(TemplateFailed):
        fill("{{ " + expression + " }}", facts)
    with pytest.raises(TemplateFailed):
        fill_text("{% set x = " + expression + " %}{{ x }}", facts)
    assert facts == before


@pytest.mark.parametrize(
    "statement",
    [
        "{% include 'x' %}",
        "{% import 'x' as y %}",
        "{% from 'x' import y %}",
        "{% extends 'x' %}",
        "{% block b %}{% endblock %}",
        "{{ 2 ** 9 }}",
        "{{ x | nofilter }}",
        "{{ x is notest }}",
    ],
)
def test_a_template_stands_alone(statement: str) -> None:
    for statements in (True, False):
        with pytest.raises(BadTemplate) as caught:
            parse(statement, statements=statements)
        assert caught.value.forbidden


def test_no_global_is_left_but_range() -> None:
    assert set(ENVIRONMENT.globals) == {"range"}


EVIL = "{{ context.secret }} {% for x in y %} {# gone #} {{ 7 * 7 }}"


@pytest.mark.parametrize(
    "around",
    [
        "{{ context.said }}",
        "<{{ context.said }}>",
        "{{ context.said | trim }}",
        "{{ [context.said] }}",
    ],
)
def test_model_output_is_never_rendered_again(around: str) -> None:
    facts = {"context": {"said": EVIL, "secret": "leaked"}}
    assert EVIL in str(fill(around, facts))
    assert EVIL in fill_text(around, facts)
    assert "leaked" not in fill_text(around, facts)


@given(json_values)
def test_filling_what_was_filled_is_another_matter(value: JsonValue) -> None:
    """Values come out as they went in, whatever marks they carry."""
    wrapped = {"said": ["{{ context.x }}", value]}
    assert fill("{{ context }}", {"context": wrapped}) == wrapped


def test_an_expression_is_nested_sixty_levels_deep_at_most() -> None:
    deepest = "-" * 57  # the template, its output and the number are levels as well
    assert fill("{{ " + deepest + "1 }}", {}) == -1
    with pytest.raises(BadTemplate, match="in more than 60 levels"):
        parse("{{ -" + deepest + "1 }}")
