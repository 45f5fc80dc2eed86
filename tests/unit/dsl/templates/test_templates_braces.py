"""Prompts of the older syntax: `{name}` is an input or a field of the context."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.dsl.templates.brace_prompts import braces_to_template
from coterie.dsl.templates.template_filling import fill_text
from tests.support.documents.strategies import json_objects

NAMES = {"input": {"code": "print()"}, "context": {"code": "no", "goal": {"id": 7}, "n": 1}}


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("Review {code}.", "Review print()."),
        ("For {goal.id}: {n}", "For 7: 1"),
        ("{{literal}} {n}", "{literal} 1"),
        ('Answer {{"ok": true}} for {n}', 'Answer {"ok": true} for 1'),
        ("{not a name} {} { n } {1}", "{not a name} {} { n } {1}"),
        ("{n}{n}", "11"),
        ("100 % {%", "100 % {%"),
        ("{# no comment #}", "{# no comment #}"),
        ("no braces", "no braces"),
    ],
)
def test_single_braces_name_an_input_or_else_the_context(prompt: str, text: str) -> None:
    assert fill_text(braces_to_template(prompt, ["code"]), NAMES) == text


_PIECES = st.sampled_from(["{n}", "{{", "}}", "{", "}", "{%", "#", "\n", "'", '"', "\\", " x "])


def _read_left_to_right(prompt: str) -> str:
    text = ""
    while prompt:
        for written, means in (("{{", "{"), ("}}", "}"), ("{n}", "<n>"), (prompt[0], prompt[0])):
            if prompt.startswith(written):
                text += means
                prompt = prompt[len(written) :]
                break
    return text


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_braces_never_become_statements_or_calls(prompt: str) -> None:
    """Whatever is written, nothing changes but names in braces and doubled braces."""
    filled = fill_text(braces_to_template(prompt, []), {"context": {"n": "<n>"}})
    assert filled == _read_left_to_right(prompt)


@given(json_objects)
def test_values_with_braces_in_them_are_left_alone(value: dict[str, object]) -> None:
    value = {"said": "{n} {{ n }}", **value}
    filled = fill_text(braces_to_template("{x}", ["x"]), {"input": {"x": value}, "context": {}})
    assert "{n} {{ n }}" in filled
