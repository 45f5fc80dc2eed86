"""Declared outputs: what a run returns, and what a team gives to the step that runs it."""

import pytest
from pydantic import JsonValue

from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.views import TeamResult
from tests.support.compiling import plan_of, problems_of
from tests.support.simulation.stopping import stopped_everywhere, undisturbed

_DOCUMENT = """
orchestration:
  entry_team: main
  settings: {unit: pages}
  OUTPUT
  teams:
    main:
      tasks:
        - {name: call, team: count, input: {n: 2}, on_failure: continue}
        - {name: seen, type: set, values: {got: "{{ tasks.call.data }}"}}
      routing: {default: null, context_updates: {got: "{{ got }}"}}
    count:
      TEAM
      tasks: [{name: double, type: set, values: {n: "{{ context.n * 2 }}"}}]
      routing: {default: add}
    add:
      tasks: [{name: plus, type: set, values: {n: "{{ teams.count.tasks.double.data.n + 1 }}"}}]
      routing: {default: null, context_updates: {sum: "{{ n }}"}}
"""


def document(output: str = "", team: str = "") -> str:
    run = f"output: {output}" if output else ""
    return _DOCUMENT.replace("OUTPUT", run).replace("TEAM", f"output: {team}" if team else "")


async def ended(text: str) -> TeamResult:
    """The result of the run, which stops at any checkpoint without a difference."""
    first, _ = await undisturbed(plan_of(text), {}, lambda _: {})
    again, _ = await stopped_everywhere(plan_of(text), {}, lambda _: {})
    assert again == first
    return first


@pytest.mark.parametrize(
    ("output", "value"),
    [
        ('"{{ context.got.output.plus.n }}"', 5),
        ('"{{ context.got.output.plus.n }} {{ settings.unit }}"', "5 pages"),
        ('"{{ none }}"', None),
        ('{last: "{{ run.team }}", runs: "{{ run.teams_run }}", fixed: [1]}', {}),
        ('"{{ teams.main.tasks.seen.status }}"', "success"),
        ('"{{ routing.reason }}"', "no_rule_matched"),
    ],
)
async def test_a_run_returns_its_declared_output(output: str, value: JsonValue) -> None:
    wanted = value if value != {} else {"last": "main", "runs": 3, "fixed": [1]}
    assert (await ended(document(output))).output == wanted


async def test_without_a_declared_output_a_run_returns_the_data_of_its_last_team() -> None:
    result = await ended(document())
    assert isinstance(result.output, dict)
    assert set(result.output) == {"call", "seen"}


@pytest.mark.parametrize(
    ("team", "data"),
    [
        ('"{{ tasks.double.data.n }}"', 4),
        ('{both: "{{ [tasks.double.data.n, teams.add.tasks.plus.data.n] }}"}', {"both": [4, 5]}),
        ('"{{ context.sum }} {{ settings.unit }}"', "5 pages"),
        ('"{{ none }}"', None),
    ],
)
async def test_a_step_gets_the_output_of_its_team_over_the_whole_call(
    team: str, data: JsonValue
) -> None:
    assert (await ended(document(team=team))).context["got"] == data


async def test_a_team_output_that_cannot_be_rendered_is_a_named_failure_of_its_step() -> None:
    result = await ended(document('"{{ teams.main.tasks.call.error }}"', '"{{ context.nothing }}"'))
    assert isinstance(result.output, dict)
    assert result.output["type"] == "OutputFailed"
    message = str(result.output["message"])
    assert message.startswith("the output of team 'count' cannot be rendered: ")
    assert "context.nothing has no value" in message


async def test_a_run_output_that_cannot_be_rendered_fails_the_run_and_keeps_what_was_done() -> None:
    with pytest.raises(RunFailed, match="the output of the run cannot be rendered") as failed:
        await undisturbed(plan_of(document('"{{ context.nothing }}"')), {}, lambda _: {})
    result = failed.value.result
    assert (failed.value.type, result.end) == ("OutputFailed", "failed")
    assert isinstance(result.output, dict)
    assert set(result.output) == {"call", "seen"}


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ('"{{ tasks.seen.data }}"', "E207"),
        ('"{{ got }}"', "E207"),
        ('"{{ input.n }}"', "E207"),
        ('"{{ teams.nobody }}"', "E207"),
        ('"{{ settings.units }}"', "E207"),
        ('"{{ context. }}"', "E301"),
    ],
)
def test_a_run_output_that_names_what_it_cannot_see_is_a_problem(output: str, code: str) -> None:
    assert [problem.code for problem in problems_of(document(output))] == [code]


def test_a_team_output_sees_its_tasks_and_not_its_variables() -> None:
    assert problems_of(document(team='"{{ tasks.double.data }}"')) == ()
    assert [p.code for p in problems_of(document(team='"{{ n }}"'))] == ["E207"]
    assert [p.code for p in problems_of(document(team='"{{ tasks.seen }}"'))] == ["E207"]


def test_a_team_output_that_no_step_reads_is_a_warning() -> None:
    text = document().replace("    main:\n", "    main:\n      output: 1\n")
    assert [(p.code, p.path) for p in problems_of(text)] == [
        ("W517", "orchestration.teams.main.output")
    ]


def test_a_team_output_that_a_tool_reads_is_no_warning() -> None:
    text = document().replace("    main:\n", "    main:\n      output: 1\n")
    tools = "tools: { ask: { team: main } }\n"
    assert "W517" not in {problem.code for problem in problems_of(tools + text)}
