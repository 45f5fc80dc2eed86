"""A plan from anywhere is held together before it is run: what would never end is refused."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from coterie.dsl.errors import InvalidPlan, RunRefused
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.workflows.core.state import RunState
from coterie.workflows.handlers.start_checks import begin
from tests.support.compiling import plan_of
from tests.support.documents.documents import RICH

SET: Json = {"kind": "set", "name": "s", "values": {}}


def altered(change: Callable[[dict[str, Any]], object]) -> Plan:
    """A small plan with a change that no compiler makes, and without a digest."""
    data: dict[str, Any] = {
        "name": "p",
        "entry_team": "a",
        "teams": {"a": {"id": "a", "name": "a", "steps": [dict(SET)]}},
        "personas": {"p": {"provider": "scripted", "model": "m"}},
    }
    change(data)
    return Plan.model_validate(data)


def test_a_compiled_plan_begins_at_its_entry_team() -> None:
    state = RunState()
    begin(plan_of(RICH), state)
    assert state.main.team == "draft"


def with_step(step: Json) -> Plan:
    return altered(lambda data: data["teams"]["a"].update(steps=[step]))


def with_persona_step(step: Json) -> Plan:
    return altered(lambda data: data["personas"]["p"].update(execution_plan=[step]))


def nested(levels: int) -> Json:
    step: Any = SET
    for level in range(levels):
        step = {"kind": "loop", "name": f"l{level}", "iterate_on": [1], "body": [step]}
    return step


def routed(rule: Json) -> Plan:
    return altered(lambda data: data["teams"]["a"].update(routing={"rules": [rule]}))


BUDGET: Json = {"kind": "tokens", "limit": 1, "on_exceeded": "route", "next_team": "b"}
ASKS: Json = {"kind": "approval", "name": "ok", "prompt": "Good?"}
ALIKE = "the approvers 'ann' and .*nn' look alike"
GRAPH: Json = {
    "kind": "task_graph",
    "name": "g",
    "task_variable": "t",
    "tasks": [],
    "body": [SET],
}
AGENT: Json = {"kind": "agent", "name": "x", "agent_type": "generic_orchestrating"}


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (altered(lambda data: data.update(entry_team="b")), "the plan has no team 'b'"),
        (
            altered(lambda data: data["teams"]["a"].update(routing={"default": "b"})),
            "the plan has no team 'b'",
        ),
        (
            altered(
                lambda data: data["teams"]["a"].update(
                    routing={"rules": [{"next_team": ["a", "b"]}]}
                )
            ),
            "the plan has no team 'b'",
        ),
        (with_step({**AGENT, "persona_key": "q"}), "names a persona that the plan has not"),
        (with_persona_step({**AGENT, "persona_key": "q"}), "names a persona"),
        (with_persona_step({**AGENT, "persona_key": "p"}), "contains itself"),
        (with_step({"kind": "team", "name": "t", "team": "b"}), "names a team"),
        (
            with_step({"kind": "loop", "name": "l", "while": {"and": []}, "body": [SET]}),
            "the loop 'l' has no bound",
        ),
        (with_step(nested(40)), "nested more than 40 deep"),
        (altered(lambda data: data.update(on_cancel="b")), "the plan has no team 'b'"),
        (
            altered(lambda data: data["teams"]["a"].update(on_cancel="b")),
            "the plan has no team 'b'",
        ),
        (routed({"next_team": ["a", "a"], "concentrator": "b"}), "the plan has no team 'b'"),
        (routed({"next_team": "b"}), "the plan has no team 'b'"),
        (
            altered(
                lambda data: data["teams"].update(
                    c={"id": "c", "name": "c", "steps": [SET], "routing": {"default": "b"}}
                )
            ),
            "the plan has no team 'b'",
        ),
        (altered(lambda data: data.update(budgets=[BUDGET])), "the plan has no team 'b'"),
        (
            altered(lambda data: data["teams"]["a"].update(resets=["notes"])),
            "the team 'a' resets paths that the plan does not declare",
        ),
        (
            with_step({**GRAPH, "tasks": "{{ x }}"}),
            "the task graph 'g' has no bound",
        ),
        (
            with_step({**GRAPH, "add": "{{ x }}"}),
            "the task graph 'g' has no bound",
        ),
        (with_step({**ASKS, "approvers": ["ann", "\u0430nn"]}), ALIKE),
        (with_step({**ASKS, "approvers": ["ann", "ann\u200b"]}), "'ann' and .*200b' look alike"),
        (
            with_step(
                {
                    **ASKS,
                    "approvers": ["ann"],
                    "escalate": [{"after": 60, "to": ["\u0430nn"]}],
                }
            ),
            ALIKE,
        ),
        (
            altered(
                lambda data: data.update(
                    groups={"leads": ["ann", "\u0430nn"]},
                    egress_approval={"approvers": ["leads"]},
                )
            ),
            ALIKE,
        ),
        (altered(lambda data: data.update(groups={"leads": ["ann", "\u0430nn"]})), ALIKE),
        (altered(lambda data: data.update(groups={"ann": ["b"], "\u0430nn": ["c"]})), ALIKE),
        (altered(lambda data: data.update(groups={"ann": ["\u0430nn"]})), ALIKE),
    ],
)
def test_a_plan_that_does_not_hold_together_is_refused(plan: Plan, message: str) -> None:
    with pytest.raises(InvalidPlan, match=message):
        begin(plan, RunState())


@pytest.mark.parametrize(
    "plan",
    [
        with_step(SET),
        with_step(nested(39)),
        with_step({**AGENT, "persona_key": "p"}),
        with_step({"kind": "team", "name": "t", "team": "a"}),
        with_step({"kind": "loop", "name": "l", "iterate_on": [1], "body": [SET]}),
        with_step(GRAPH),
        routed({"next_team": "a"}),
        altered(lambda data: data["teams"]["a"].update(routing={"default": "a"})),
    ],
)
def test_a_plan_without_a_digest_is_taken_as_it_is(plan: Plan) -> None:
    state = RunState()
    begin(plan, state)
    assert state.main.team == "a"


def chained(personas: int) -> Plan:
    """A plan of personas, each with a plan that asks the next one."""
    below: dict[str, Any] = {f"p{personas - 1}": {"provider": "scripted", "model": "m"}}
    for level in range(personas - 1):
        step = {**AGENT, "persona_key": f"p{level + 1}"}
        below[f"p{level}"] = {"provider": "scripted", "model": "m", "execution_plan": [step]}
    return altered(lambda data: data.update(personas=dict(sorted(below.items()))))


def test_personas_ask_one_another_in_a_chain_of_at_most_41() -> None:
    begin(chained(41), RunState())
    with pytest.raises(InvalidPlan, match="without end"):
        begin(chained(42), RunState())


def test_a_persona_that_asks_itself_is_named() -> None:
    """Also where the chain of its calls is too short to be without end."""
    plan = with_persona_step({**AGENT, "persona_key": "p"})
    with pytest.raises(InvalidPlan, match="'p' contains itself"):
        begin(plan, RunState())


DECLARED = """
orchestration:
  context: {a: {type: integer, default: 1}}
  entry_team: work
  teams:
    work: {tasks: [{name: note, type: set, values: {n: 1}}]}
