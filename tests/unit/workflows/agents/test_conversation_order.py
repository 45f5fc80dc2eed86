"""Concurrent calls of one conversation in one process: in the order of requests, and none hangs."""

import asyncio

import pytest

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.runs.in_process.local_scope import LocalScope
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import MODEL, QUERY, persona, tool_plan


class World:
    """Models that answer when the event loop has gone round a few times."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        given = request.inputs.get("input")
        self.asked.append(str(given["query"]) if isinstance(given, dict) else request.task)
        for _ in range(20):
            await asyncio.sleep(0)
        return AgentResponse(data={"text": "said"}, conversation=f"turn {len(self.asked)}")

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        raise AssertionError(request.skill)


def ask(name: str) -> Json:
    return {
        "kind": "agent",
        "name": name,
        "agent_type": "generic_single_shot",
        "persona_key": "actor",
        "conversation": "talk",
        "input": "it",
    }


def plan(*steps: JsonValue) -> Plan:
    return tool_plan(
        {"helper": {"agent": "actor", "input_schema": QUERY, "stateful": True}},
        {"actor": {**MODEL, "prompts": {"user": "Say {{ input }}."}}, "other": persona("helper")},
        teams={"work": {"id": "work", "steps": list(steps)}},
    )


async def ended(*steps: JsonValue) -> tuple[list[str], Json]:
    """What a run has asked, in order, and what it remembers at its end."""
    of = plan(*steps)
    world, state = World(), fresh(of, {})
    async with asyncio.timeout(60):
        await run(LocalScope(of, state, world))
    return world.asked, state.carried()


async def test_calls_of_steps_take_turns_in_the_order_of_their_requests() -> None:
    branches: Json = {"left": [ask("a"), ask("b")], "right": [ask("c"), ask("d"), ask("e")]}
    asked, state = await ended({"kind": "parallel", "name": "all", "branches": branches})
    assert asked == ["a", "c", "b", "d", "e"]
    assert "conversation_tickets" not in str(state)


async def test_calls_of_a_stateful_tool_take_turns_in_the_order_of_their_requests() -> None:
    def call(name: str) -> Json:
        return {"kind": "tool", "name": name, "tool": "helper", "arguments": {"query": name}}

    branches: Json = {"left": [call("a"), call("b")], "right": [call("c"), call("d")]}
    asked, _ = await ended({"kind": "parallel", "name": "all", "branches": branches})
    assert asked == ["a", "c", "b", "d"]


async def test_a_waiter_that_is_cancelled_lets_the_next_one_go_on() -> None:
    race: Json = {
        "kind": "parallel",
        "name": "race",
        "join": "any",
        "branches": {
            "talks": [ask("lost")],
            "wins": [{"kind": "set", "name": "wins", "values": {"n": 1}}],
        },
    }
    branches: Json = {
        "one": [ask("first"), ask("again")],
        "two": [race],
        "three": [ask("last")],
    }
    asked, state = await ended({"kind": "parallel", "name": "all", "branches": branches})
    assert asked == ["first", "last", "again"]
    assert "conversation_tickets" not in str(state)


@pytest.mark.parametrize(
    ("name", "known", "error"),
    [
        ("talk", 999, None),
        ("talk", 1000, "TooManyConversations"),
        ("c1", 1000, None),
        ("x" * 200, 0, None),
        ("x" * 201, 0, "NotAName"),
        ("", 0, "NotAName"),
        (7, 0, None),
        (None, 0, "NotAName"),
        (["x"], 0, "NotAName"),
    ],
)
@pytest.mark.parametrize("persona_key", ["actor", "other"])
async def test_a_conversation_begins_with_a_short_name_and_if_there_are_not_too_many(
    name: JsonValue, known: int, error: str | None, persona_key: str
) -> None:
    kind = "generic_single_shot" if persona_key == "actor" else "generic_tool_calling"
    step: Json = {"conversation": "{{ context.name }}", "persona_key": persona_key}
    of = plan({**ask("a"), **step, "agent_type": kind, "on_failure": "continue"})
    state, world = fresh(of, {"name": name}), World()
    state.conversations = {f"c{n}": "head" for n in range(known)}
    await run(LocalScope(of, state, world))
    found = state.main.latest["work"]["a"].error
    assert (None if found is None else found.type) == error
    assert len(world.asked) == (error is None)


async def test_a_wait_looks_again_when_another_wait_is_cancelled() -> None:
    of = plan(ask("a"))
    scope = LocalScope(of, fresh(of, {}), World())
    queue = ["first", "second"]

    async def waits(name: str) -> None:
        try:
            await scope.wait_until(lambda: False, None, name)
        finally:
            queue.remove(name)

    first = asyncio.create_task(waits("first"))
    second = asyncio.create_task(scope.wait_until(lambda: queue[0] == "second", None, "second"))
    await asyncio.sleep(0)
    first.cancel()
    async with asyncio.timeout(60):
        assert await second
