"""The budget of an evaluation: what would take a worker's time or memory is never begun."""

import json
import math
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from coterie.dsl.errors import EvaluationLimitExceeded, TemplateFailed
from coterie.dsl.evaluate.condition_evaluation import holds
from coterie.dsl.evaluate.operator_table import OPERATORS
from coterie.dsl.evaluate.routing import choose
from coterie.dsl.model.conditions import AllOf, AnyOf, Condition, ContextField, Expression, Operator
from coterie.dsl.model.evaluation_budget import (
    MAX_BYTES,
    MAX_STEPS,
    EvaluationBudget,
    EvaluationMeter,
    Names,
)
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Plan, Routing, Rule, Team
from coterie.dsl.templates.jsonable import beginning, brief
from coterie.dsl.templates.template import parse
from coterie.dsl.templates.template_filling import fill, fill_text
from coterie.dsl.templates.template_rules import BadTemplate
from coterie.dsl.values import Json
from tests.support.documents.hostile_expressions import expression as hostile_expression
from tests.support.documents.hostile_expressions import hostile_context
from tests.support.documents.hostile_expressions import prompt as hostile_prompt
from tests.support.documents.strategies import json_values
from tests.support.measured import cpu_seconds, function_calls, peak_bytes

STEPS, BYTES, INTEGER, FORMAT = "steps", "bytes", "integer", "format"

REFUSED: list[tuple[str, str]] = [
    ("([[1]*10000]*100000)|sum(start=[])|length", STEPS),
    ("([range(99999)]*1000000)|map('sum')|sum", STEPS),
    ("'%(a)700000000s'|format(a=1)", FORMAT),
    ("'%(a).900000000f'|format(a=1)", FORMAT),
    ("'%(a.b(c))700000000s' % 1", FORMAT),
    ("[[[[1]*1000]*1000]*1000]*1000", STEPS),
    ("([[[[1]*1000]*1000]*1000]*1000)|string|length", STEPS),
    ("([[[[1]*1000]*1000]*1000]*1000)|upper", STEPS),
    ("[['a', [[[[1]*1000]*1000]*1000]*1000]]|urlencode", STEPS),
    ("([[[[1]*1000]*1000]*1000]*1000) == ([[[[1]*1000]*1000]*1000]*1000)", STEPS),
    ("([[1]*1000]*1000) in [[[1]*1000]*1000]", STEPS),
    ("[[[[1]*1000]*1000]*1000]|sort", STEPS),
    ("{((((1,)*999,)*999,)*999,)*999: 1}", STEPS),
    ("[(((1,)*999,)*999,)*999]|unique", STEPS),
    ("('a'*10000000)|wordwrap(1)", STEPS),
    ("('a '*4000000)|title", STEPS),
    ("('a '*4000000)|wordcount", STEPS),
    ("('a '*4000000).split()|length", STEPS),
    ("('a\\v'*4000000).splitlines()|length", STEPS),
    ("('<'*1000000)|striptags", STEPS),
    ("('a'*1000000).strip('b'*1000000 ~ 'a')", STEPS),
    ("('a'*1000000)|trim('b'*1000000)", STEPS),
    ("('a'*4000000).count('a'*90 ~ 'b')", STEPS),
    ("('é'*4000000)|urlencode", STEPS),
    ("('a'*4000000)|list", STEPS),
    ("([['a'*1900000]]*9999)|sort(attribute=0)", STEPS),
    ("([['a'*1900000]]*9999)|groupby(0)", STEPS),
    ("(['a'*1900000]*9999)|unique", STEPS),
    ("(['a'*1900000]*9999)|min", STEPS),
    ("range(99999)|map('string')|map('length')|sum", STEPS),
    ("range(9999)|map(attribute='a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v')|list", STEPS),
    ("'a' * 99999999", BYTES),
    ("99999999 * [1]", STEPS),
    ("'%99999999d' | format(1)", FORMAT),
    ("'%*d' | format(99999999, 1)", FORMAT),
    ("'%099999999d' % 1", FORMAT),
    ("('a' * 999999).replace('a', 'b' * 999999)", BYTES),
    ("('a' * 999999) | replace('a', 'b' * 999999)", BYTES),
    ("('a' * 999999) | replace('a', 'b' * 999999, -1)", BYTES),
    ("('a' * 999999).replace('a', 'b' * 999999, -1)", BYTES),
    ("('a' * 999999) | replace('', 'b' * 999999, -7)", BYTES),
    ("('b' * 999999).join(range(9999))", BYTES),
    ("range(9999) | join('b' * 999999)", BYTES),
    ("('a' * 9999999) ~ ('a' * 9999999)", BYTES),
    ("('a' * 9999999) + ('a' * 9999999)", BYTES),
    ("'a\nb' | indent(99999999)", BYTES),
    (
        "[[1]] | tojson(9999999999) | length + ([[[[[1]*9]*9]*9]*9]|tojson(16)|length)*0 "
        "+ ('a'*99999999)|length",
        BYTES,
    ),
    ("('9'*1000000)|int", INTEGER),
    ("('f'*1000000)|int(0, 16)", INTEGER),
    ("1|round(-900000000)", INTEGER),
    ("1.5|round(900000000, 'ceil')", INTEGER),
    ("('9'*4000)|int * ('9'*4000)|int", INTEGER),
    ("([('9'*4000)|int]*9)|sum * ('9'*4000)|int", INTEGER),
]


