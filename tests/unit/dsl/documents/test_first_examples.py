"""Files in the shapes of the language's first description load as they are written.

`first_examples/<name>.part.txt` is an example as a description prints it: quoted, commented, with
dots for what is left out, indented as its author liked. `<name>.yml` is the same with the lines
that make a whole document of it.
"""

from collections.abc import Iterator

import pytest

from coterie.documents.product_capabilities import capabilities
from coterie.dsl.compile.compiler import Compiled, SourceText, compile_sources
from coterie.dsl.evaluate.context_writes import shown_writes
from coterie.dsl.evaluate.routing import choose
from coterie.dsl.model.conditions import AllOf, ContextField, TaskField, TaskStatus
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import FunctionStep, LoopStep, SetStep
from coterie.dsl.values import Json
from tests.support.places import DATA

FOLDER = DATA / "first_examples"
NAMES = sorted(file.name.removesuffix(".part.txt") for file in FOLDER.glob("*.part.txt"))


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
    example = (FOLDER / f"{name}.part.txt").read_text().splitlines()
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
    writer = plan("personas").personas["headline_writer_v2@front_page.find_headline"]
    assert (writer.provider, writer.model) == ("anthropic", "claude-3-7-sonnet-20250219")
    assert writer.prompts == {"system": "You write headlines...", "headline": "..."}
    assert writer.temperature == 0  # the task's config over the persona's 1
    maker = plan("personas").personas["page_maker_persona"]
    assert (maker.model, maker.temperature) == ("", 0)  # it follows its plan, and asks no model
    assert plan("personas").legacy_agents == {"archive": {"model": "claude-3-opus-20240229"}}


def test_the_execution_plan_is_as_written() -> None:
    steps = plan("personas").personas["page_maker_persona"].execution_plan
    assert steps is not None
    first, loop, last = steps
    assert isinstance(first, FunctionStep)
    assert (first.skill, first.output_variable) == (
        "SemanticIterator.initialize",
        "page_iterator",
    )
    assert isinstance(loop, LoopStep)
    assert (loop.iterate_on, loop.loop_variable) == ("{{page_iterator}}", "page")
    (apply,) = loop.body
    assert isinstance(apply, FunctionStep)
    assert (apply.skill, apply.output_variable) == ("AssetManager.process_action", "written")
    assert isinstance(last, SetStep)


def test_limits_are_as_written() -> None:
    limits = plan("limits").limits
    assert (limits.max_total_teams, limits.max_recursion_depth) == (40, 6)
    assert plan("team_limit").teams["print_team"].max_recursion_depth == 2


def test_conditions_are_as_written() -> None:
    routing = plan("routing").teams["proof_team"].routing
    assert routing is not None
    conditions = [rule.condition for rule in routing.rules]
    evaluated = TaskStatus(task="proofreader", status="success")
    rework = ContextField(context_field="press_check.needs_reprint", operator="equals", value=False)
    assert conditions == [
        TaskField(task="proofreader", output_field="verdict", operator="equals", value="REJECT"),
        AllOf.model_validate({"and": (evaluated, rework)}),
        evaluated,
    ]


SUCCESS = Outcome.succeeded({"verdict": "PRINT"})


@pytest.mark.parametrize(
    ("outcome", "context", "next_team"),
    [
        (Outcome.succeeded({"verdict": "REJECT"}), {}, "errata_team"),
        (SUCCESS, {"press_check": {"needs_reprint": False}}, None),
        (SUCCESS, {"press_check": {"needs_reprint": True}}, "editor_in_chief"),
        (SUCCESS, {}, "editor_in_chief"),
        (Outcome.failed("Timeout", "too late"), {}, "stop_the_press"),
    ],
)
def test_the_routing_example_goes_where_its_comments_say(
    outcome: Outcome, context: Json, next_team: str | None
) -> None:
    team = plan("routing").teams["proof_team"]
    route = choose(team, Facts(context=context, tasks={"proofreader": outcome}))
    assert route.next_team == next_team


def test_the_recursion_example_names_the_next_edition() -> None:
    team = plan("routing").teams["errata_team"]
    tasks = {"list_errata": Outcome.succeeded({"text": "late"})}
    route = choose(team, Facts(context={"edition": "early"}, tasks=tasks))
    assert (route.next_team, shown_writes(route.writes)) == (
        "print_team",
        {"edition": "late"},
    )
