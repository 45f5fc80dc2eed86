"""Turns of one conversation: who waits for whom, what a waiter keeps, and what a turn leaves."""

import asyncio
from collections.abc import Callable

import pytest

from coterie.activities.contracts import AgentResponse, ContextUse, Conversation, TokenUsage
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.tool_loop.exchange import ToolResult
from coterie.runs.in_process.local_scope import LocalScope
from coterie.workflows.agents.conversation_order import (
    converse,
    hold_conversation,
    keep_conversation,
)
from coterie.workflows.core.location import Location, Skipped
from coterie.workflows.core.messages import SkipInput
from coterie.workflows.core.progress.agent_progress import AgentLoopProgress
from coterie.workflows.core.progress.step_progress import ConversationTicket
from coterie.workflows.core.scope import Interrupted
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import MAIN
from coterie.workflows.core.views import Paused
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import persona, tool_plan
from tests.unit.workflows.agents.test_conversation_order import World

PLAN = tool_plan({}, {"actor": persona()})
TALK = "talk"
PAUSED = Paused(by="ann", why="", since="2026-01-01T00:00:00Z")
DONE = Outcome.succeeded()


def at(name: str) -> Location:
    return Location.of_visit(MAIN, "work", 1).at(name)


class Table:
    """Calls of one conversation, and who has its turn in which order."""

    def __init__(self) -> None:
        self.state: RunState = fresh(PLAN, {})
        self.scope = LocalScope(PLAN, self.state, World())
        self.order: list[str] = []

    @property
    def tickets(self) -> dict[str, bool]:
        """`{name: whether its call is back}`."""
        found = self.state.progress.conversation_tickets
        names: dict[str, str] = {at(name).key: name for name in ("first", "second")}
        return {names[key]: one.is_back for key, one in found.items()}

    def expects(self, name: str, *, is_back: bool) -> None:
        """Give a call the next place in the queue."""
        ticket = ConversationTicket(TALK, is_back)
        self.state.progress.conversation_tickets[at(name).key] = ticket

    def works(self, name: str) -> None:
        """Let a call be between two of its turns."""
        loop = AgentLoopProgress(execution=1, conversation=TALK)
        self.state.progress.tool_loops[at(name).key] = loop

    async def call(self, name: str, end: Callable[[], Outcome] = lambda: DONE) -> Outcome:
        async def work() -> Outcome:
            self.order.append(name)
            await asyncio.sleep(0)
            return end()

        return await hold_conversation(TALK, at(name), self.scope, work)

    async def stir(self, change: Callable[[], object] = lambda: None) -> None:
        """Change something, and let every waiter look."""
        change()
        self.scope.signal("stirred")
        for _ in range(20):
            await asyncio.sleep(0)


def interrupted() -> Outcome:
    raise Interrupted


async def test_an_agent_does_not_wait_for_the_one_that_called_it() -> None:
    table = Table()
    table.works("first")
    outcome = await table.call("first/inner")
    assert outcome.error is not None
    assert (outcome.error.type, table.order) == ("ConversationBusy", [])


async def test_a_call_that_ended_leaves_the_queue_and_the_conversation() -> None:
    table = Table()
    await table.call("first")
    assert (table.tickets, table.state.talking) == ({}, [])


@pytest.mark.parametrize(
    ("works", "tickets"),
    [(False, {"first": False}), (True, {})],
    ids=["before its first turn", "between two turns"],
)
async def test_a_call_that_a_new_history_interrupts_keeps_its_place_until_it_has_its_turn(
    works: bool, tickets: dict[str, bool]
) -> None:
    table = Table()
    if works:
        table.works("first")
    with pytest.raises(Interrupted):
        await table.call("first", interrupted)
    assert (table.tickets, table.state.talking) == (tickets, [])


async def test_a_call_between_two_turns_waits_while_another_one_talks() -> None:
    table = Table()
    table.works("first")
    table.state.talking.append(TALK)
    async with asyncio.timeout(20):
        waits = asyncio.create_task(table.call("first"))
        await table.stir()
        assert table.order == []
        await table.stir(table.state.talking.clear)
        await waits
    assert table.order == ["first"]


