"""The shipped teams and examples are without findings, and their inputs are what they explain."""

from pathlib import Path

import pytest

from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.dsl.analysis.findings import analysed, findings
from coterie.dsl.analysis.routes.team_graph import team_graph
from coterie.dsl.analysis.worst_case import bounded, worst_case
from coterie.dsl.analysis.worst_case_of_models import Terms
from coterie.dsl.logic.solver import Effort
from coterie.settings import load
from tests.support.documents.shipped import TEAMS, compiled
from tests.support.places import ROOT
from tests.unit.dsl.analysis.documents import compiled as document

EXAMPLES = ROOT / "examples" / "language"
DOCUMENTS = sorted(file for file in EXAMPLES.glob("*.yml") if ".test." not in file.name)
PROJECTS = sorted(
    file
    for file in (ROOT / "examples").glob("*/*.yml")
    if file.with_name(f"{file.stem}.test.yml").exists() and file.with_name("coterie.yml").exists()
)
INPUTS = {
    "agent_loop": {
        "goal": True,
        **dict.fromkeys(("workflow", "details", "planning", "reflection"), False),
        **dict.fromkeys(("max_iterations", "task_retries", "state", "planned"), False),
        **dict.fromkeys(("thought_history", "action_history", "learnings", "reflections"), False),
    },
    "coordinator": {
        "query": True,
        **dict.fromkeys(("strategy", "sources", "heuristics", "perceptions"), False),
        **dict.fromkeys(("retrieval", "plan_versions", "results", "tool_log", "completed"), False),
        **dict.fromkeys(("memory.short_term", "memory.banned_tools"), False),
        "memory.successful_tools": False,
        "end": False,
    },
    "development": {"requirement": True, "project": False},
    "implementation_review": {"requirement": True, "project": False},
    "judge": {"rubric": True, "work": True, "task": False, "votes": False, "heuristics": False},
    "requirements": {"request": True, "project": False},
    "research": {"question": True, "result": False},
    "test_automation": {"behaviour": True, "project": False},
    "tool_router": {
        **dict.fromkeys(("scope", "max_iterations", "grading", "history", "question"), False),
        **dict.fromkeys(("search_query", "guardrail", "iteration", "router_decision"), False),
        **dict.fromkeys(("calls", "tool_history", "seen", "sources", "answer"), False),
    },
}


@pytest.mark.parametrize("name", TEAMS)
def test_a_shipped_team_is_without_findings(name: str) -> None:
    assert findings(compiled(name).compiled) == []


@pytest.mark.parametrize("name", TEAMS)
def test_the_inputs_of_a_shipped_team_are_found(name: str) -> None:
    inputs = analysed(compiled(name).compiled).inputs
    assert {one.path: one.needed for one in inputs} == INPUTS[name]


@pytest.mark.parametrize("name", TEAMS)
def test_every_cost_of_a_shipped_team_is_bounded(name: str) -> None:
    done = compiled(name).compiled
    worst = worst_case(done, analysed(done), Terms({}, 20_000))
    assert worst.unbounded == ()
    assert bounded(worst.total.model_calls)
    assert (worst.message or worst.total).visits <= done.plan.limits.max_total_teams


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.stem)
def test_an_example_of_the_language_is_without_findings(file: Path) -> None:
    catalog = Catalog(load({}, EXAMPLES))
    assert findings(compile_located(catalog, catalog.locate(file.name))) == []


@pytest.mark.parametrize("file", PROJECTS, ids=lambda file: file.parent.name)
def test_an_example_project_is_without_findings(file: Path) -> None:
    catalog = Catalog(load({}, file.parent))
    assert findings(compile_located(catalog, catalog.locate(file.name))) == []


def many_rules(number: int) -> str:
    rules = "".join(
        f"      - {{ condition: {{ context_field: x, operator: ne, value: {n} }}, next_team: a }}\n"
        for n in range(number)
    )
    return f"a:\n  tasks: [WRITE]\n  routing:\n    rules:\n{rules}    default: null\n"


def test_a_document_of_any_size_costs_a_bounded_effort() -> None:
    plan = document(many_rules(400)).plan
    effort = Effort(left=2_000)
    graph = team_graph(plan, {"a": ()}, effort)
    assert effort.left > -400  # the last comparison may be with every earlier rule
    usable = [exit.usable for exit in graph.exits["a"]]
    assert usable[:3] == [True, True, False]  # whatever x is, one of the first two holds
    assert usable[-1]  # what was not looked at any more may be so
