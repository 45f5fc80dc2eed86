"""What has no value is an error that says what there is instead; nothing else escapes."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from coterie.dsl.errors import EvaluationLimitExceeded, TemplateFailed
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.templates.template import parse
from coterie.dsl.templates.template_filling import fill, fill_text
from coterie.dsl.templates.template_rules import BadTemplate
from tests.support.documents.strategies import json_objects, json_values

NAMES = {
    "context": {"order": {"id": 1, "total": 2}, "text": "t", "none": None},
    "tasks": {"check": Outcome.failed("Timeout", "slow")},
}


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (
            "{{ context.order.idd }}",
            "context.order.idd has no value (context.order has: id, total)",
        ),
        ("{{ contxt.order }}", "contxt.order has no value (here has: context, tasks)"),
        ("Dear {{ context.name }},", "context.name has no value (context has: none, order, text)"),
        ("{{ tasks.chek.data }}", "tasks.chek.data has no value (tasks has: check)"),
        ("{{ tasks.check.data.id }}", "tasks.check.data.id has no value"),
        ("{{ context.none.deep }}", "context.none.deep has no value"),
        ("{{ context.text.items }}", "context.text.items has no value"),
        ("{{ context.nope > 1 }}", "context.nope has no value"),
        ("{{ context.nope ~ 'x' }}", "context.nope has no value"),
        ("{{ [1, context.nope] }}", "context.nope has no value"),
        ("{{ context.nope() }}", "context.nope has no value"),
        ("{{ context.nope in [1] }}", "context.nope has no value"),
        ("{{ context.nope or 1 }}", "context.nope has no value"),
    ],
)
def test_an_undefined_name_is_an_error_that_says_what_there_is(template: str, message: str) -> None:
    with pytest.raises(TemplateFailed) as caught:
        fill(template, NAMES)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ context.order + 1 }}", "`+` does not take a mapping and a number"),
        ("{{ context.text() }}", "not callable"),
        ("{{ 'x' | int + 'y' }}", "`+` does not take a number and a text; `~` joins texts"),
        ("{{ [1] + 1 }}", "`+` does not take a list of numbers and a number"),
        ("{{ 1 + [1] }}", "`+` does not take a number and a list of numbers"),
        ("{{ 5 % 0 }}", "division by zero"),
        ("{{ -'a' }}", "`-` does not take a text"),
        ("{{ 'a' in 3 }}", "`in` does not take a text and a number"),
        ("{{ [] < none }}", "`<` does not take an empty list and null"),
        ("{{ 3 | join }}", "`join` does not take a number"),
        ("{{ '%d' | format('x') }}", "`format` does not take a text with a text"),
        ("{{ '%d' % 'x' }}", "`%` does not take a text and a text"),
        ("{{ 'a'.split(1) }}", "`split` does not take a text with a number"),
        ("{{ {}.get() }}", "`get` does not take a mapping"),
        ("{{ range('a') }}", "`range` does not take a text"),
        ("{{ [1][:'a'] }}", "a slice takes a text or a list, and whole numbers"),
        ("{{ {[1]: 2} }}", "a key of a mapping is a text, not a list of numbers"),
        ("{{ 'a' is divisibleby 2 }}", "`divisibleby` does not take a text and a number"),
        ("{{ 1 is divisibleby 0 }}", "division by zero"),
        ("{{ [1, 'a'] | sort }}", "`sort` does not take a list of numbers and texts"),
        ("{{ range }}", "not data"),
        ("{{ context.order.items }}", "context.order.items has no value"),
        ("{{ 1e308 * 10 }}", "inf is not a JSON number"),
        ("{{ range(1000000) }}", "Range too big"),
    ],
)
def test_evaluation_failure_names_the_template(template: str, message: str) -> None:
    with pytest.raises(TemplateFailed) as caught:
        fill(template, NAMES)
    assert message in str(caught.value)
    assert template in str(caught.value)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ context. }}", "expected name or number"),
        ("{{ context.a", "unexpected end of template"),
        ("{{ }}", "Expected an expression"),
        ("{{ " + "(" * 3000 + " }}", "nested too deeply"),
    ],
)
def test_a_template_that_is_none_fails_like_any_other(template: str, message: str) -> None:
    """A plan may come from elsewhere: what no compiler checked must not stop the interpreter."""
    with pytest.raises(BadTemplate, match=message):
        parse(template)
    with pytest.raises(TemplateFailed, match=message):
        fill(template, NAMES)
    with pytest.raises(TemplateFailed, match=message):
        fill_text(template, NAMES)


def test_the_line_of_a_mistake_counts_within_the_text() -> None:
    with pytest.raises(BadTemplate) as caught:
        parse("one\ntwo {{ context.a }}\nthree {{ context. }}\n")
    assert caught.value.line == 3


def test_a_long_template_is_named_by_its_beginning() -> None:
    with pytest.raises(TemplateFailed) as caught:
        fill("many words " * 30 + "{{ context.nope }}", NAMES)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(("length", "shown"), [(80, "{text}"), (81, "{text:.77}...")])
def test_a_template_of_eighty_characters_is_named_whole(length: int, shown: str) -> None:
    text = "{{ context.nope }}".rjust(length, "x")
    with pytest.raises(TemplateFailed) as caught:
        fill(text, NAMES)
    assert str(caught.value).startswith(f"{shown.format(text=text)}: ")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ nope }}", "{{ nope }}: nope has no value (here has: context, tasks)"),
        ("{{ context['x' ~ 'y'] }}", "{{ context['x' ~ 'y'] }}: a name in it has no value"),
        ("{{ 1 / 0 }}", "{{ 1 / 0 }} cannot be evaluated: division by zero"),
        ("a\nb {{ 1 / 0 }}", "a b {{ 1 / 0 }} cannot be evaluated in line 2: division by zero"),
        (
            "a\n\n{{ range(99999) | sum + (range(99999) | sum) }}",
            "a {{ range(99999) | sum + (range(99999) | sum) }} is given up in line 3: it takes "
            "more than 200,000 steps",
        ),
    ],
)
def test_a_failed_text_names_the_template_the_line_and_the_reason(
    template: str, message: str
) -> None:
    for use in (fill, fill_text):
        with pytest.raises((TemplateFailed, EvaluationLimitExceeded)) as caught:
            use(template, NAMES)
        assert str(caught.value) == message


def test_every_template_of_a_value_is_filled_and_all_else_stays() -> None:
    given: JsonValue = {"a": ["{{ 1 + 1 }}", 2.5, None, "plain"], "b": {"c": "{{ context.text }}"}}
    assert fill(given, NAMES) == {"a": [2, 2.5, None, "plain"], "b": {"c": "t"}}
    assert fill("{{ context.order }}", NAMES) is NAMES["context"]["order"]


def test_a_prompt_is_always_a_text() -> None:
    assert fill_text("plain", NAMES) == "plain"
    assert fill_text("{{ context.text }}", NAMES) == "t"
    assert fill_text("{{ [1, 'é'] }}", NAMES) == '[1, "é"]'
    assert fill_text("{% if context.none %}a{% else %}b{% endif %}", NAMES) == "b"


@pytest.mark.parametrize(
    ("owner", "name", "call"),
    [
        ("context.text", "swapcase", "()"),
        ("context.order", "pop", "('id')"),
        ("tasks.check", "root_error", ""),
    ],
)
def test_a_subscript_reaches_no_more_than_a_dot(owner: str, name: str, call: str) -> None:
    computed = f"['{name[:2]}' ~ '{name[2:]}']"
    for part in (f".{name}", f"['{name}']", computed):
        with pytest.raises(TemplateFailed):
            fill(f"{{{{ {owner}{part}{call} }}}}", NAMES)


def test_a_computed_subscript_reads_as_a_dot_does() -> None:
    assert fill("{{ context.order['to' ~ 'tal'] }}", NAMES) == 2
    assert fill("{{ context.text['up' ~ 'per']() }}", NAMES) == "T"
    assert fill("{{ tasks.check['err' ~ 'or']['ty' ~ 'pe'] }}", NAMES) == "Timeout"
    assert fill("{{ context.nope['a' ~ 'b'] | default(3) }}", NAMES) == 3


def test_a_macro_that_calls_itself_for_ever_is_an_error_and_no_crash() -> None:
    with pytest.raises(TemplateFailed, match="recursion"):
        fill_text("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", NAMES)


_TOKENS = st.sampled_from(
    [
        "context",
        ".",
        "order",
        "id",
        "tasks",
        "check",
        "[",
        "]",
        "(",
        ")",
        "0",
        "'x'",
        "+",
        "-",
        "*",
        "/",
        "%",
        "~",
        "|",
        "default",
        "length",
        "join",
        "sort",
        "tojson",
        "map",
        "first",
        "is",
        "defined",
        "none",
        "not",
        "in",
        "and",
        "or",
        "if",
        "else",
        ",",
        "==",
        "<",
        "{",
        "}",
        ":",
        " ",
        "range",
        "items",
        "nope",
        "loop",
        "self",
        "error",
        "**",
        "//",
        "replace",
        "upper",
    ]
)


@given(st.lists(_TOKENS, max_size=14).map("".join), json_objects)
def test_any_expression_gives_json_or_one_of_two_errors(
    expression: str, context: dict[str, JsonValue]
) -> None:
    with suppress(TemplateFailed):
        json.dumps(fill("{{ " + expression + " }}", {**NAMES, "context": context}))


@given(st.text(st.sampled_from("{}%#ab. '\n-"), max_size=30), json_values)
def test_any_text_at_all_is_a_template_or_is_refused(text: str, value: JsonValue) -> None:
    for use in (fill, fill_text):
        with suppress(TemplateFailed):
            json.dumps(use(text, {"a": value, "b": 1}))
