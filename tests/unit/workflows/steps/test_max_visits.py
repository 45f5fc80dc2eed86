"""`max_visits`: a bound per visit of another team, after which a third one runs instead."""

import pytest

from coterie.dsl.analysis.findings import analysed
from coterie.dsl.analysis.worst_case import worst_case
from coterie.dsl.analysis.worst_case_of_models import Terms
from coterie.dsl.errors import InvalidPlan
from coterie.dsl.model.plan import MaxVisits
from coterie.dsl.values import Json
from coterie.graph.picture import picture
from coterie.graph.taken_path import walk_of
from coterie.rendering.plan_text import plan_text
from coterie.workflows.core.causes.trail_because import trail_because
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.state import RunState
from coterie.workflows.interpreter import run
from tests.support.compiling import compiled, plan_of, problems_of
from tests.support.simulation.stopping import (
    StoppingScope,
    World,
    fresh,
    stopped_everywhere,
    undisturbed,
)

_DOCUMENT = """
orchestration:
  entry_team: question
  max_total_teams: 60
  max_recursion_depth: 3
  teams:
    question:
      max_recursion_depth: 4
      tasks: [{name: next, type: set, values: {left: "{{ context.left - 1 }}"}}]
      routing:
        rules: [{condition: "{{ left >= 0 }}", next_team: router, context_updates: {left: "{{ left }}"}}]
        default: null
    router:
      max_visits: {per: question, limit: 2, then: answer}
      tasks: [{name: decide, type: set, values: {x: 1}}]
      routing: {default: search}
    search:
      max_recursion_depth: 20
      tasks: [{name: look, type: set, values: {x: 1}}]
      routing: {default: router}
    answer:
      tasks: [{name: why, type: set, values: {reason: "{{ routing.reason }}", from: "{{ routing['from'] }}"}}]
      routing: {default: question, context_updates: {seen: "{{ reason }} from {{ from }}"}}
"""  # noqa: E501

_QUESTION = ["question", "router", "search", "router", "search", "answer"]


def changed(old: str, new: str) -> str:
    assert old in _DOCUMENT
    return _DOCUMENT.replace(old, new)


async def path(text: str, context: Json) -> tuple[list[str], RunState]:
    """The teams in the order of their visits; the run stops at any checkpoint on the way."""
    plan = plan_of(text)
    state = fresh(plan, context)
    first = await run(StoppingScope(plan, state, World(lambda _: {}), None))
    again, _ = await stopped_everywhere(plan, context, lambda _: {})
    assert again == first
    return [entry.team for entry in state.trail if entry.kind == "team"], state


async def test_the_limit_counts_for_each_visit_of_the_other_team_also_across_histories() -> None:
    teams, state = await path(_DOCUMENT, {"left": 3})
    assert teams == [*_QUESTION * 3, "question"]
    assert state.visits["router"] == 6, "the run's max_recursion_depth of 3 does not count"
    assert state.main.context["seen"] == "max_visits from search"


async def test_the_trail_says_why_the_other_team_runs_and_the_graph_takes_its_arrow() -> None:
    _, state = await path(_DOCUMENT, {"left": 1})
    entry = next(entry for entry in state.trail if entry.team == "answer")
    words = "router has run 2 of 2 times since the latest visit of question"
    assert trail_because(entry.cause) == words
    walk = walk_of("run", "", [entry.to_entry() for entry in state.trail], over=True)
    assert len(walk.taken["router", "answer"]) == 1
    arrow = next(route for route in picture(plan_of(_DOCUMENT)).routes if route.kind == "bound")
    assert (arrow.team, arrow.targets) == ("router", ("answer",))
    assert walk.orders(arrow)


async def test_a_bound_team_may_lead_to_another_bound_team() -> None:
    text = changed("limit: 2, then: answer", "limit: 1, then: search").replace(
        "      max_recursion_depth: 20\n",
        "      max_visits: {per: question, limit: 2, then: answer}\n",
    )
    teams, _ = await path(text, {"left": 1})
    assert teams == ["question", "router", "search", "search", "answer", "question"]