@pytest.mark.parametrize(("expression", "bound"), REFUSED)
def test_an_expression_that_would_take_a_worker_is_refused_by_its_bound(
    expression: str, bound: str
) -> None:
    with pytest.raises(EvaluationLimitExceeded) as raised:
        fill("{{ " + expression + " }}", {})
    assert raised.value.bound == bound
    assert expression.split()[0][:20] in str(raised.value)  # the place


PROMPTS: list[tuple[str, str, int]] = [
    (
        "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
        "{% endfor %}{% endfor %}{% endfor %}",
        STEPS,
        1,
    ),
    (
        "one\n{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
        STEPS,
        2,
    ),
    ("{% set x = 3 %}" + "{% set x = x*x %}\n" * 30 + "{{ x }}", INTEGER, 14),
    ("{% set x = 'aa' %}" + "{% set x = x ~ x %}\n" * 40 + "{{ x|length }}", BYTES, 23),
    ("{% macro m(n) %}{{ m(n) }}{{ m(n) }}{% endmacro %}{{ m(1) }}", "", 1),
    (
        "{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(60) }}",
        STEPS,
        1,
    ),
    (
        "{% set x %}{% for a in range(99) %}" + "y" * 100_000 + "{% endfor %}{% endset %}{{ x }}",
        "",
        1,
    ),
    ("{% for a in range(9999) %}" + "y" * 10_000 + "{% endfor %}", BYTES, 1),
    ("{% for a in range(9) recursive %}{{ loop(range(9)) }}{% endfor %}", "", 1),
    ("{% for a in range(9999) if [1]*9999 %}{{ a }}{% endfor %}", STEPS, 1),
    (
        "{% macro m() %}{{ varargs|length }}{% endmacro %}"
        "{% for a in range(999) %}{{ m(*range(9999)) }}{% endfor %}",
        STEPS,
        1,
    ),
    (
        "{% for a in range(99) %}{% for b in range(9999) %}{{ loop.changed([1]*9999) }}{% endfor %}"
        "{% endfor %}",
        STEPS,
        1,
    ),
]


@pytest.mark.parametrize(("prompt", "bound", "line"), PROMPTS)
def test_a_prompt_that_would_take_a_worker_fails_by_name_and_line(
    prompt: str, bound: str, line: int
) -> None:
    with pytest.raises(TemplateFailed) as raised:
        fill_text(prompt, {})
    if bound:
        assert isinstance(raised.value, EvaluationLimitExceeded)
        assert raised.value.bound == bound
    if "\n" in prompt:
        assert f" in line {line}:" in str(raised.value)


HOSTILE: dict[str, object] = {"context": hostile_context()}


MAX_MEMORY = 64_000_000
"""Bytes that one evaluation may have in use at once, beside the values that it is given."""
MAX_CPU = 1.0
"""Seconds; ten times what is promised, which no machine can blame on its load."""
MAX_CALLS = 20 * MAX_STEPS
"""Calls of functions, also of those in C: the same number on every machine."""


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**40), st.booleans())
def test_random_expressions_over_hostile_values_end_within_their_bounds_or_fail_by_name(
    seed: int, as_prompt: bool
) -> None:
    random = Random(seed)
    written = hostile_prompt(random) if as_prompt else f"{{{{ {hostile_expression(random)} }}}}"

    def evaluate() -> None:
        names = Names(HOSTILE, EvaluationMeter())
        with suppress(TemplateFailed):
            _ = fill_text(written, names) if as_prompt else fill(written, names)
        assert 0 <= names.meter.steps_left <= MAX_STEPS
        assert 0 <= names.meter.bytes_left <= MAX_BYTES

    assert cpu_seconds(evaluate, MAX_CPU) < MAX_CPU
    assert function_calls(evaluate) <= MAX_CALLS
    assert peak_bytes(evaluate) <= MAX_MEMORY


