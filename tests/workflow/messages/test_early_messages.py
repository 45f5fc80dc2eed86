"""Messages that come before a run has a plan wait until it can judge them."""

import asyncio
import random
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio import activity
from temporalio.client import Client, WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer, Worker

from coterie.activities.contracts import (
    COMPILE_TEAM,
    FORK_RUN,
    CompileRequest,
    CompileResult,
    ForkRequest,
    ForkResult,
)
from coterie.runs.run_client import Run, updated
from coterie.runs.sessions import open_session, send_message
from coterie.storage.wire import data_converter
from coterie.worker.fork_activity import ForkActivities
from coterie.worker.plan_policy import PlanPolicy
from coterie.workflows.core.causes.trail_because import trail_because
from coterie.workflows.core.messages import (
    SEND_MESSAGE,
    DecideInput,
    ForkInput,
    SessionInput,
    TeamInput,
)
from coterie.workflows.core.requests import Decision
from coterie.workflows.handlers.early_signals import (
    MAX_EARLY_BYTES,
    MAX_EARLY_SIGNALS,
    EarlySignals,
)
from coterie.workflows.team import TeamWorkflow
from tests.chaos import early
from tests.support.engine import plan_of, trail
from tests.support.runs import asked
from tests.support.watching.prepared_sandbox import prepared_sandbox

LATER = """
orchestration:
  entry_team: first
  teams:
    first:
      tasks: [{name: sign, type: approval, prompt: "Go on?"}]
      routing: {default: second}
    second:
      tasks:
        - {name: one, type: wait, signal: word}
        - {name: two, type: wait, signal: word}
        - {name: three, type: wait, signal: end}
      routing:
        rules:
          - condition: all_success
            next_team: null
            context_updates:
              said: "{{ [tasks.one.data, tasks.two.data, tasks.three.data] }}"
"""
SESSION = """
orchestration:
  entry_team: talk
  teams:
    talk:
      tasks:
        - {name: next, type: wait, message: true}
        - {name: say, type: reply, value: "{{ tasks.next.data }}"}
"""
DECISION = DecideInput(id="first/sign#1", decision="approve", by="ann")
DECIDED = DECISION.model_dump(exclude_unset=True)
UPDATES = {
    "decide": DECIDED,
    "amend": {"updates": {"a": 1}},
    "redirect": {"team": "second"},
    "retry": {},
    "skip": {"task": "sign"},
}
SIGNED = {"id": "first/sign#1", "by": "ann"}

_TASK_TIMEOUT = timedelta(seconds=2)
"""Messages come to a run that compiles when its workflow task reports that it is still at work."""


class SlowWorker:
    """A worker that compiles, and finds the states of other runs, when it is let."""

    def __init__(self, client: Client, queue: str, folder: Path) -> None:
        self.client, self.queue, self.folder = client, queue, folder
        self.may = asyncio.Event()
        self.asked = asyncio.Event()
        self._forks = ForkActivities(client, PlanPolicy(accept_plans=True))

    @activity.defn(name=COMPILE_TEAM)
    async def compile_team(self, request: CompileRequest) -> CompileResult:
        self.asked.set()
        await self.may.wait()
        if request.document is None:
            return CompileResult(refused=f"no team {request.team!r}")
        return CompileResult(plan=plan_of(request.document))

    @activity.defn(name=FORK_RUN)
    async def fork_run(self, request: ForkRequest) -> ForkResult:
        self.asked.set()
        while not self.may.is_set():
            activity.heartbeat()
            await asyncio.sleep(0.1)
        return await self._forks.fork_run(request)

    @asynccontextmanager
    async def up(self) -> AsyncGenerator[None]:
        async with Worker(
            self.client,
            task_queue=self.queue,
            workflows=[TeamWorkflow],
            activities=[self.compile_team, self.fork_run],
            workflow_runner=prepared_sandbox(),
            build_id="test",
        ):
            yield

    async def start(self, given: TeamInput, **more: Any) -> Any:
        return await self.client.start_workflow(
            "TeamWorkflow",
            given,
            id=f"early-{uuid.uuid4()}",
            task_queue=self.queue,
            task_timeout=_TASK_TIMEOUT,
            **more,
        )


