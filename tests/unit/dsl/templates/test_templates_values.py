"""What a template gives: values keep their type, texts show values as JSON."""

import json

import pytest
from hypothesis import given
from pydantic import JsonValue

from coterie.dsl.errors import TemplateFailed
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.templates.template import parse
from coterie.dsl.templates.template_filling import fill, fill_text
from tests.support.documents.strategies import json_objects, json_values

FACTS = Facts(
    context={"n": 3, "text": "hi", "flag": True, "none": None, "xs": [1, 2], "m": {"k": [0]}},
    tasks={
        "check": Outcome.succeeded({"status": "FAIL", "ids": [7]}),
        "broken": Outcome.failed("Timeout", "too slow", {"seen": 1}),
        "data": Outcome.succeeded({"error": 1}),
    },
    teams={"review": {"check": Outcome.succeeded({"status": "PASS"})}},
    run={"id": "r", "visit": 2},
    routing={"reason": "entry", "from": None},
    variables={"item": {"id": 1}},
    input={"change": "x"},
)
NAMES = FACTS.names()


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{ context.n }}", 3),
        ("{{context.n}}", 3),
        ("{{- context.n -}}", 3),
        ("{# why #}{{ context.n + 1 }}", 4),
        ("{{ -context.n }}", -3),
        ("{{ +context.n - 1 }}", 2),
        ("{{ context.flag }}", True),
        ("{{ context.none }}", None),
        ("{{ context.xs }}", [1, 2]),
        ("{{ context.xs[1] }}", 2),
        ("{{ context.xs[-1] }}", 2),
        ("{{ context['m']['k'] }}", [0]),
        ("{{ context.m }}", {"k": [0]}),
        ("{{ context.n > 2 and context.flag }}", True),
        ("{{ context.xs | length }}", 2),
        ("{{ 2 in context.xs }}", True),
        ("{{ 2 not in context.xs }}", False),
        ("{{ 3 not in context.xs }}", True),
        ("{{ context.xs + [3] }}", [1, 2, 3]),
        ("{{ {'a': context.n} }}", {"a": 3}),
        ("{{ range(3) }}", [0, 1, 2]),
        ("{{ context.missing | default('d') }}", "d"),
        ("{{ context.missing.deeper.still | default([]) }}", []),
        ("{{ context.missing is defined }}", False),
        ("{{ item.id }}", 1),
        ("{{ input.change }}", "x"),
        ("{{ run.visit }}", 2),
        ("{{ routing.from }}", None),
        ("{{ tasks.check.data.status }}", "FAIL"),
        ("{{ tasks.check.success }}", True),
        ("{{ tasks.check.error }}", None),
        ("{{ tasks.broken.status }}", "failure"),
        ("{{ tasks.broken.error }}", {"type": "Timeout", "message": "too slow"}),
        ("{{ tasks.broken.error or 0 }}", {"type": "Timeout", "message": "too slow"}),
        ("{{ tasks.broken.error.message | upper }}", "TOO SLOW"),
        ("{{ tasks.broken.data.seen + 1 }}", 2),
        ("{{ tasks.data.data.error }}", 1),
        ("{{ teams.review.tasks.check.data.status }}", "PASS"),
        ("no template", "no template"),
        (["{{ context.n }}", {"a": "{{ context.text }}!"}], [3, {"a": "hi!"}]),
        (5, 5),
    ],
)
def test_one_expression_keeps_the_type_of_its_value(template: JsonValue, value: JsonValue) -> None:
    filled = fill(template, NAMES)
    assert filled == value
    assert type(filled) is type(value)


@pytest.mark.parametrize("template", ["{{ tasks.data }}", "{{ tasks }}", "{{ teams }}"])
def test_outcomes_as_a_whole_come_out_as_json(template: str) -> None:
    assert json.loads(json.dumps(fill(template, NAMES)))


