"""Every persona of every shipped team may fail, answer prose, or leave out what is optional."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import get_args

import pytest
from jinja2 import Environment, nodes
from pydantic import JsonValue

from coterie.dsl.model.outcomes import Failure
from coterie.dsl.values import Json
from coterie.workflows.core.causes.step_causes import Failed
from tests.support.documents.shipped import TEAMS, compiled, model_calls
from tests.support.simulation.persona_faults import (
    FAILS,
    PROSE,
    REFUSAL,
    Fault,
    OneFault,
    faulty_run,
)
from tests.support.simulation.skipping import Skipped

BROKEN_PLANS = {
    "TemplateFailed",
    "NotAList",
    "NoRoute",
    "ContextUpdateFailed",
    "ContextConflict",
    "InvalidContext",
    "InvalidArguments",
    "InvalidBound",
}
"""Failures of the plan itself: no answer of a model excuses them."""


@dataclass(frozen=True)
class Scenario:
    """What leads a team past all its personas."""

    context: Json
    wanted: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Values of answers, by key."""
    results: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Results of tool functions."""
    message: str | None = None
    approves: bool = True
    """Whether a person approves at once, or nobody decides in time."""


def planned_tasks(**more: JsonValue) -> list[JsonValue]:
    names = ("m1", "m2", "m3")
    return [{"id": name, "description": "Do it.", "dependencies": [], **more} for name in names]


PLANNED = planned_tasks(required_tools=[], estimated_complexity="low", fallback="ask")
ADDED = planned_tasks(fallback="skip")
PASSAGE: Json = {
    "path": "a.md",
    "start_line": 1,
    "end_line": 1,
    "text": "T",
    "title": "A",
    "score": 1,
}
MEMORY: Json = {
    "id": "a",
    "topic": "answers",
    "text": "T",
    "score": 1,
    "created": "2030-01-01T00:00:00Z",
}
STEP: Json = {
    "tool": "calculator",
    "arguments": '{"expression": "1 + 1"}',
    "description": "Add the numbers",
    "expected_outcome": "a number",
}
PROJECT: Json = {
    "request": "Add a discount.",
    "requirement": "Add a discount.",
    "behaviour": "Discounts.",
    "project": ".",
}
SCENARIOS: Mapping[str, tuple[Scenario, ...]] = {
    "agent_loop": (
        Scenario({"goal": "Tidy up"}, {"success_assessment": True, "tasks": PLANNED}),
        Scenario(
            {"goal": "Tidy up", "planned": planned_tasks(fallback="simplify"), "task_retries": 0},
            {"success_assessment": False},
        ),
        Scenario(
            {"goal": "Tidy up", "planning": False},
            {"success_assessment": True, "plan_adjustments": ADDED},
        ),
        Scenario(
            {"goal": "Tidy up", "planned": [{"description": "One."}, {"description": "Two."}]},
            {"success_assessment": False},
            approves=False,
        ),
    ),
    "coordinator": (
        Scenario(
            {"query": "Add one and one"},
            {"steps": [STEP], "is_acceptable": True, "requires_human_input": False},
            {"Memory.search": {"memories": [MEMORY]}},
        ),
        Scenario(
            {"query": "Add one and one", "strategy": "exploratory"},
            {"steps": [STEP, STEP], "is_acceptable": False, "requires_human_input": False},
        ),
    ),
    "judge": (Scenario({"rubric": "It is short.", "work": "Yes."}),),
    "research": (Scenario({"question": "What does it cost?"}),),
    "tool_router": (
        Scenario({}, {"score": 90}, {"Retriever.search": {"passages": [PASSAGE]}}, "How?"),
        Scenario({}, {"score": 90}, {"Retriever.search": {"passages": []}}, "How?"),
        Scenario({}, {"score": 10}, message="Who won the cup?"),
    ),
    "development": (
        Scenario(PROJECT, {"status": "PASS"}),
        Scenario(PROJECT, {"status": "FAIL"}),
        Scenario(PROJECT, results={"AssetManager.apply_changes": FAILS}),
    ),
    "implementation_review": (
        Scenario(PROJECT, {"status": "PASS"}),
        Scenario(PROJECT, {"status": "FAIL"}),
    ),
    "requirements": (Scenario(PROJECT),),
    "test_automation": (Scenario(PROJECT),),
}

CAUSES: Mapping[Fault, str] = {"fails": REFUSAL, "prose": PROSE, "minimal": ""}
"""What the message of a run says that ends because of the fault."""


def personas(team: str) -> set[str]:
    calls = model_calls(compiled(team).compiled.plan)
    return {step.persona_key.partition("@")[0] for _, step, _ in calls}


@cache
def runs_of(team: str, persona: str, fault: Fault) -> tuple[tuple[Skipped, frozenset[str]], ...]:
    """The runs of all scenarios of a team; each with the personas that were asked."""
    plan, found = compiled(team).compiled.plan, list[tuple[Skipped, frozenset[str]]]()
    for given in SCENARIOS[team]:
        model = OneFault(plan, persona, fault, given.wanted)
        run = faulty_run(
            plan, given.context, model, given.results, given.message, approves=given.approves
        )
        found.append((run, frozenset(model.asked)))
    return tuple(found)


def failures(run: Skipped) -> list[tuple[str | None, Failure]]:
    return [
        (entry.step, entry.cause.failure)
        for entry in run.state.trail
        if isinstance(entry.cause, Failed)
    ]


CASES = [
    (team, persona, fault)
    for team in TEAMS
    for persona in sorted(personas(team))
    for fault in get_args(Fault)
]


@pytest.mark.parametrize("team", TEAMS)
def test_the_scenarios_of_a_team_ask_each_of_its_personas(team: str) -> None:
    asked = [asked for _, asked in runs_of(team, "", "minimal")]
    assert frozenset().union(*asked) == personas(team)


@pytest.mark.parametrize(("team", "persona", "fault"), CASES)
def test_no_answer_of_a_persona_breaks_the_plan_and_a_failed_run_names_the_cause(
    team: str, persona: str, fault: Fault
) -> None:
    usual = runs_of(team, "", "minimal")
    runs = usual if fault == "minimal" else runs_of(team, persona, fault)
    assert any(persona in asked for _, asked in runs)
    for (run, _), (other, _) in zip(runs, usual, strict=True):
        broken = [(step, one) for step, one in failures(run) if one.type in BROKEN_PLANS]
        assert broken == []
        if run.error and not other.error:
            assert run.result.error is not None
            said = [run.result.error.message]
            if run.result.end != "failed":  # the person has it tried again until a limit ends it
                said = [one.message for _, one in failures(run)]
            assert any(CAUSES[fault] in message for message in said)


@pytest.mark.parametrize("team", TEAMS)
def test_every_inline_if_of_a_shipped_prompt_has_an_else(team: str) -> None:
    for name, persona in compiled(team).compiled.plan.personas.items():
        for text in persona.prompts.values():
            found = Environment().parse(text).find_all(nodes.CondExpr)
            assert all(one.expr2 is not None for one in found), name