@pytest.fixture
def slow(env: WorkflowEnvironment, tmp_path: Path) -> SlowWorker:
    return SlowWorker(env.client, f"early-{uuid.uuid4()}", tmp_path)


async def refused(handle: Any, update: str, given: object) -> ApplicationError:
    with pytest.raises(WorkflowUpdateFailedError) as caught:
        await handle.execute_update(update, given)
    assert isinstance(caught.value.cause, ApplicationError)
    return caught.value.cause


async def ended(handle: Any) -> Any:
    """The result of a run, whose history can be replayed."""
    try:
        return await asyncio.wait_for(handle.result(), 120)
    finally:
        replayer = Replayer(
            workflows=[TeamWorkflow],
            data_converter=data_converter,
            workflow_runner=prepared_sandbox(),
            build_id="test",
        )
        await replayer.replay_workflow(await handle.fetch_history())


async def test_signals_keep_their_order_when_they_come_before_any_worker(slow: SlowWorker) -> None:
    handle = await slow.start(
        TeamInput(document=LATER), start_signal="word", start_signal_args=["a"]
    )
    await handle.signal("approve", SIGNED)
    await handle.signal("end", "c")
    await handle.signal("word", "b")
    slow.may.set()
    async with slow.up():
        assert (await ended(handle))["context"]["said"] == ["a", "b", "c"]
        assert [one for one in await trail(handle) if one.kind == "refused"] == []


async def test_messages_wait_while_a_worker_compiles_the_document(slow: SlowWorker) -> None:
    async with slow.up():
        handle = await slow.start(TeamInput(document=LATER))
        await slow.asked.wait()
        await handle.signal("word", "a")
        await handle.signal("word", "b")
        early = [refused(handle, update, given) for update, given in UPDATES.items()]
        malformed = [refused(handle, update, {"strange": 1}) for update in UPDATES]
        answers = await asyncio.gather(*early, *malformed)
        assert [one.type for one in answers] == ["NotYet"] * 5 + ["Malformed"] * 5
        await handle.signal("end", "c")
        slow.may.set()
        decided = await updated(Run(slow.client, handle.id), "decide", DECISION, Decision)
        assert decided.verdict == "approved"
        assert (await ended(handle))["context"]["said"] == ["a", "b", "c"]


async def test_a_message_of_a_session_waits_while_a_worker_compiles_the_document(
    slow: SlowWorker,
) -> None:
    async with slow.up():
        handle = await slow.start(TeamInput(document=SESSION))
        await slow.asked.wait()
        early = await refused(handle, SEND_MESSAGE, {"message": "hello"})
        malformed = await refused(handle, SEND_MESSAGE, {"strange": 1})
        assert (early.type, malformed.type) == ("NotYet", "Malformed")
        sending = send_message(Run(slow.client, handle.id), SessionInput(message="hello"), "one")
        sent = asyncio.create_task(sending)
        slow.may.set()
        assert await asyncio.wait_for(sent, 120) == "hello"
        await ended(handle)


async def test_a_session_of_a_document_starts_with_its_first_message(slow: SlowWorker) -> None:
    async with slow.up():
        opening = open_session(
            slow.client,
            "early-first-message",
            TeamInput(document=SESSION),
            SessionInput(message="hello"),
            "one",
            task_queue=slow.queue,
            summary="test",
        )
        opened = asyncio.create_task(opening)
        await slow.asked.wait()
        slow.may.set()
        assert await asyncio.wait_for(opened, 120) == "hello"
        await ended(slow.client.get_workflow_handle("early-first-message"))


async def test_no_signal_is_lost_of_many_to_runs_without_a_worker(slow: SlowWorker) -> None:
    """`python -m tests.chaos.early` sends them to 1,000 runs on the embedded server."""
    sent = await early.send(slow.client, slow.queue, 8, random.Random(1))
    slow.may.set()
    async with slow.up():
        assert await early.lost(slow.client, sent) == []