@pytest.mark.parametrize(
    "expression",
    [
        "t | sort",
        "t | unique | list",
        "t | min",
        "t | max",
        "t | groupby(0)",
        "{'a': t[0], 'b': t[1], 'c': t[2], 'd': t[3]} | dictsort(by='value')",
    ],
)
def test_keys_in_lower_case_take_no_more_memory_than_the_budget_has(expression: str) -> None:
    """Each is a copy of a text; a list may hold one text ten thousand times."""
    text = "{% set t = ['a' * 99999] * 999 %}{{ (" + expression + ") | length }}"

    def evaluate() -> None:
        with suppress(EvaluationLimitExceeded):
            fill_text(text, {})

    assert peak_bytes(evaluate) <= MAX_MEMORY


@pytest.mark.parametrize(
    ("amounts", "refused"),
    [
        ((1.0, 0), TypeError),
        ((0, 0.5), TypeError),
        ((True, 0), TypeError),
        ((0, False), TypeError),
        ((math.nan, 0), TypeError),
        ((0, math.nan), TypeError),
        ((-math.inf, 0), TypeError),
        ((-1, 0), ValueError),
        ((0, -1), ValueError),
    ],
)
def test_a_meter_charges_whole_numbers_only(
    amounts: tuple[Any, Any], refused: type[Exception]
) -> None:
    """NaN compares as less than nothing, so that no budget would ever end."""
    meter = EvaluationMeter()
    with pytest.raises(refused):
        meter.charge(*amounts)
    assert (meter.steps_left, meter.bytes_left) == (MAX_STEPS, MAX_BYTES)


@pytest.mark.parametrize("width", ["1.5", "-1e9", "1e308", "(1e308*1e9 - 1e308*1e9)", "'9'"])
def test_text_is_wrapped_at_whole_numbers_only(width: str) -> None:
    """A width that is no number at all would wrap for ever."""
    with pytest.raises(TemplateFailed, match="the width of a line is a whole number"):
        fill("{{ ('a ' * 99) | wordwrap(" + width + ") }}", {})


def test_all_templates_of_one_value_share_one_budget() -> None:
    text: JsonValue = "{{ range(60000) | list | length }}"
    twice: JsonValue = [text, text]
    assert fill(twice, {}) == [60_000] * 2
    with pytest.raises(EvaluationLimitExceeded) as raised:
        fill({"a": twice, "b": {"c": twice}}, {})
    assert raised.value.bound == STEPS


def test_templates_with_the_same_names_share_one_budget() -> None:
    names = Facts(context={}).names()
    text = "{{ range(90000) | list | length }}"
    fill(text, names)
    fill(text, names)
    with pytest.raises(EvaluationLimitExceeded):
        fill(text, names)


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{{ context.l | map(attribute='n') | sum }}", 499_500),
        ("{{ context.l | selectattr('n', 'gt', 997) | map(attribute='n') | list }}", [998, 999]),
        ("{{ context.t | replace('a', 'b') | upper | length }}", 400_000),
        ("{{ context.t.split() | length }}", 1),
        ("{{ (context.t ~ context.t) | length }}", 800_000),
        ("{{ (context.l | tojson) | length > 1000 }}", True),
        ("{{ context.l | sort(attribute='n', reverse=true) | first }}", {"n": 999}),
        ("{{ 999 in context.l | map(attribute='n') | list }}", True),
        ("{{ '%05.1f|%s' | format(2.25, [1, 'a']) }}", '002.2|[1, "a"]'),
        (
            "{{ 12345678901234567890 * 98765432109876543210 }}",
            12345678901234567890 * 98765432109876543210,
        ),
    ],
)
def test_ordinary_work_on_much_data_is_done(template: str, filled: JsonValue) -> None:
    context: Json = {"l": [{"n": n} for n in range(1000)], "t": "a" * 400_000}
    assert fill(template, {"context": context}) == filled


def test_a_prompt_over_many_items_is_rendered() -> None:
    text = "{% for f in context.files %}{{ loop.index }}. {{ f.name }}: {{ f.text }}\n{% endfor %}"
    files: JsonValue = [{"name": f"f{n}.py", "text": "x = 1"} for n in range(3000)]
    assert fill_text(text, {"context": {"files": files}}).count("\n") == 3000


LARGE: Json = {"text": "ab" * 500_000, "rows": [[n, n] for n in range(20_000)], "row": [1, [2, 3]]}

TOO_DEAR: list[tuple[Operator, str, Any]] = [
    ("matches", "text", "(a{1,30}){1,30}b"),
    ("matches", "text", "[ab]*a[ab]{20}c"),
    ("contains", "rows", [[0] * 1000]),
    ("contains_any", "rows", [[n, 0] for n in range(1000)]),
    ("contains_all", "text", ["ba" * 40 + "c"] * 100),
    ("in", "row", [[n, [n]] for n in range(60_000)]),
    ("equals", "rows", [[n, n] for n in range(200_000)]),
]