async def test_visits_before_the_other_team_first_runs_count_too() -> None:
    text = changed("entry_team: question", "entry_team: router")
    teams, _ = await path(text, {"left": 0})
    assert teams == ["router", "search", "router", "search", "answer", "question"]


async def test_its_own_max_recursion_depth_still_bounds_a_team() -> None:
    text = changed(
        "limit: 2, then: answer}", "limit: 2, then: answer}\n      max_recursion_depth: 3"
    )
    with pytest.raises(RunFailed, match="Max recursion depth for team router exceeded"):
        await undisturbed(plan_of(text), {"left": 3}, lambda _: {})


async def test_a_plan_of_no_compiler_that_sends_the_run_in_a_circle_ends() -> None:
    plan = plan_of(_DOCUMENT)
    bound = MaxVisits(per="answer", limit=1, then="router")
    search = plan.teams["search"].model_copy(update={"max_visits": bound})
    circle = plan.teams["router"].model_copy(
        update={"max_visits": MaxVisits(per="answer", limit=1, then="search")}
    )
    plan = plan.model_copy(update={"teams": plan.teams | {"search": search, "router": circle}})
    with pytest.raises(RunFailed) as failed:
        await undisturbed(plan, {"left": 1}, lambda _: {})
    assert failed.value.type == InvalidPlan.__name__


@pytest.mark.parametrize(
    ("bound", "codes"),
    [
        ("{per: quest, limit: 2, then: answer}", ["E201"]),
        ("{per: question, limit: 2, then: nobody}", ["E201"]),
        ("{per: router, limit: 2, then: answer}", ["E107"]),
        ("{per: question, limit: 2, then: router}", ["E107"]),
        ("{per: question, limit: 0, then: answer}", ["E106"]),
        ("{per: question, limit: 2}", ["E102"]),
        ("{per: question, limit: 2, then: null}", ["E103"]),
    ],
)
def test_a_bound_that_leads_nowhere_is_a_problem(bound: str, codes: list[str]) -> None:
    text = changed("{per: question, limit: 2, then: answer}", bound)
    assert [problem.code for problem in problems_of(text)] == codes


def test_bounds_that_lead_in_a_circle_are_a_problem_each() -> None:
    text = changed(
        "      max_recursion_depth: 20\n",
        "      max_visits: {per: question, limit: 1, then: router}\n",
    ).replace("limit: 2, then: answer", "limit: 2, then: search")
    found = problems_of(text)
    assert [problem.code for problem in found] == ["E107", "E107"]
    assert "router -> search -> router" in found[0].message


def test_a_team_that_a_step_runs_has_no_such_bound() -> None:
    text = changed("{name: look, type: set, values: {x: 1}}", "{name: look, team: router}")
    (problem,) = problems_of(text)
    assert problem.code == "E107"
    assert "'look'" in problem.message


def test_the_analysis_counts_with_the_bound_and_takes_it_for_an_exit() -> None:
    done = compiled(_DOCUMENT)
    analysis = analysed(done)
    assert [problem.code for problem in analysis.findings] == []
    worst = worst_case(done, analysis, Terms({}, 1000))
    assert worst.teams["router"].visits == 8, "two for each of at most four questions"


def test_a_bound_whose_count_every_round_starts_anew_is_no_exit() -> None:
    text = changed("routing: {default: router}", "routing: {default: question}").replace(
        "        default: null\n", "        default: router\n"
    )
    codes = [problem.code for problem in analysed(compiled(text)).findings]
    assert "W506" in codes
    assert "W503" in codes, "so nothing comes to `answer`"


def test_the_text_of_a_plan_names_the_bound() -> None:
    assert "router  (at most 2 per visit of question, then answer)" in plan_text(plan_of(_DOCUMENT))
