"""What a person says to an agent at work reaches its model at the next turn, for one update."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.testing import WorkflowEnvironment

from coterie.activities.storage.blobs import MemoryBlobs
from coterie.dsl.values import Json
from coterie.inspection.trace import traced_run
from coterie.inspection.why_text import run_text
from coterie.replay.replay import replay as replayed
from coterie.workflows.sessions.said_messages import MAX_UNREAD
from tests.support.engine import engine, trail
from tests.support.runs import asked, decide, refusal, scheduled, sent

TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    clerk:
      description: Works.
      prompts: {user: "Order it."}
      tools: [add]
      max_turns: 3
    lead:
      prompts: {user: "Lead."}
      subagents: [clerk]
tools:
  add:
    skill: Calculator.evaluate
    description: Adds.
    requires_approval: {approvers: [ann], deadline: 3d}
orchestration:
  entry_team: shop
  teams:
    shop:
      tasks: [TASKS]
"""
ONE = TEAM.replace("TASKS", "{name: order, persona_key: clerk}")
TWO = TEAM.replace(
    "TASKS",
    "{name: both, type: parallel, branches: {"
    "left: [{name: order, persona_key: clerk}], right: [{name: pay, persona_key: clerk}]}}",
)
LED = TEAM.replace("TASKS", "{name: manage, persona_key: lead}")
CALL: Json = {"tool": "add", "arguments": {"expression": "1 + 1"}}
ASKS: Json = {"tool": "clerk", "arguments": {"query": "It."}}
ANSWERS: list[Json] = [
    {"task": "order", "turn": 1, "tool_calls": [CALL]},
    {"task": "order", "turn": 2, "contains": ["Use PostgreSQL.", "Hurry up."], "answer": "Both."},
    {"task": "order", "turn": 2, "contains": "Use PostgreSQL.", "answer": "PostgreSQL."},
    {"task": "order", "turn": 2, "answer": "MySQL."},
]


def said(text: str, **more: str) -> Json:
    return {"text": text, "by": "ann", **more}


def kinds(history: Any) -> Counter[str]:
    """How many events of each kind a history has, without workflow tasks."""
    names = (EventType.Name(event.event_type) for event in history.events)
    return Counter(name for name in names if "WORKFLOW_TASK" not in name)


@asynccontextmanager
async def at_work(
    env: WorkflowEnvironment, folder: Path, team: str = ONE, answers: list[Json] = ANSWERS
) -> AsyncGenerator[Any]:
    """A run whose agent has asked for a call that a person must allow."""
    async with engine(env, folder, answers) as running:
        handle: Any = await running.start(team)
        await asked(handle)
        yield handle
        await replay(handle)


async def replay(handle: Any) -> None:
    assert not (await replayed(await handle.fetch_history())).differences