@pytest.mark.parametrize(("operator", "field", "value"), TOO_DEAR)
def test_a_condition_that_would_take_long_is_given_up_with_its_place(
    operator: Operator, field: str, value: JsonValue
) -> None:
    condition = ContextField(context_field=field, operator=operator, value=value)
    with pytest.raises(EvaluationLimitExceeded, match=f"condition context.{field} {operator}"):
        holds(condition, Facts(context=LARGE))


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_takes_an_ordinary_text(operator: Operator) -> None:
    condition = ContextField(context_field="text", operator=operator, value="b" * 20)
    assert holds(condition, Facts(context={"text": "a" * 100_000})) in (True, False)


@pytest.mark.parametrize("combined", [AllOf, AnyOf])
def test_all_parts_of_a_condition_share_one_budget(combined: type[AllOf | AnyOf]) -> None:
    goes_on = combined is AllOf
    text = "{{ (range(50000) | list | length > 5) == " + str(goes_on).lower() + " }}"
    parts: tuple[Condition, ...] = (Expression(expression=text),) * 4
    key = "and" if goes_on else "or"
    with pytest.raises(EvaluationLimitExceeded):
        holds(combined.model_validate({key: parts}), Facts(context={}))


def test_all_rules_and_updates_of_a_routing_share_one_budget() -> None:
    never = Expression(expression="{{ range(50000) | list | length < 5 }}")
    rules = tuple(Rule(condition=never, next_team=None) for _ in range(5))
    team = Team(id="t", steps=(), routing=Routing(rules=rules, default="x"))
    with pytest.raises(EvaluationLimitExceeded):
        choose(team, Facts(context={}))


@given(json_values, st.integers(4, 40))
def test_a_brief_value_begins_as_the_whole_one_does(value: JsonValue, most: int) -> None:
    whole = json.dumps(value, ensure_ascii=False)
    cut = whole if len(whole) <= most else f"{whole[: most - 3]}..."
    assert brief(value, most) == cut


def test_a_brief_value_looks_only_at_the_beginning() -> None:
    rows: JsonValue = [["x" * 1000, n] for n in range(20_000)]
    assert len(json.dumps(beginning(rows, 60))) < 5_000


def test_the_plan_pins_the_budget() -> None:
    plan = Plan(name="p", entry_team="t", teams={}, evaluation=EvaluationBudget(steps=50))
    assert Plan.model_validate_json(plan.model_dump_json()).evaluation.steps == 50
    many: list[JsonValue] = [1] * 100
    facts = Facts(context={"l": many}, budget=plan.evaluation)
    assert fill("{{ context.l | first }}", facts.names()) == 1
    with pytest.raises(EvaluationLimitExceeded, match="more than 50 steps"):
        fill("{{ context.l | list }}", facts.names())


def test_the_defaults_of_the_budget_never_change() -> None:
    """They are left out of plans on the wire, so histories rely on them."""
    assert EvaluationBudget().model_dump() == {"steps": 200_000, "bytes": 20_000_000}


@pytest.mark.parametrize("wrong", [{"steps": 200_001}, {"bytes": 20_000_001}, {"steps": 0}])
def test_a_plan_cannot_widen_the_budget(wrong: Json) -> None:
    with pytest.raises(ValueError, match="evaluation"):
        Plan.model_validate({"name": "p", "entry_team": "t", "teams": {}, "evaluation": wrong})


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("{{ " + "1+" * 5000 + "1 }}", "more than 8,000 words of code"),
        ("{{ " + "+".join(["1"] * 70) + " }}", "nested too deeply"),
        ("{{ x" + "|upper" * 200 + " }}", "nested too deeply"),
        ("{{ " + "(" * 26 + "1" + ")" * 26 + " }}", "nested too deeply"),
        ("{% autoescape true %}{{ x }}{% endautoescape %}", "not part of the language"),
        ("{% set x.y = 1 %}", "not part of the language"),
    ],
)
def test_more_code_than_is_parsed_in_little_time_is_refused(text: str, refusal: str) -> None:
    with pytest.raises(BadTemplate, match=refusal):
        parse(text, statements=True)


def test_values_are_not_filled_deeper_than_json_is_read() -> None:
    deep: JsonValue = 1
    for _ in range(201):
        deep = [deep]
    names = Facts(context={}, tasks={"t": Outcome.succeeded(deep)}).names()
    with pytest.raises(TemplateFailed, match="nested deeper than 200"):
        fill("{{ [tasks.t] }}", names)


@pytest.mark.parametrize("name", [" charge", " each", " compare", " slice", " key"])
def test_no_template_reaches_the_filters_that_charge(name: str) -> None:
    with pytest.raises(TemplateFailed, match="there is no filter"):
        fill("{{ [-999999] | map('" + name + "') | list }}", {})