async def test_a_signal_that_no_step_waits_for_is_refused_when_the_plan_is_known(
    slow: SlowWorker,
) -> None:
    async with slow.up():
        handle = await slow.start(TeamInput(document=LATER))
        await slow.asked.wait()
        await handle.signal("strange", 1)
        await handle.signal("approve", args=[SIGNED, SIGNED])
        await handle.signal("pause", {"by": "ann"})
        slow.may.set()
        await asked(handle)
        assert (await handle.query("status"))["paused"]["by"] == "ann"
        [strange, several] = [one for one in await trail(handle) if one.kind == "refused"]
        assert "no step of this plan waits for a signal 'strange'" in strange.because
        assert "a message has one argument, and this one has 2" in several.because
        await handle.terminate()


async def test_messages_wait_while_a_worker_looks_for_the_state_that_a_run_forks(
    slow: SlowWorker,
) -> None:
    async with slow.up():
        slow.may.set()
        other = await slow.start(TeamInput(document=LATER))
        await asked(other)
        await other.execute_update("decide", DECIDED)
        for word, name in (("a", "word"), ("b", "word"), ("c", "end")):
            await other.signal(name, word)
        await ended(other)
        slow.may.clear()
        slow.asked.clear()
        handle = await slow.start(TeamInput(fork=ForkInput(run=other.id, at="second#1")))
        await slow.asked.wait()
        for word, name in (("x", "word"), ("y", "word"), ("z", "end")):
            await handle.signal(name, word)
        assert (await refused(handle, "amend", {"updates": {"by": "ann"}})).type == "NotYet"
        slow.may.set()
        assert (await ended(handle))["context"]["said"] == ["x", "y", "z"]


async def test_an_early_signal_holds_no_run_up_when_the_document_does_not_compile(
    slow: SlowWorker,
) -> None:
    handle = await slow.start(TeamInput(team="nowhere"))
    await handle.signal("word", "a")
    await handle.signal("approve", SIGNED)
    slow.may.set()
    async with slow.up():
        with pytest.raises(WorkflowFailureError) as caught:
            await ended(handle)
        assert "no team 'nowhere'" in str(caught.value.cause)
        assert [one.because for one in await trail(handle)] == [
            "no step of this plan waits for a signal 'word'",
            "nothing waits under 'first/sign#1'; pending: none",
        ]


async def test_an_early_signal_holds_no_run_up_that_is_cancelled(slow: SlowWorker) -> None:
    async with slow.up():
        handle = await slow.start(TeamInput(fork=ForkInput(run="other")))
        await slow.asked.wait()
        await handle.signal("word", "a")
        await handle.cancel()
        with pytest.raises(WorkflowFailureError) as caught:
            await ended(handle)
        assert "cancelled" in str(caught.value.cause).lower()


async def test_the_trail_names_early_signals_that_did_not_fit(slow: SlowWorker) -> None:
    handle = await slow.start(TeamInput(document=LATER))
    await handle.signal("word", "a")
    await handle.signal("word", "b")
    for _ in range(4):
        await handle.signal("large", "x" * (MAX_EARLY_BYTES // 4))
    await handle.signal("end", "c")
    await handle.signal("approve", SIGNED)
    slow.may.set()
    async with slow.up():
        assert (await ended(handle))["context"]["said"] == ["a", "b", "c"]
        refusals = [one.because for one in await trail(handle) if one.kind == "refused"]
        assert refusals[0].startswith("1 signal 'large' came before the run could judge them")
        assert refusals[1:] == ["no step of this plan waits for a signal 'large'"] * 3


def test_the_queue_of_early_signals_is_bounded_by_number_and_by_names_it_tells() -> None:
    queue = EarlySignals()
    assert all(queue.admit("word", 10) for _ in range(MAX_EARLY_SIGNALS))
    assert not any(queue.admit(f"name{number % 100}", 0) for number in range(1_000))
    reasons = [trail_because(cause) for cause in queue.overflow()]
    assert len(reasons) == 21
    assert reasons[0].startswith("10 signals 'name0' came before the run could judge them")
    assert reasons[-1].startswith("800 signals 'others'")
    assert queue.bytes == 10 * MAX_EARLY_SIGNALS
