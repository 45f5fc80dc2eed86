"""Calls from concurrent branches take a conversation in the order in which they asked for it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from temporalio import workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowFailureError
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.replay.replay import replay
from coterie.runs.histories.history_links import links
from tests.support.engine import engine, trail
from tests.support.runs import scheduled
from tests.workflow.steps.test_batches import parked

HEAD = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: { prompts: { user: "Say {{ input }}." } }
    slow:
      batch: true
      prompts: { user: "Say {{ input }}." }
      output_schema: { type: object }
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - name: all
          type: parallel
          branches:
"""
ANSWERS: list[Json] = [
    {"task": "hold", "answer": {"said": "hold"}, "batch_seconds": 50},
    *(
        {"task": name, "answer": "said"}
        for name in ("first", "second", "third", "again", *"abcdef")
    ),
]


def ask(name: str, persona: str = "writer") -> str:
    """A turn in the conversation."""
    return (
        f"{{ name: {name}, agent_type: generic_single_shot, persona_key: {persona}, "
        f"conversation: talk, input: {name} }}"
    )


def wait(name: str, duration: str) -> str:
    return f"{{ name: {name}, type: wait, duration: {duration} }}"


def branches(**steps: tuple[str, ...]) -> str:
    return HEAD + "".join(f"            {name}: [{', '.join(of)}]\n" for name, of in steps.items())


HOLD = ask("hold", "slow")
"""A turn that takes about a minute: the provider takes it as a batch."""
LATER = branches(
    second=(wait("until_second", "20s"), ask("second")),
    first=(wait("until_first", "10s"), ask("first")),
    busy=(HOLD, ask("again")),
)
"""The branch that asks second is the first that is written."""


async def order(handle: Any) -> list[str]:
    """The tasks of the turns in a run, in the order in which they began."""
    sent: list[Any] = [one["input"] for one in await scheduled(handle)]
    return [one["task"] for one in sent if "task" in one and not one.get("started")]


@pytest.mark.parametrize(
    ("team", "expected"),
    [
        (
            branches(left=(ask("a"), ask("b")), right=(ask("c"), ask("d"))),
            ["a", "c", "b", "d"],
        ),
        (
            branches(
                left=(ask("a"), ask("b")), middle=(ask("c"), ask("d")), right=(ask("e"), ask("f"))
            ),
            ["a", "c", "e", "b", "d", "f"],
        ),
        (LATER, ["hold", "first", "second", "again"]),
    ],
)
async def test_no_call_overtakes_one_that_asked_before_it(
    env: WorkflowEnvironment, tmp_path: Path, team: str, expected: list[str]
) -> None:
    async with engine(env, tmp_path, ANSWERS) as here:
        handle: Any = await here.start(team)
        await handle.result()
        assert await order(handle) == expected
        history = await handle.fetch_history()
    assert (await replay(history)).differences == ()