def test_a_task_that_is_called_data_is_a_task_like_any_other() -> None:
    assert fill("{{ tasks.data }}", NAMES) == {
        "success": True,
        "status": "success",
        "data": {"error": 1},
        "error": None,
    }


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("n={{ context.n }}", "n=3"),
        ("{{ context.n }}\n", "3\n"),
        (" {{ context.n }}", " 3"),
        ("{{ context.n }}{{ context.n }}", "33"),
        ("is {{ context.flag }}", "is true"),
        ("is {{ context.none }}", "is null"),
        ("{{ context.m }} {{ context.xs }}", '{"k": [0]} [1, 2]'),
        ("{{ context.text }} {{ input }}", 'hi {"change": "x"}'),
        ("{{ 'is ' ~ context.flag ~ context.m }}", 'is true{"k": [0]}'),
        ("{{ context.flag | string }}", "true"),
        ("{{ [true, none, 'x'] | join(', ') }}", "true, null, x"),
        ("{{ ', '.join([true, 1]) }}", "true, 1"),
        ("{{ 'a-b' | replace('-', context.flag) }}", "atrueb"),
        ("{{ '%s and %03d' | format(context.text, 7) }}", "hi and 007"),
        ("{{ '%.2f' % 1.005 }}", "1.00"),
        ("{% raw %}{{ context.n }}{% endraw %}", "{{ context.n }}"),
        ("{{ '{{' }} stays", "{{ stays"),
    ],
)
def test_template_with_text_renders_values_as_json_and_strings_unchanged(
    template: str, text: str
) -> None:
    assert fill(template, NAMES) == text


def test_prompts_may_use_statements_and_are_always_texts() -> None:
    prompt = "{% for x in context.xs %}{{ loop.index }}:{{ x }} {% endfor %}"
    assert fill_text(prompt, NAMES) == "1:1 2:2 "
    assert fill_text("{{ context.xs }}", NAMES) == "[1, 2]"
    with pytest.raises(TemplateFailed, match="prompts only"):
        fill(prompt, NAMES)


@given(json_values)
def test_single_expression_returns_any_context_value_unchanged(value: JsonValue) -> None:
    names = Facts(context={"x": value}, tasks={"t": Outcome.succeeded(value)}).names()
    assert fill("{{ context.x }}", names) == value
    assert fill("{{ tasks.t.data }}", names) == value
    assert fill("{{ (context.x) if true else 0 }}", names) == value
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    assert fill("<{{ context.x }}>", names) == f"<{shown}>"


@given(json_objects)
def test_filling_never_changes_the_facts(context: dict[str, JsonValue]) -> None:
    before = json.dumps(context)
    filled = fill({"all": "{{ context }}", "n": "{{ context | length }}"}, {"context": context})
    assert filled == {"all": context, "n": len(context)}
    assert json.dumps(context) == before


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("{{ context.a.b }}", [("context", "a", "b")]),
        ("{{ context['a'][0].b }}", [("context", "a", "0", "b")]),
        ("{{ context.a[input.k].b }}", [("input", "k"), ("context", "a")]),
        ("{{ context.a.items() }}{{ context.t.upper() }}", [("context", "a"), ("context", "t")]),
        ("{{ a if b else c }}", [("b",), ("a",), ("c",)]),
        ("{{ x | default(y) }}", [("x",), ("y",)]),
        ("{{ range(context.n) }}", [("context", "n")]),
        ("nothing", []),
    ],
)
def test_a_template_knows_what_it_names(text: str, paths: list[tuple[str, ...]]) -> None:
    assert sorted(parse(text).paths) == sorted(paths)


def test_names_bound_inside_a_prompt_are_not_asked_of_the_facts() -> None:
    text = (
        "{% set y = context.a %}{% for x in input.xs %}{{ x }}{{ y }}{{ loop.index }}{% endfor %}"
    )
    assert set(parse(text, statements=True).paths) == {("context", "a"), ("input", "xs")}


@pytest.mark.parametrize(
    "value",
    ["true == 1", "1 == true", "false == 0", "[true] == [1]", "{'a': 1} == {'a': true}",
     "1 in [true]", "true is eq 1", "1.0 == true"],
)  # fmt: skip
def test_true_is_not_one_as_for_the_operators_of_conditions(value: str) -> None:
    assert fill("{{ " + value + " }}", {}) is False


@pytest.mark.parametrize(
    "value", ["true != 1", "1 == 1.0", "true == true", "'a' in 'abc'", "1 in [1.0]", "'a' == 'a'"]
)
def test_values_that_are_the_same_json_are_equal(value: str) -> None:
    assert fill("{{ " + value + " }}", {}) is True
