"""What each operation of an expression costs: a replay must spend exactly what the run spent."""

import re
from pathlib import Path

import pytest
import yaml

from coterie.dsl.errors import EvaluationLimitExceeded, TemplateFailed
from coterie.dsl.model.evaluation_budget import MAX_BYTES, MAX_STEPS, EvaluationMeter, Names
from coterie.dsl.templates.jinja_engine import ENVIRONMENT, MAPPING_METHODS, TEXT_METHODS
from coterie.dsl.templates.template_filling import fill, fill_text
from coterie.dsl.values import Json

TABLE: dict[str, tuple[int, int]] = yaml.safe_load(
    (Path(__file__).parents[3] / "data/evaluation_costs.yml").read_text()
)
"""Each expression or prompt, with the steps and the bytes that its evaluation takes."""

DATA: Json = {
    "text": "The quick brown fox jumps over the lazy dog.\n" * 60,
    "plain": "a" * 5000,
    "foreign": "Grüße aus Köln, <b>fett</b> &amp; groß\n" * 50,
    "tagged": "<p>one <b>two</b> &lt;three&gt;</p>\n" * 80,
    "rows": [{"n": n % 7, "name": f"row {n}", "in": {"deep": n}} for n in range(90)],
    "words": [f"word {n}" for n in range(120)],
    "numbers": [n * 3 for n in range(150)],
    "map": {f"key {n}": n for n in range(70)},
    "large": 7**900,
}


def evaluate(expression: str, meter: EvaluationMeter) -> None:
    """Evaluate an expression, or a prompt with statements."""
    names = Names(dict(DATA), meter)
    if "{%" in expression:
        fill_text(expression, names)
    else:
        fill("{{ " + expression + " }}", names)


def spent(expression: str) -> list[int]:
    """Evaluate an expression, and return the steps and bytes that it took."""
    meter = EvaluationMeter()
    evaluate(expression, meter)
    return [MAX_STEPS - meter.steps_left, MAX_BYTES - meter.bytes_left]


@pytest.mark.parametrize("expression", TABLE)
def test_an_expression_costs_what_recorded_runs_paid(expression: str) -> None:
    """A changed cost changes which runs exceed their budget, also when they are replayed."""
    assert spent(expression) == TABLE[expression]


def test_a_refused_operation_costs_what_it_was_charged_for() -> None:
    meter = EvaluationMeter()
    with pytest.raises(TemplateFailed, match="empty separator"):
        evaluate("text.split('')", meter)
    assert (MAX_STEPS - meter.steps_left, MAX_BYTES - meter.bytes_left) == (13, 2764)


@pytest.mark.parametrize(
    "name", sorted(name for name in ENVIRONMENT.filters if name.isidentifier())
)
def test_the_cost_of_every_filter_is_in_the_table(name: str) -> None:
    assert any(re.search(rf"\| {name}\b|map\('{name}'", one) for one in TABLE)


@pytest.mark.parametrize("name", sorted({*MAPPING_METHODS, *TEXT_METHODS}))
def test_the_cost_of_every_method_is_in_the_table(name: str) -> None:
    assert any(f".{name}(" in one for one in TABLE)


def test_a_budget_that_is_just_enough_is_enough() -> None:
    for expression, (steps, made) in TABLE.items():
        meter = EvaluationMeter()
        meter.charge(MAX_STEPS - steps, MAX_BYTES - made)
        evaluate(expression, meter)
        if steps:
            short = EvaluationMeter()
            short.charge(MAX_STEPS - steps + 1)
            with pytest.raises(EvaluationLimitExceeded):
                evaluate(expression, short)