async def test_a_call_waits_while_another_one_is_between_two_of_its_turns() -> None:
    table = Table()
    table.works("first")
    async with asyncio.timeout(20):
        waits = asyncio.create_task(table.call("second"))
        await table.stir()
        assert table.order == []
        await table.stir(table.state.progress.tool_loops.clear)
        await waits
    assert table.order == ["second"]


async def test_no_call_begins_while_the_run_is_paused() -> None:
    table = Table()
    table.state.paused = PAUSED
    async with asyncio.timeout(20):
        waits = asyncio.create_task(table.call("first"))
        await table.stir()
        assert not waits.done()
        table.state.paused = None
        await table.stir()
        await waits
    assert table.order == ["first"]


async def test_a_call_waits_for_one_that_has_asked_before_it() -> None:
    table = Table()
    table.expects("first", is_back=True)
    async with asyncio.timeout(20):
        second = asyncio.create_task(table.call("second"))
        await table.stir()
        assert not second.done()
        await table.call("first")
        await table.stir()
        await second
    assert table.order == ["first", "second"]


async def test_calls_that_come_back_in_another_order_keep_their_places() -> None:
    table = Table()
    table.expects("first", is_back=False)
    table.expects("second", is_back=False)
    async with asyncio.timeout(20):
        calls = [asyncio.create_task(table.call(name)) for name in ("second", "first")]
        await table.stir()
        await table.stir()
        await asyncio.gather(*calls)
    assert table.order == ["first", "second"]


async def test_a_call_that_does_not_come_back_blocks_nobody() -> None:
    table = Table()
    table.expects("first", is_back=False)
    async with asyncio.timeout(20):
        await table.call("second")
    assert table.order == ["second"]


async def test_a_call_that_waits_for_its_turn_can_be_skipped() -> None:
    table = Table()
    table.state.talking.append(TALK)
    key = at("first").step
    async with asyncio.timeout(20):
        waits = asyncio.create_task(table.call("first"))
        await table.stir()
        table.state.skips[key] = SkipInput(task=key, value=7, by="ann")
        await table.stir()
        assert waits.done()
        with pytest.raises(Skipped) as skipped:
            await waits
        assert (skipped.value.value, table.state.skips, table.tickets) == (7, {}, {})
    assert table.order == []


STEP = PersonaStep(
    kind="agent",
    name="first",
    agent_type="generic_single_shot",
    persona_key="actor",
    conversation=TALK,
)
FAILED = Outcome.failed("HookFailed", "no")


@pytest.mark.parametrize(
    ("answered", "outcome"),
    [(True, DONE), (True, FAILED), (False, FAILED)],
    ids=["answer", "stopped by a hook", "unusable"],
)
async def test_a_turn_advances_its_conversation_and_sends_what_was_left(
    answered: bool, outcome: Outcome
) -> None:
    table = Table()
    left = ToolResult(text="found")
    table.state.unsent_results[TALK] = [left]
    table.state.conversations[TALK] = "before"
    windows: list[Conversation] = []

    async def turns(window: Conversation) -> tuple[Outcome, AgentResponse | None]:
        windows.append(window)
        return outcome, AgentResponse(success=answered, conversation="after")

    assert await converse(STEP, at("first"), table.scope, turns) == outcome
    assert [(one.head, one.left) for one in windows] == [("before", (left,))]
    assert table.state.conversations == {TALK: "after"}
    assert TALK not in table.state.unsent_results


@pytest.mark.parametrize(
    ("usage", "tokens"), [(TokenUsage(input_tokens=70, output_tokens=5), 75), (None, 10)]
)
def test_a_turn_of_a_persona_that_does_not_compact_counts_for_the_size_of_its_conversation(
    usage: TokenUsage | None, tokens: int
) -> None:
    state = fresh(PLAN, {})
    keep_conversation(state, TALK, "a", ContextUse(tokens=10, window=100, turns=2))
    keep_conversation(state, TALK, "b", None, usage)
    keep_conversation(state, "other", "c", None, usage)
    assert state.conversations == {TALK: "b", "other": "c"}
    assert state.conversation_sizes == {TALK: ContextUse(tokens=tokens, window=100, turns=3)}
