"""A run goes the same way in whichever workflow task it has to continue as new."""

import os
from typing import get_args

import pytest

from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import StepKind
from coterie.dsl.model.traversal.step_walk import walk
from coterie.workflows.temporal.durable_scope import OVERDUE_EVENTS
from tests.support.engine import plan_of
from tests.support.simulation.simulated_server import Task
from tests.support.simulation.suggested_plans import (
    AFTER,
    HEAD,
    LONG,
    SENT,
    SESSION,
    STEERED,
    STEERINGS,
    Scenario,
    ask,
    scenarios,
    wait,
)
from tests.support.simulation.suggested_runs import differences, lived, suggestions

SHARE = 1 if os.environ.get("SWEEP") == "all" else 17
"""One of so many scenarios is tried; `make chaos` tries them all."""
EVERY = (*scenarios(), Scenario("session", SESSION, SENT))
STEERED_RUNS = [Scenario(name, STEERED, sent) for name, sent in STEERINGS.items()]
TRIED = [one for number, one in enumerate(reversed(EVERY)) if number % SHARE == 0]


def goes_the_same_way(plan: Plan, scenario: Scenario) -> None:
    """Suggest to continue as new in each workflow task of a run, and compare."""
    alone = lived(plan, scenario.messages)
    assert alone.open_at_end == []
    assert "late" not in [effect.what for effect in alone.effects]
    for where, suggests in suggestions(sum(alone.tasks)):
        moved = lived(plan, scenario.messages, suggests)
        assert differences(alone, moved) == [], f"suggested {where}"


@pytest.mark.parametrize("scenario", TRIED, ids=[one.name for one in TRIED])
def test_a_run_goes_the_same_way_wherever_it_continues_as_new(scenario: Scenario) -> None:
    goes_the_same_way(plan_of(scenario.text), scenario)


@pytest.mark.parametrize("scenario", STEERED_RUNS, ids=[*STEERINGS])
def test_people_steer_a_run_the_same_way_wherever_it_continues_as_new(scenario: Scenario) -> None:
    goes_the_same_way(plan_of(scenario.text), scenario)


def test_the_scenarios_have_every_kind_of_step() -> None:
    found: set[str] = set()
    for scenario in EVERY:
        name = scenario.name
        if name == "session" or (
            name.startswith(("any", "graph: dur")) and " against a wait" in name
        ):
            plan = plan_of(scenario.text)
            plans = [team.steps for team in plan.teams.values()]
            plans += [one.execution_plan or () for one in plan.personas.values()]
            found |= {step.kind for steps in plans for step, _ in walk(steps, ())}
    assert found == set(get_args(StepKind))


BESIDE_A_CALL = """    work:
      tasks:
        - name: both
          type: parallel
          branches: { calls: [CALL], other: [OTHER] }
        - AFTER
"""


def beside_a_call(other: str) -> Plan:
    """A plan in which a call of 50 seconds runs beside something else."""
    text = BESIDE_A_CALL.replace("CALL", ask("call_50")).replace("OTHER", other)
    return plan_of(HEAD + text.replace("AFTER", AFTER))


def from_the_second(task: Task) -> bool:
    """Suggest from the second workflow task of the first history on."""
    return task.part == 1 and task.number >= 2


TICK = wait("tick", "1s")
LIMITED = (
    f"{{ name: limited, type: block, timeout: 10s, on_failure: continue, steps: [{TICK}, {LONG}] }}"
)


def test_steps_begin_while_a_call_runs_although_the_run_has_to_continue_as_new() -> None:
    plan = beside_a_call(f"{TICK}, {ask('next')}")
    moved = lived(plan, suggests=from_the_second)
    assert [(one.at, one.what) for one in moved.effects] == [
        (0.0, "call_50"),
        (1.0, "next"),
        (50.0, "after"),
    ]
    assert len(moved.tasks) == 2


def test_no_step_begins_while_a_call_runs_in_a_history_that_is_too_long() -> None:
    plan = beside_a_call(f"{TICK}, {ask('next')}")
    moved = lived(plan, suggests=from_the_second, earlier_events=OVERDUE_EVENTS)
    assert [(one.at, one.what) for one in moved.effects] == [
        (0.0, "call_50"),
        (50.0, "next"),
        (50.8, "after"),
    ]
    assert len(moved.tasks) == 2


@pytest.mark.parametrize("events", [0, OVERDUE_EVENTS])
def test_a_time_limit_holds_while_a_call_keeps_the_run_in_its_history(events: int) -> None:
    """In a history that is too long, the steps within stand still, and so does their limit."""
    plan = beside_a_call(LIMITED)
    moved = lived(plan, suggests=from_the_second, earlier_events=events)
    ended = next(at for at, what in moved.trail if "both/other/limited failure" in what)
    assert ended == (10.0 if events == 0 else 59.0)


@pytest.mark.parametrize("events", [0, OVERDUE_EVENTS])
def test_a_race_is_decided_while_a_call_keeps_the_run_in_its_history(events: int) -> None:
    race = (
        f"{{ name: race, type: parallel, join: any, branches: {{ wins: [{wait('win', '2s')}], "
        f"waits: [{LONG}], ticks: [{wait('ticked', '1s')}, {wait('ticks', '9h')}] }} }}"
    )
    moved = lived(beside_a_call(race), suggests=from_the_second, earlier_events=events)
    decided = next(at for at, what in moved.trail if "both/other/race success" in what)
    assert decided == 2.0
