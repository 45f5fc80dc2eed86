"""Agents that are tools, with a time limit: what the caller gets, and what a retry keeps."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.causes.agent_causes import HookDecided
from coterie.workflows.core.messages import DecideInput
from tests.support.simulation.skipping import Skipped, SkippingScope, skipped_run
from tests.support.tool_agents import MODEL, QUERY, answer, calls, persona, tool_plan

HELPER: Json = {**MODEL, "prompts": {"user": "Help with {{ input.query }}."}}
ADDS: Json = {
    "name": "adds",
    "on": "before_tool_call",
    "decide": "modify",
    "value": {"query": "snow"},
    "when": {"expression": "{{ tool == 'helper' }}"},
}


class SlowHelper:
    """A world whose helper takes its time."""

    def __init__(self, *seconds: float) -> None:
        self.seconds = list(seconds)
        self.asked: list[JsonValue] = []
        self.results: list[tuple[str, bool]] = []

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        if request.task == "helper":
            self.asked.append(cast("Json", request.inputs["input"])["query"])
            await asyncio.sleep(self.seconds.pop(0))
            return answer("helped").model_copy(update={"conversation": "h"})
        turn = request.tool_turn
        assert turn is not None
        self.results += [(one.text, one.failed) for one in turn.results]
        made = answer("done") if turn.continues else calls(("helper", {"query": "rain"}))
        return made.model_copy(update={"conversation": "a"})

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        raise NotImplementedError


class ApprovingScope(SkippingScope):
    """A scope in which Ann approves at once, and which counts her decisions."""

    approved = 0

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
        stands_still: bool = True,
    ) -> bool:
        for id in list(self.state.pending):
            self.approved += 1
            self.decide(DecideInput(id=id, decision="approve", by="ann"))
        return await super().wait_until(ready, seconds, summary)


def plan(hooks: list[Json] | None = None, **of_tool: JsonValue) -> Plan:
    helper: Json = {"agent": "helper", "input_schema": QUERY, "timeout": 5, **of_tool}
    actor = persona("helper", hooks=[*(hooks or [])])
    return tool_plan({"helper": helper}, {"actor": actor, "helper": HELPER})


def ran(of: Plan, *seconds: float) -> tuple[Skipped, SlowHelper]:
    world = SlowHelper(*seconds)
    return skipped_run(of, {}, world, scope_type=ApprovingScope), world


@pytest.mark.parametrize(
    ("seconds", "text", "failed"),
    [
        (4, '{"text":"helped"}', False),
        (6, "Timeout: 'helper' did not end within 5 s", True),
    ],
)
def test_an_agent_that_is_a_tool_ends_within_its_time(
    seconds: float, text: str, failed: bool
) -> None:
    run, world = ran(plan(), seconds)
    assert world.results == [(text, failed)]
    assert run.state.main.latest["work"]["act"].success


def test_a_late_agent_is_retried_as_often_as_its_contract_says_and_is_asked_about_once() -> None:
    of = plan([ADDS], retries=2, on_error="retry", requires_approval={"editable": True})
    run, world = ran(of, 6, 6, 6)
    assert world.asked == ["snow", "snow", "snow"]
    assert cast("Any", run.scope).approved == 1
    causes = [one.cause for one in run.state.trail if isinstance(one.cause, HookDecided)]
    assert len(causes) == 1
    [(text, failed)] = world.results
    assert failed
    assert "Timeout: 'helper' did not end within 5 s" in text


def test_a_retry_of_a_late_agent_may_be_in_time() -> None:
    _, world = ran(plan(retries=1, on_error="retry"), 6, 1)
    assert world.results == [('{"text":"helped"}', False)]


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "object", "required": ["text"]}, '{"text":"helped"}'),
        ({"type": "array"}, "InvalidResult: 'helper': the result is a mapping, not a list"),
    ],
)
def test_the_result_of_an_agent_is_checked_by_the_schema_of_its_tool(
    schema: Json, text: str
) -> None:
    _, world = ran(plan(output_schema=schema), 1)
    assert [text for text, _ in world.results] == [text]
