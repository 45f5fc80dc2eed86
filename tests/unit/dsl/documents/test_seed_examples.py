"""Every YAML example of the language's first description loads as it was written there.

`seed_examples/<name>.seed.txt` is an example as it was printed; `<name>.yml` is the same with the
lines that make a whole document of it.
"""

from collections.abc import Iterator

import pytest

from coterie.documents.product_capabilities import capabilities
from dsl.compile.compiler import Compiled, SourceText, compile_sources
from dsl.evaluate.context_updates import shown_writes
from dsl.evaluate.routing import choose
from dsl.model.conditions import AllOf, ContextField, TaskField, TaskStatus
from dsl.model.facts import Facts
from dsl.model.outcomes import Outcome
from dsl.model.plan import Plan
from dsl.model.steps import LoopStep, SetStep, SkillStep
from dsl.values import Json
from tests.support.places import DATA

FOLDER = DATA / "seed_examples"
NAMES = sorted(file.name.removesuffix(".seed.txt") for file in FOLDER.glob("*.seed.txt"))


def compiled(name: str) -> Compiled:
    text = (FOLDER / f"{name}.yml").read_text()
    source = SourceText(f"{name}.yml", text)
    return compile_sources([source], capabilities(), name=name)


def plan(name: str) -> Plan:
    return compiled(name).plan


def indented(lines: list[str]) -> Iterator[list[str]]:
    """The lines, shifted to the right by 0, 1, 2, ... columns."""
    for columns in range(13):
        yield [f"{' ' * columns}{line}" if line else "" for line in lines]


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_lines_stand_in_the_document_unchanged_and_in_order(name: str) -> None:
    example = (FOLDER / f"{name}.seed.txt").read_text().splitlines()
    document = (FOLDER / f"{name}.yml").read_text().splitlines()

    def contains(lines: list[str]) -> bool:
        rest = iter(document)
        return all(line in rest for line in lines)

    assert any(contains(lines) for lines in indented(example))


@pytest.mark.parametrize("name", NAMES)
def test_every_example_loads_without_a_problem(name: str) -> None:
    assert compiled(name).warnings == ()


def test_there_is_an_example_of_each_section() -> None:
    assert NAMES == ["limits", "personas", "routing", "team_limit"]


def test_personas_are_as_written() -> None:
    designer = plan("personas").personas["solution_designer_v1@solution.design_solution"]
    assert (designer.provider, designer.model) == ("anthropic", "claude-3-7-sonnet-20250219")
    assert designer.prompts == {"system": "You are a solution designer...", "solution": "..."}
    assert designer.temperature == 0  # the task's config over the persona's 1
    coder = plan("personas").personas["standard_coder_persona"]
    assert (coder.model, coder.temperature) == ("claude-3-opus-20240229", 0)
    assert plan("personas").legacy_agents == {"discovery": {"model": "claude-3-opus-20240229"}}


def test_the_execution_plan_is_as_written() -> None:
    steps = plan("personas").personas["standard_coder_persona"].execution_plan
    assert steps is not None
    first, loop, last = steps
    assert isinstance(first, SkillStep)
    assert (first.skill, first.output_variable) == (
        "SemanticIterator.initialize",
        "change_iterator",
    )
    assert isinstance(loop, LoopStep)
    assert (loop.iterate_on, loop.loop_variable) == ("{{change_iterator}}", "current_change_item")
    (apply,) = loop.body
    assert isinstance(apply, SkillStep)
    assert (apply.skill, apply.output_variable) == ("AssetManager.process_action", "apply_result")
    assert isinstance(last, SetStep)


def test_limits_are_as_written() -> None:
    limits = plan("limits").limits
    assert (limits.max_total_teams, limits.max_recursion_depth) == (30, 5)
    assert plan("team_limit").teams["engineering_team"].max_recursion_depth == 3


def test_conditions_are_as_written() -> None:
    routing = plan("routing").teams["review_team"].routing
    assert routing is not None
    conditions = [rule.condition for rule in routing.rules]
    evaluated = TaskStatus(task="impl_evaluator", status="success")
    rework = ContextField(
        context_field="review_outcome.needs_rework", operator="equals", value=False
    )
    assert conditions == [
        TaskField(task="impl_evaluator", output_field="status", operator="equals", value="FAIL"),
        AllOf.model_validate({"and": (evaluated, rework)}),
        evaluated,
    ]


SUCCESS = Outcome.succeeded({"status": "PASS"})


@pytest.mark.parametrize(
    ("outcome", "context", "next_team"),
    [
        (Outcome.succeeded({"status": "FAIL"}), {}, "correction_wo_generator_team"),
        (SUCCESS, {"review_outcome": {"needs_rework": False}}, None),
        (SUCCESS, {"review_outcome": {"needs_rework": True}}, "manual_approval"),
        (SUCCESS, {}, "manual_approval"),
        (Outcome.failed("Timeout", "too late"), {}, "handle_evaluation_error"),
    ],
)
def test_the_routing_example_goes_where_its_comments_say(
    outcome: Outcome, context: Json, next_team: str | None
) -> None:
    team = plan("routing").teams["review_team"]
    route = choose(team, Facts(context=context, tasks={"impl_evaluator": outcome}))
    assert route.next_team == next_team


def test_the_recursion_example_names_the_next_work_order() -> None:
    team = plan("routing").teams["correction_wo_generator_team"]
    tasks = {"generate_wo": Outcome.succeeded({"text": "WO-7"})}
    route = choose(team, Facts(context={"current_work_order_id": "WO-6"}, tasks=tasks))
    assert (route.next_team, shown_writes(route.writes)) == (
        "engineering_team",
        {"current_work_order_id": "WO-7"},
    )
