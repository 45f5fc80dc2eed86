"""The filters that rebuild JSON: what they return, what they refuse, what they charge."""

import json

import pytest
from hypothesis import given
from pydantic import JsonValue

from coterie.dsl.errors import EvaluationLimitExceeded, TemplateFailed
from coterie.dsl.model.evaluation_budget import EvaluationBudget, EvaluationMeter, Names
from coterie.dsl.templates.template_filling import fill
from tests.support.documents.strategies import json_objects, json_values

NAMES: dict[str, object] = {
    "m": {"a": 1, "b": {"c": 2, "d": 3}},
    "xs": [1, 2, 3, 2],
    "uses": [
        {"agent": "coder", "tokens": 3},
        {"agent": "tester", "tokens": 5},
        {"agent": "coder", "tokens": 4},
    ],
    "text": '{"status": "PASS", "scores": [1, 2.5, null]}',
}


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{ m | merge({'b': {'c': 9}}) }}", {"a": 1, "b": {"c": 9, "d": 3}}),
        ("{{ m | merge({'a': none}) }}", {"b": {"c": 2, "d": 3}}),
        ("{{ m | put('a.b', [1]) }}", {"a": 1, "b": {"c": 2, "d": 3}, "a.b": [1]}),
        ("{{ m | put('b', none) }}", {"a": 1, "b": None}),
        ("{{ xs | without(2) }}", [1, 3]),
        ("{{ xs | without([1, 3]) }}", [2, 2]),
        ("{{ [1, true, 0, false] | without(true) }}", [1, 0, False]),
        ("{{ [[1, true], [1, 1]] | without([[1, 1]]) }}", [[1, True]]),
        ("{{ m | without('a') }}", {"b": {"c": 2, "d": 3}}),
        ("{{ m | without(['a', 'b', 'z']) }}", {}),
        ("{{ ['a', 'b'] | zip([1, 2]) }}", [["a", 1], ["b", 2]]),
        ("{{ [[1], 2, [[3]]] | flatten }}", [1, 2, [3]]),
        ("{{ text | from_json }}", {"status": "PASS", "scores": [1, 2.5, None]}),
        ("{{ (text | from_json).status }}", "PASS"),
        ("{{ uses | sum_by('agent', 'tokens') }}", {"coder": 7, "tester": 5}),
        ("{{ [] | sum_by('agent', 'tokens') }}", {}),
    ],
)
def test_a_data_filter_returns_a_new_value(template: str, value: JsonValue) -> None:
    before = json.dumps(NAMES)
    assert fill(template, NAMES) == value
    assert json.dumps(NAMES) == before


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ xs | merge({}) }}", "merge takes mappings, not a list"),
        ("{{ m | merge('x') }}", "merge takes mappings, not a text"),
        ("{{ m | put(1, 2) }}", "put takes a text as key, not a number"),
        ("{{ 'text' | without('t') }}", "without takes a list or a mapping, not a text"),
        ("{{ xs | zip([1]) }}", "zip takes lists of the same length, not of 4 and 1"),
        ("{{ m | flatten }}", "flatten takes a list, not a mapping"),
        ("{{ m | from_json }}", "from_json takes a text, not a mapping"),
        ("{{ '{\"a\": }' | from_json }}", "from_json found no JSON at line 1, column 7"),
        ("{{ '[NaN]' | from_json }}", "from_json takes JSON, which has no NaN"),
        ("{{ '[1e999]' | from_json }}", "inf"),
        ('{{ \'{"a": 1, "a": 2}\' | from_json }}', "a key twice"),
        ("{{ uses | sum_by('agent', 'money') }}", "mappings with 'agent' and 'money'"),
        ("{{ uses | sum_by('tokens', 'tokens') }}", "groups by a text"),
        ("{{ uses | sum_by('agent', 'agent') }}", "adds numbers"),
    ],
)
def test_a_data_filter_refuses_what_it_cannot_use(template: str, said: str) -> None:
    with pytest.raises(TemplateFailed) as failure:
        fill(template, NAMES)
    assert said in str(failure.value)


@pytest.mark.parametrize(
    "template",
    [
        "{{ large | merge(large) }}",
        "{{ {} | put('k', large) }}",
        "{{ large | without('k0') }}",
        "{{ many | without(many) }}",
        "{{ many | zip(many) }}",
        "{{ [many] | flatten }}",
        "{{ text | from_json }}",
        "{{ uses | sum_by('k', 'n') }}",
    ],
)
def test_a_data_filter_charges_before_it_works(template: str) -> None:
    names: dict[str, object] = {
        "large": {f"k{n}": n for n in range(2000)},
        "many": list(range(2000)),
        "text": json.dumps(list(range(2000))),
        "uses": [{"k": str(n), "n": n} for n in range(2000)],
    }
    meter = EvaluationMeter(EvaluationBudget(steps=1500))
    with pytest.raises(EvaluationLimitExceeded) as failure:
        fill(template, Names(names, meter))
    assert failure.value.bound == "steps"


def test_from_json_refuses_a_text_that_is_nested_too_deep() -> None:
    text = "[" * 100_000 + "]" * 100_000
    with pytest.raises((TemplateFailed, EvaluationLimitExceeded)):
        fill("{{ text | from_json }}", {"text": text})


@given(json_values)
def test_from_json_reads_what_tojson_writes(value: JsonValue) -> None:
    assert fill("{{ value | tojson | from_json }}", {"value": value}) == value


@given(json_objects, json_values)
def test_put_then_without_leaves_the_other_keys(
    mapping: dict[str, JsonValue], x: JsonValue
) -> None:
    rest = {key: value for key, value in mapping.items() if key != "k"}
    assert fill("{{ m | put('k', x) | without('k') }}", {"m": mapping, "x": x}) == rest
