"""An expression claims of each value exactly what a run finds, or nothing at all."""

import pytest
from pydantic import JsonValue

from coterie.dsl.errors import TemplateFailed
from coterie.dsl.evaluate.condition_evaluation import holds
from coterie.dsl.logic.solver import BITS, Effort, can_hold
from coterie.dsl.logic.translation import formula
from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.outcomes import Outcome
from tests.unit.dsl.analysis.test_conditions import ANY, VALUES, context, expression, status

COMPARED = (
    "context.x == 'a'",
    "'a' == context.x",
    "context['x'] != 'a'",
    "context.x == 0",
    "context.x != 1",
    "context.x == 3",
    "context.x == true",
    "context.x == none",
    "context.x in ['a', 1]",
    "context.x not in ['a', 1]",
    "context.x in ('b', 3)",
    "context.x in []",
    "context.x is defined",
    "context.x is undefined",
    "context.x is none",
    "context.x and context.x != 3",
    "not (context.x or context.x == 0)",
)
STRICT = (
    "context.x",
    "not context.x",
    "context.x > 0",
    "context.x >= 1",
    "context.x < 1",
    "context.x <= 0",
    "1 >= context.x",
    "context.x < 'b'",
)
OPAQUE = (
    "context.x > true",
    "context.x > none",
    "context.x in 'ab'",
    "context.x in [context.x]",
    "context.x == context.y",
    "context.x is string",
    "f(context.x) == 'a'",
    "'a' in context.y",
)
MISSING = "no value"
EVERY: list[JsonValue] = [MISSING, *VALUES]


def of_a_run(text: str, facts: Facts) -> tuple[bool, bool]:
    """Whether a run finds that the expression holds, or that it fails; neither if it cannot say."""
    try:
        found = holds(expression(f"{{{{ {text} }}}}"), facts)
    except TemplateFailed:
        return False, False
    return found, not found


def claimed(text: str, known: Condition) -> tuple[bool, bool]:
    """Whether the expression can hold, and can fail, where something else is known."""
    asked = expression(f"{{{{ {text} }}}}")
    true, false = (
        can_hold([formula(asked, one), formula(known)], ANY, Effort()) for one in (True, False)
    )
    return true, false


def facts_with(value: JsonValue) -> tuple[Facts, Condition]:
    """The facts with a value of `context.x`, and the condition that it is this value."""
    if value == MISSING:
        return Facts(context={}, tasks={}), context(False, "exists")
    return Facts(context={"x": value}, tasks={}), context(value)


@pytest.mark.parametrize("text", COMPARED)
def test_an_expression_claims_what_a_run_finds(text: str) -> None:
    for value in EVERY:
        facts, known = facts_with(value)
        found = of_a_run(text, facts)
        if any(found):
            assert claimed(text, known) == found, value


@pytest.mark.parametrize("text", STRICT)
def test_where_a_run_cannot_say_an_expression_can_neither_hold_nor_fail(text: str) -> None:
    for value in EVERY:
        facts, known = facts_with(value)
        assert claimed(text, known) == of_a_run(text, facts), value


@pytest.mark.parametrize("text", OPAQUE)
def test_an_expression_that_is_not_understood_claims_nothing(text: str) -> None:
    for value in EVERY:
        assert claimed(text, facts_with(value)[1]) == (True, True), value


ENDS = {
    "success": Outcome.succeeded({}),
    "failure": Outcome.failed("Failed", "it failed"),
    "skipped": Outcome.skipped(),
}


@pytest.mark.parametrize(
    "text",
    [
        "tasks.one.success",
        "not tasks.one.success",
        "tasks.one.status == 'failure'",
        "tasks.one.status != 'success'",
        "'skipped' == tasks.one.status",
        "tasks.one.status == 'done'",
        "tasks.one.status != 'done'",
    ],
)
def test_an_expression_about_a_task_claims_what_a_run_finds(text: str) -> None:
    for name in BITS:
        facts = Facts(context={}, tasks={"one": ENDS[name]})
        assert claimed(text, status("one", name)) == of_a_run(text, facts), name