async def test_a_message_costs_nothing_but_its_own_update(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    histories: list[Any] = []
    for text in ("", "Use PostgreSQL."):
        async with at_work(env, tmp_path) as handle:
            if text:
                assert await sent(handle, "say", said(text)) == "shop/order"
            await decide(handle, "shop/order/add@1.1#1")
            result = await handle.result()
            histories.append(await handle.fetch_history())
            assert result["output"] == {"order": {"text": "PostgreSQL." if text else "MySQL."}}
    quiet, steered = map(kinds, histories)
    assert steered - quiet == {
        "EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED": 1,
        "EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED": 1,
    }
    assert not quiet - steered


async def test_messages_are_read_in_their_order_behind_the_results_and_stand_in_the_trail(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with at_work(env, tmp_path) as handle:
        await sent(handle, "say", said("Use PostgreSQL.", step="order"))
        await sent(handle, "say", said("Hurry\nup.", step="shop/order", by="ben"))
        await decide(handle, "shop/order/add@1.1#1")
        result = await handle.result()
        assert result["output"] == {"order": {"text": "PostgreSQL."}}
        first, _, second = await scheduled(handle)
        told = [entry for entry in await trail(handle) if entry.status in ("said", "told")]
        text = run_text(await traced_run(env.client, handle.id), "run")
    assert "said" not in first["input"]
    assert second["input"]["said"] == ["Use PostgreSQL.", "Hurry\nup."]
    assert [(entry.step, entry.because) for entry in told] == [
        (None, "ann tells shop/order: Use PostgreSQL."),
        (None, "ben tells shop/order: Hurry up."),
        ("order", "turn 2 reads what ann and ben said: Use PostgreSQL. | Hurry up."),
    ]
    assert "turn 2 reads what ann and ben said" in text


async def test_a_message_during_the_answer_leads_to_one_more_turn(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    slow: list[Json] = [
        {"task": "order", "turn": 3, "contains": "Use PostgreSQL.", "answer": "PostgreSQL."},
        ANSWERS[0],
        {"task": "order", "turn": 2, "answer": "MySQL.", "seconds": 2},
    ]
    for max_turns in (3, 1):  # the last one: the turn after it has no tools either
        team = ONE.replace("max_turns: 3", f"max_turns: {max_turns}")
        async with at_work(env, tmp_path, team, slow) as handle:
            await decide(handle, "shop/order/add@1.1#1")
            await begun(handle, turns=2)
            await sent(handle, "say", said("Use PostgreSQL."))
            result = await handle.result()
            assert result["output"] == {"order": {"text": "PostgreSQL."}}
            turns = [one["input"] for one in await scheduled(handle) if one["type"] == "run_agent"]
            assert [turn.get("said") for turn in turns] == [None, None, ["Use PostgreSQL."]]


async def begun(handle: Any, turns: int) -> None:
    """Wait until so many model turns have been scheduled."""
    for _ in range(1000):
        if len([one for one in await scheduled(handle) if one["type"] == "run_agent"]) >= turns:
            return
        await asyncio.sleep(0.02)  # between two looks
    raise AssertionError("the turn did not begin")


async def test_a_message_survives_the_worker_and_a_turn_that_is_repeated(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    blobs, name = MemoryBlobs(), "steered-restart"
    async with engine(env, tmp_path, ANSWERS, blobs=blobs, name=name, cached_runs=0) as running:
        handle: Any = await running.start(ONE)
        await asked(handle)
        await sent(handle, "say", said("Use PostgreSQL."))
        running.runs.clear()  # it goes on
    async with engine(env, tmp_path, ANSWERS, blobs=blobs, name=name) as running:
        await decide(handle, "shop/order/add@1.1#1")
        assert (await handle.result())["output"] == {"order": {"text": "PostgreSQL."}}
        assert [one["input"].get("said") for one in await scheduled(handle)] == [
            None,
            None,
            ["Use PostgreSQL."],
        ]
        await replay(handle)


async def test_a_message_names_its_agent_where_several_are_at_work(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    answers: list[Json] = [
        *({"task": task, "turn": 1, "tool_calls": [CALL]} for task in ("order", "pay")),
        {"task": "pay", "turn": 2, "contains": "Use PostgreSQL.", "answer": "PostgreSQL."},
        {"task": "order", "turn": 2, "answer": "MySQL."},
    ]
    async with at_work(env, tmp_path, TWO, answers) as handle:
        await begun(handle, turns=2)
        ambiguous = await refusal(handle, said("Use PostgreSQL."), "say")
        assert (ambiguous.type, ambiguous.message) == (
            "AmbiguousAgent",
            "several agents are at work; name the step of one: shop/both/left/order, "
            "shop/both/right/pay",
        )
        unknown = await refusal(handle, said("Use PostgreSQL.", step="shop/both/right/play"), "say")
        assert unknown.type == "UnknownAgent"
        assert "did you mean 'shop/both/right/pay'?" in unknown.message
        assert (await refusal(handle, said("x" * 10_001), "say")).type == "Malformed"
        assert (await refusal(handle, said(" "), "say")).type == "BadMessage"
        assert (
            await sent(handle, "say", said("Use PostgreSQL.", step="pay")) == "shop/both/right/pay"
        )
        for request in await handle.query("pending"):
            await decide(handle, request["id"])
        data = (await handle.result())["output"]["both"]
        assert [branch["data"] for branch in data.values()] == [
            {"text": "MySQL."},
            {"text": "PostgreSQL."},
        ]


async def test_a_message_without_a_step_is_for_the_agent_that_is_nobodys_tool(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    answers: list[Json] = [
        {"task": "manage", "turn": 1, "tool_calls": [ASKS]},
        {"task": "clerk", "turn": 1, "tool_calls": [CALL]},
        {"task": "clerk", "turn": 2, "contains": "Hurry up.", "answer": "Hurried."},
        {"task": "manage", "turn": 2, "contains": ["Use PostgreSQL.", "Hurried."], "answer": "Ok."},
    ]
    async with at_work(env, tmp_path, LED, answers) as handle:
        [request] = await handle.query("pending")
        agent = request["id"].rpartition("/")[0]
        assert await sent(handle, "say", said("Use PostgreSQL.")) == "shop/manage"
        assert await sent(handle, "say", said("Hurry up.", step=agent)) == agent
        await decide(handle, request["id"])
        assert (await handle.result())["output"] == {"manage": {"text": "Ok."}}


async def test_no_agent_at_work_refuses_and_one_that_fails_leaves_the_message_to_its_next_attempt(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    team = ONE.replace("name: order,", "name: order, on_failure: ask,")
    answers: list[Json] = [
        {**ANSWERS[0], "visit": 2, "contains": "Use PostgreSQL.", "tool_calls": [], "answer": "P."},
        ANSWERS[0],
        {"task": "order", "turn": 2, "error": {"type": "ProviderRefused", "message": "no"}},
    ]
    async with at_work(env, tmp_path, team, answers) as handle:
        await sent(handle, "say", said("Use PostgreSQL."))
        await decide(handle, "shop/order/add@1.1#1")
        await asked(handle)
        none = await refusal(handle, said("Hurry up."), "say")
        assert (none.type, none.message) == (
            "NoAgent",
            "no agent that uses tools is at work now; in progress: shop/order; amend the context "
            "instead",
        )
        await sent(handle, "retry", {"by": "ann"})
        assert (await handle.result())["output"] == {"order": {"text": "P."}}
        turns = [one["input"] for one in await scheduled(handle) if one["type"] == "run_agent"]
        assert [turn.get("said") for turn in turns] == [
            None,
            ["Use PostgreSQL."],
            ["Use PostgreSQL."],
        ]
        unread = [entry.because for entry in await trail(handle) if entry.status == "unread"]
        assert unread == ["it ended before it read what ann said: Use PostgreSQL."]


async def test_only_so_many_messages_wait_for_a_turn(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with at_work(env, tmp_path) as handle:
        for number in range(MAX_UNREAD):
            await sent(handle, "say", said(f"{number}"))
        full = await refusal(handle, said("one more"), "say")
        assert full.type == "TooMuchSaid"
        await decide(handle, "shop/order/add@1.1#1")
        await handle.result()
        last = (await scheduled(handle))[-1]["input"]
        assert last["said"] == [str(number) for number in range(MAX_UNREAD)]