"""


@pytest.mark.parametrize(
    ("given", "expected"), [({}, {"a": 1}), ({"a": 2}, {"a": 2}), ({"a": "x"}, None)]
)
def test_the_context_of_a_start_has_what_the_plan_declares(
    given: Json, expected: Json | None
) -> None:
    plan = plan_of(DECLARED)
    state = RunState()
    state.main.context = given
    if expected is None:
        with pytest.raises(RunRefused):
            begin(plan, state)
    else:
        begin(plan, state)
        assert state.main.context == expected


def test_a_context_that_lacks_what_the_plan_needs_is_refused() -> None:
    plan = altered(lambda data: data.update(needs={"topic": "the topic"}))
    with pytest.raises(RunRefused, match="topic"):
        begin(plan, RunState())
    state = RunState()
    state.main.context = {"topic": "x"}
    begin(plan, state)
    assert state.main.context == {"topic": "x"}


def test_personas_that_share_plans_are_looked_at_once() -> None:
    """Forty personas, each twice in the one above: a million million ways, and no loop."""
    personas: dict[str, Any] = {}
    for level in range(40):
        below = [{**AGENT, "name": name, "persona_key": f"p{level + 1}"} for name in "xy"]
        personas[f"p{level}"] = {"provider": "scripted", "model": "m", "execution_plan": below}
    personas["p40"] = {"provider": "scripted", "model": "m"}
    begin(altered(lambda data: data.update(personas=personas)), RunState())


@pytest.mark.parametrize(
    "change",
    [
        {"api_base": "https://example.org"},
        {"personas": {"p": {"provider": "x", "model": "m", "api_base": "https://example.org"}}},
        {"personas": {"p": {"provider": "x", "model": "m", "timeout": 0}}},
        {"personas": {"p": {"provider": "x", "model": "m", "retries": 1000}}},
        {"worker": {"workspace": "/"}},
        {"providers": {"anthropic": {"api_base": "https://example.org"}}},
        {"language": 2},
        {"limits": {"max_total_teams": 0}},
    ],
)
def test_a_plan_cannot_say_what_only_the_worker_may(change: Json) -> None:
    with pytest.raises(ValidationError):
        altered(lambda data: data.update(change))
