"""Whatever models and tools do, an agent ends in a stated way, within its limits.

`EXAMPLES=1000 pytest tests/unit/workflows/tool_loops/test_wild_tools.py` tries 1,000 of them.
"""

import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from coterie.dsl.model.plan import Plan
from coterie.dsl.model.tools.tool_contract import AgentTool
from coterie.dsl.tool_loop.tool_loop_terms import MAX_CALLS_OF_TURN, REFUSED_AT
from coterie.dsl.values import Json
from coterie.workflows.core.causes.step_causes import Failed
from tests.support.simulation.skipping import Skipped, skipped_run
from tests.support.simulation.wild_tools import (
    Behaviour,
    Breaks,
    CountingScope,
    Says,
    Turn,
    Wants,
    WildModel,
    WildWorld,
    wild_function,
)
from tests.support.tool_agents import function_tool, persona, tool_plan

EXAMPLES = int(os.environ.get("EXAMPLES", "25"))
SCHEMA: Json = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "more": {"type": "string"}},
    "required": ["n"],
    "additionalProperties": False,
}
ANSWER: Json = {"type": "object", "properties": {"good": {"type": "boolean"}}, "required": ["good"]}
TOOL_FUNCTIONS = ("a", "b", "c")
NAMES = (*TOOL_FUNCTIONS, "helper", "handoff_to_rest")
STATED = {
    "AnswerRefused",
    "AnswerTruncated",
    "AnswerUnusable",
    "ProviderRefused",
    "ProviderUnavailable",
    "RateLimited",
    "TurnsExhausted",
    "ToolPolicyUnmet",
    "Timeout",
}
"""Why an agent may fail, as docs/failures.md says."""

ENDS = {"success", "failure"}

VALID = ('{"n": 1}', '{"n": 1}', '{"n": 2}', '{"n": 3}', '{"n": 1, "more": "x"}')
INVALID = (
    *('{"n": "x"}', '{"n": 1, "no": 2}', "{}", "", "[1]", "null", "7", "{broken"),
    *('{"n": NaN}', '{"n": 1e999}', '{"n": 1, "more": "\\ud83d"}', "[" * 5_000),
    '{"n": 1, "more": "' + "x" * 20_000 + '"}',
)
valid = st.tuples(
    st.sampled_from((*TOOL_FUNCTIONS, *TOOL_FUNCTIONS, "helper")), st.sampled_from(VALID)
)
anything = st.tuples(
    st.sampled_from((*NAMES, *NAMES, "lok", "", "x" * 300, "../a", "a@1.1", "\ud83d")),
    st.sampled_from((*VALID, *INVALID)),
)
wants = st.builds(
    Wants,
    st.lists(st.one_of(valid, valid, anything), min_size=1, max_size=4).map(tuple),
    st.sampled_from(["", "I look."]),
)


def crowd(name: str, arguments: str) -> Wants:
    """More calls than a turn may have."""
    return Wants(tuple((name, arguments % n) for n in range(MAX_CALLS_OF_TURN + 20)))


crowds = st.builds(
    crowd,
    st.sampled_from(TOOL_FUNCTIONS),
    st.sampled_from(['{"n": %d}', '{"n": 1, "more": "%d"}', '{"n": "%d"}']),
)
texts = st.builds(
    Says,
    st.sampled_from(["fine", '{"good": true}', '{"good": 1}', "", "{", "\ud83d"]),
    st.sampled_from(["end", "end", "end", "max_tokens", "refusal", "other"]),
)
failures = st.sampled_from(
    [
        Breaks("ProviderUnavailable", retryable=True),
        Breaks("RateLimited", retryable=True),
        Breaks("ProviderRefused", retryable=False),
    ]
)
turns = st.lists(
    st.one_of(wants, wants, wants, wants, wants, texts, crowds, failures), min_size=1, max_size=4
)
behaviours = st.lists(st.sampled_from(get_args(Behaviour)), min_size=1, max_size=4)


@dataclass(frozen=True)
class Wild:
    """A plan, and what its model and its tools do."""

    plan: Plan
    turns: tuple[Turn, ...]
    behaviours: Mapping[str, tuple[Behaviour, ...]]


POLICY: Any = st.fixed_dictionaries(
    {"tool": st.sampled_from(TOOL_FUNCTIONS)},
    optional={
        "min_calls": st.integers(0, 2),
        "max_calls": st.integers(1, 4),
        "require_success": st.booleans(),
        "exit_on_success": st.booleans(),
    },
)
TERMS: Any = {
    "retries": st.integers(0, 2),
    "tool_choice": st.sampled_from(["auto", "required", "none", {"tool": "a"}]),
    "tool_calls": st.sampled_from(["execute", "execute", "return"]),
    "parallel_tool_calls": st.booleans(),
    "output_schema": st.just(ANSWER),
    "tool_policy": st.lists(POLICY, max_size=2, unique_by=lambda one: one["tool"]),
}
agents: "st.SearchStrategy[Json]" = st.fixed_dictionaries(
    {"max_turns": st.integers(1, 7), "max_reasks": st.integers(0, 2)}, optional=TERMS
)
"""How a persona uses its tools."""