async def test_the_order_survives_continue_as_new_at_any_point(
    env: WorkflowEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suggested = 10_000

    def once(info: workflow.Info) -> bool:
        return info.continued_run_id is None and info.get_current_history_length() >= suggested

    monkeypatch.setattr(workflow.Info, "is_continue_as_new_suggested", once)
    async with engine(env, tmp_path, ANSWERS) as here:
        whole: Any = await here.start(LATER)
        await whole.result()
        events = len((await whole.fetch_history()).events)
        moved = 0
        for suggested in range(3, events, 3):
            handle: Any = await here.start(LATER)
            await handle.result()
            turns: list[str] = []
            async for link in links(here.client, handle.id):
                part = here.client.get_workflow_handle(link.workflow_id, run_id=link.run_id)
                turns += await order(part)
                assert (await replay(link)).differences == (), f"moved after {suggested} events"
                moved += 1
            assert turns == ["hold", "first", "second", "again"], f"moved after {suggested} events"
    assert moved > events / 3 + 5


WAITING = branches(
    second=(wait("until_second", "20s"), ask("second")),
    first=(wait("until_first", "10s"), "FIRST"),
    busy=(HOLD, ask("again")),
)
LATE = "{ name: late, type: block, timeout: 5s, on_failure: continue, steps: [%s] }"
LOST = (
    "{ name: race, type: parallel, join: any, branches: "
    "{ talks: [%s], wins: [{ name: wins, type: wait, duration: 5s }] } }"
)


@pytest.mark.parametrize("left", [LATE, LOST], ids=["timeout", "race"])
async def test_a_call_that_nobody_waits_for_any_more_leaves_the_queue(
    env: WorkflowEnvironment, tmp_path: Path, left: str
) -> None:
    team = WAITING.replace("FIRST", f"{left % ask('first')}, {ask('third')}")
    async with engine(env, tmp_path, ANSWERS) as here:
        handle: Any = await here.start(team)
        result = await handle.result()
        assert await order(handle) == ["hold", "third", "second", "again"]
        assert result["end"] == "completed"
        history = await handle.fetch_history()
    assert (await replay(history)).differences == ()


@pytest.mark.parametrize(
    "leaves",
    [
        "{ name: out, type: return, value: out }",
        "{ name: out, type: approval, prompt: Go?, deadline: 1s, on_timeout: rest }",
    ],
    ids=["return", "redirect"],
)
async def test_a_run_that_is_sent_elsewhere_leaves_the_queue(
    env: WorkflowEnvironment, tmp_path: Path, leaves: str
) -> None:
    team = WAITING.replace("FIRST", ask("first")) + (
        f"            out: [{wait('soon', '25s')}, {leaves}]\n"
        "      routing: { default: rest }\n"
        f"    rest: {{ tasks: [{ask('third')}] }}\n"
    )
    async with engine(env, tmp_path, ANSWERS) as here:
        handle: Any = await here.start(team)
        await handle.result()
        assert await order(handle) == ["hold", "third"]


async def test_a_person_who_redirects_the_run_leaves_the_queue_as_it_is(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    team = LATER + f"    rest: {{ tasks: [{ask('third')}] }}\n"
    async with engine(env, tmp_path, ANSWERS) as here:
        handle: Any = await here.start(team)
        await parked(handle)
        await env.sleep(25)
        await handle.execute_update("redirect", {"team": "rest", "by": "ann"})
        await handle.result()
        assert await order(handle) == ["hold", "first", "second", "again", "third"]


async def test_a_fork_from_a_failure_keeps_the_order_of_those_who_waited(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    fails = "{ name: fails, type: set, values: { said: '{{ context.word }}' } }"
    team = LATER + f"            bad: [{wait('until_bad', '25s')}, {fails}]\n"
    async with engine(env, tmp_path, ANSWERS) as here:
        failed: Any = await here.start(team)
        with pytest.raises(WorkflowFailureError):
            await failed.result()
        fork = {"run": failed.id, "updates": {"word": "rain"}}
        handle: Any = await here.start_raw({"fork": fork})
        await handle.result()
        assert await order(handle) == ["hold", "first", "second", "again"]
        history = await handle.fetch_history()
    assert (await replay(history)).differences == ()


async def test_the_cleanup_of_a_cancelled_run_does_not_wait_for_those_who_waited(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    team = WAITING.replace("FIRST", ask("first")) + (
        f"    tidy: {{ tasks: [{ask('third')}] }}\n  on_cancel: tidy\n"
    )
    async with engine(env, tmp_path, ANSWERS) as here:
        handle: Any = await here.start(team)
        await parked(handle)
        await env.sleep(25)
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        assert await order(handle) == ["hold", "third"]


async def test_a_person_skips_a_call_that_waits_for_its_conversation(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    team = WAITING.replace("FIRST", ask("first"))
    async with engine(env, tmp_path, ANSWERS) as here:
        handle: Any = await here.start(team)
        await parked(handle)
        await env.sleep(25)
        await handle.execute_update("skip", {"task": "work/all/first/first", "by": "ann"})
        ended = [entry.step for entry in await trail(handle) if entry.status == "skipped"]
        assert ended == ["all/first/first"]
        result = await handle.result()
        assert await order(handle) == ["hold", "second", "again"]
        assert result["output"]["all"]["first"]["status"] == "success"
        history = await handle.fetch_history()
    assert (await replay(history)).differences == ()


_TASK = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
_CALL = EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED


async def test_a_call_that_waits_for_its_conversation_does_not_begin_in_a_pause(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    ready = "{ name: ready, type: set, values: { is_ready: true } }"
    answers: list[Json] = [{"task": "slow", "answer": "said", "seconds": 2}, *ANSWERS]
    async with engine(env, tmp_path, answers) as here:
        handle: Any = await here.start(branches(left=(ask("slow"),), right=(ready, ask("a"))))
        await happened(handle, _TASK)
        await handle.signal("pause", {"by": "ann"})
        await happened(handle, _CALL, _TASK)
        assert await order(handle) == ["slow"]
        await handle.signal("resume", {"by": "ann"})
        await handle.result()
        assert await order(handle) == ["slow", "a"]
        history = await handle.fetch_history()
    assert (await replay(history)).differences == ()


async def happened(handle: Any, *types: EventType.ValueType) -> None:
    """Wait until the history has such events, in this order.

    The test server adds a workflow task for a query that comes within one, and replays take both
    for one that began with the second. So nothing here asks the run.
    """
    for _ in range(1_000):
        events = iter((await handle.fetch_history()).events)
        if all(any(event.event_type == type for event in events) for type in types):
            return
        await asyncio.sleep(0.02)  # between two looks
    raise AssertionError(f"{[EventType.Name(type) for type in types]} do not happen")


async def test_a_call_in_its_turn_comes_back_before_branches_that_have_not_begun(
    env: WorkflowEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def once(info: workflow.Info) -> bool:
        seconds = (workflow.now() - info.start_time).total_seconds()
        return info.continued_run_id is None and seconds > 15

    monkeypatch.setattr(workflow.Info, "is_continue_as_new_suggested", once)
    inner = "{{ name: {0}, type: parallel, branches: {{ {0}_1: [{1}], {0}_2: [{2}] }} }}"
    late = inner.format("late", ask("a"), ask("b"))
    early = inner.format("early", f"{wait('soon', '1s')}, {ask('c')}", HOLD)
    team = branches(left=(wait("until_late", "10s"), late), right=(early,)).replace(
        "orchestration:", "orchestration:\n  max_concurrent_branches: 3"
    )
    async with engine(env, tmp_path, ANSWERS) as here:
        handle: Any = await here.start(team)
        await handle.result()
        turns: list[str] = []
        async for link in links(here.client, handle.id):
            part = here.client.get_workflow_handle(link.workflow_id, run_id=link.run_id)
            turns += await order(part)
            assert (await replay(link)).differences == ()
    assert turns == ["hold", "c", "a", "b"]
