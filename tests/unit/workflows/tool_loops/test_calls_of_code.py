"""A call by code is handled as the same call by the model: the trail and the effects are equal."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse, FunctionRequest
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.state import RunState
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import (
    MODEL,
    ModelWorld,
    answer,
    calls,
    function_tool,
    persona,
    tool_plan,
)
from tests.unit.workflows.tool_loops.test_code_programs import ORDER, CodeScope

READ: Json = {"effect": "read", "timeout": 60, "retries": 0}
ONCE: Json = {"effect": "once", "timeout": 60, "retries": 0}
PAY: Json = {"skill": "Shop.pay", "terms": ONCE, "input_schema": ORDER}
LOOK: Json = {"skill": "Shop.look", "terms": READ, "input_schema": ORDER}
HELPER: Json = {**MODEL, "prompts": {"user": "Do {{ input.order }}."}}


@dataclass(frozen=True)
class Rule:
    """What a tool, its persona and its plan say, and what the world answers."""

    pay: Json = field(default_factory=lambda: PAY)
    look: Json = field(default_factory=lambda: LOOK)
    persona: Json = field(default_factory=dict[str, JsonValue])
    asks_for_egress: bool = False
    result: JsonValue = "paid"
    decision: str = "approve"
    payload: JsonValue = None
    shows: str = ""
    """A status that the trail must have, so that the rule was in force."""


HOOK: Json = {"name": "h", "on": "before_tool_call"}
PRIVATE: Json = {**LOOK, "labels": ["private", "untrusted"]}
SENDS: Json = {**PAY, "labels": ["egress"]}
RULES: dict[str, Rule] = {
    "plain": Rule(shows="success"),
    "failure": Rule(result={"fails": "FunctionFailed", "message": "closed"}, shows="failure"),
    "unknown outcome": Rule(result={"fails": "Timeout", "message": "late"}, shows="failure"),
    "approval": Rule(pay={**PAY, "requires_approval": True}, shows="approved"),
    "rejection": Rule(pay={**PAY, "requires_approval": True}, decision="reject", shows="failure"),
    "edited arguments": Rule(
        pay={**PAY, "requires_approval": {"editable": True}},
        payload={"order": 9},
        shows="approved",
    ),
    "edited, and no longer valid": Rule(
        pay={**PAY, "requires_approval": {"editable": True}},
        payload={"order": "nine"},
        shows="failure",
    ),
    "acceptance": Rule(pay={**PAY, "requires_approval": "after"}, shows="approved"),
    "condition": Rule(
        pay={
            **PAY,
            "requires_approval": {"when": {"expression": "arguments.order > 1"}},
        },
        shows="asked",
    ),
    "fixed arguments": Rule(pay={**PAY, "fixed": {"currency": "EUR"}}, shows="success"),
    "cache": Rule(look={**LOOK, "cache": "run"}, shows="cached"),
    "a hook rejects": Rule(
        persona={"hooks": [{**HOOK, "decide": "reject", "tool": "pay"}]}, shows="failure"
    ),
    "a hook fails": Rule(
        persona={"hooks": [{**HOOK, "decide": "fail", "tool": "pay"}]}, shows="failure"
    ),
    "labels": Rule(look=PRIVATE, pay=SENDS, asks_for_egress=True, shows="approved"),
    "labels, rejected": Rule(
        look=PRIVATE, pay=SENDS, asks_for_egress=True, decision="reject", shows="failure"
    ),
    "grants": Rule(
        look=PRIVATE,
        pay={**SENDS, "grants": ["private", "untrusted"]},
        asks_for_egress=True,
        shows="not_asked",
    ),
    "bound of a policy": Rule(
        persona={"tool_policy": [{"tool": "look", "max_calls": 1}]}, shows="refused"
    ),
    "subagent": Rule(pay={"agent": "helper", "input_schema": ORDER}, shows="success"),
}
CALLS: tuple[tuple[str, int], ...] = (("look", 1), ("look", 1), ("pay", 2))


def by_model(request: AgentRequest, number: int) -> AgentResponse:
    """A model that makes each call in a turn of its own."""
    if request.task != "act":
        return answer("helped")
    if number > len(CALLS):
        return answer("done")
    tool, order = CALLS[number - 1]
    return calls((tool, {"order": order}))


CODE = "\n".join(
    f"try:\n    await {tool}(order={order})\nexcept Exception as e:\n    print(e)"
    for tool, order in CALLS
)


def by_code(request: AgentRequest, number: int) -> AgentResponse:
    """A model that makes the same calls by code."""
    if request.task != "act":
        return answer("helped")
    return calls(("code", {"code": CODE})) if number == 1 else answer("done")


async def ran(
    rule: Rule, model: Callable[[AgentRequest, int], AgentResponse], *, code: bool
) -> tuple[RunState, ModelWorld]:
    tools: dict[str, Json] = {
        "look": rule.look,
        "pay": rule.pay,
        "code": function_tool("Python.run"),
    }

    class Deciding(CodeScope):
        def decision_about(self, request: Pending) -> DecideInput:
            decide = DecideInput(id=request.id, decision=rule.decision, by="ann")  # type: ignore[arg-type]
            return decide.model_copy(update={"payload": rule.payload}) if rule.payload else decide

    def function(request: FunctionRequest) -> JsonValue:
        return rule.result if request.skill == "Shop.pay" else "seen"

    actor = persona(*tools, code_mode=code, **rule.persona)
    of = tool_plan(
        tools,
        {"actor": actor, "helper": HELPER},
        egress_approval={} if rule.asks_for_egress else None,
    )
    state, world = fresh(of, {}), ModelWorld(model, function)
    with suppress(RunFailed):
        await run(Deciding(of, state, world, None))
    return state, world


def noted(state: RunState) -> list[JsonValue]:
    """What the trail says of the calls of `look` and `pay`."""
    found: list[JsonValue] = []
    for entry in state.trail:
        step = (entry.step or "").replace("code@1.1/", "")
        if "/code@" in (entry.step or "") and "/" not in step.removeprefix("act/code@1.1"):
            step = "act" if entry.status == "refused" else step
        called = "look@" in step or "pay@" in step
        if called or entry.status == "refused":
            cause = str(entry.cause).replace("code@1.1/", "")
            found.append([step if called else "act", entry.status, entry.event, cause])
    return found


@pytest.mark.parametrize("name", RULES)
async def test_a_rule_holds_for_a_call_by_code_as_for_one_by_the_model(name: str) -> None:
    rule = RULES[name]
    direct, world = await ran(rule, by_model, code=False)
    coded, other = await ran(rule, by_code, code=True)
    assert noted(coded) == noted(direct)
    assert rule.shows in {cast("list[str]", one)[1] for one in noted(direct)}
    made, made_by_code = (
        [(one.skill, one.input, one.untrusted) for one in found.made] for found in (world, other)
    )
    assert made_by_code == made
    assert coded.met_untrusted == direct.met_untrusted