@st.composite
def function_tools(draw: st.DrawFn, name: str) -> Json:
    """A tool made of a wild tool function."""
    effect = draw(st.sampled_from(["read", "idempotent", "once"]))
    terms: Json = {
        "effect": effect,
        "timeout": draw(st.sampled_from([5.0, 60.0])),
        "retries": draw(st.integers(0, 2)),
    }
    cache = {"cache": "run"} if effect == "read" and draw(st.booleans()) else {}
    approval: Any = draw(st.sampled_from([False, False, False, True, {"at": "after"}]))
    return {
        **function_tool(f"Wild.{name}", input_schema=SCHEMA, requires_approval=approval),
        "terms": terms,
        **cache,
    }


@st.composite
def wild(draw: st.DrawFn) -> Wild:
    tools: dict[str, Json] = {name: draw(function_tools(name)) for name in TOOL_FUNCTIONS}
    tools["helper"] = {
        "agent": "helper",
        "input_schema": SCHEMA,
        "stateful": draw(st.booleans()),
        "timeout": draw(st.sampled_from([None, 90.0])),
        "on_error": draw(st.sampled_from(["surface", "retry"])),
        "retries": draw(st.integers(0, 2)),
    }
    budgets: list[Any] = draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "kind": st.sampled_from(["tool_calls", "model_calls"]),
                    "limit": st.integers(1, 12),
                }
            ),
            max_size=2,
            unique_by=lambda one: str(one["kind"]),
        )
    )
    timeout = draw(st.sampled_from([None, None, None, 20.0, 200.0]))
    plan = tool_plan(
        tools,
        {
            "actor": persona(*TOOL_FUNCTIONS, "helper", handoffs=["rest"], **draw(agents)),
            "helper": persona("a", "b", **draw(agents)),
        },
        step={} if timeout is None else {"timeout": timeout},
        teams={"rest": {"id": "rest", "steps": [{"name": "x", "kind": "set", "values": {"n": 1}}]}},
        budgets=budgets,
    )
    ways = {name: tuple(draw(behaviours)) for name in TOOL_FUNCTIONS}
    return Wild(plan, tuple(draw(turns)), ways)


def ran(of: Wild) -> tuple[Skipped, CountingScope, WildWorld, WildModel]:
    """The run to its end; it raises if it stands still or does not end."""
    model = WildModel(of.turns, "work/act#")
    functions = {
        f"Wild.{name}": wild_function(f"Wild.{name}", of.plan.tools[name].effect, ways)
        for name, ways in of.behaviours.items()
    }
    world = WildWorld(model, functions)
    run = skipped_run(of.plan, {}, world, scope_type=CountingScope)
    assert isinstance(run.scope, CountingScope)
    return run, run.scope, world, model


@settings(
    max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(wild())
def test_an_agent_ends_in_a_stated_way_within_its_limits(of: Wild) -> None:
    run, scope, world, model = ran(of)
    event(ending(of, run))
    assert model.faults == []
    check_turns(of, scope)
    check_calls(of, scope, world)
    check_budgets(of, run, scope)
    assert run.state.progress.tool_loops == {} or run.error
    assert run.state.doing == {} or run.error


def ending(of: Wild, run: Skipped) -> str:
    """How the agent ended: one of the ways that the reference states."""
    if run.error == "BudgetExceeded":
        assert of.plan.budgets
        return run.error
    found = [one for one in run.state.trail if one.step == "act" and one.status in ENDS]
    assert len(found) == 1, found
    if not run.error:
        assert run.result.end == "completed"
        return found[0].status or ""
    assert isinstance(found[0].cause, Failed)
    assert found[0].cause.failure.type in STATED, found[0].cause.failure
    return found[0].cause.failure.type


def check_turns(of: Wild, scope: CountingScope) -> None:
    """No agent takes more turns than its persona allows."""
    taken = Counter((one.task, one.team, one.visit, call.step) for call, one in scope.turns)
    for (task, *_), number in taken.items():
        who = of.plan.personas["actor" if task == "act" else "helper"]
        helper = of.plan.tools["helper"]
        attempts = 1 if task == "act" or not isinstance(helper, AgentTool) else helper.retries + 1
        assert number <= attempts * (who.max_turns + 1 + who.max_reasks), task


def check_calls(of: Wild, scope: CountingScope, world: WildWorld) -> None:
    """No call is tried, repeated or made more often than its contract and its policy allow."""
    for call, request in (*scope.turns, *scope.calls):
        options = call.options
        allowed = 1 if options.effect == "once" else options.retries + 1
        assert world.attempts[id(request)] <= allowed, call
    of_turns: Counter[str] = Counter()
    of_tools: Counter[str] = Counter()
    equal: Counter[tuple[str, str]] = Counter()
    for call, request in scope.calls:
        found = re.fullmatch(r"work/act/(\w+)@(\d+)\.\d+", call.step)
        if found is not None:
            tool, turn = found.groups()
            of_turns[turn] += 1
            of_tools[tool] += 1
            equal[tool, repr(request.input)] += 1
    assert all(number <= MAX_CALLS_OF_TURN for number in of_turns.values())
    for policy in of.plan.personas["actor"].tool_policy:
        assert policy.max_calls is None or of_tools[policy.tool] <= policy.max_calls
    same = [name for name, ways in of.behaviours.items() if set(ways) == {"answers"}]
    assert all(number < REFUSED_AT for (tool, _), number in equal.items() if tool in same)


def check_budgets(of: Wild, run: Skipped, scope: CountingScope) -> None:
    """Nothing begins that a budget does not pay for."""
    made = {"tool_calls": len(scope.calls), "model_calls": len(scope.turns)}
    assert (run.state.function_calls, run.state.model_calls) == tuple(made.values())
    for budget in of.plan.budgets:
        assert made[budget.kind] <= budget.limit
