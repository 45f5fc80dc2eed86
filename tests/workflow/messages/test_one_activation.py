"""What comes to a run in one and the same workflow task is all taken, in an order that holds."""

import asyncio
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.update.v1 import UpdateRef
from temporalio.api.workflowservice.v1 import PollWorkflowExecutionUpdateRequest
from temporalio.client import Client, WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Replayer, Worker
from temporalio.worker._workflow_instance import (
    _WorkflowLogicFlag as Flag,  # pyright: ignore[reportPrivateUsage]
)

from coterie.settings import load
from coterie.storage.wire import data_converter
from coterie.testing.simulation.case_server import time_skipping_server
from coterie.workflows.core.messages import TeamInput
from coterie.workflows.team import TeamWorkflow
from tests.support.engine import plan_of, trail
from tests.support.runs import asked
from tests.support.servers.temporal_server import suggesting_after
from tests.support.watching.prepared_sandbox import prepared_sandbox

Handle = Any
TEAM = """
orchestration:
  entry_team: work
  max_total_teams: 1
  teams:
    other: {tasks: [{name: idle, type: set, values: {n: 1}}]}
    work:
      tasks:
"""


@pytest.fixture(scope="module")
async def server() -> AsyncGenerator[Client]:
    """The real server: it forgets a worker that has ended at once."""
    async with time_skipping_server(load()) as client:
        yield client


APPROVAL = """
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - {name: wait, type: wait, duration: 1s}
        - {name: set, type: set, values: {seen: "{{ context.n | default(0) }}"}}
        - {name: sign, type: approval, prompt: "Well?"}
      routing:
        rules:
          - condition: all_success
            next_team: other
            context_updates: {seen: "{{ tasks.set.data.seen }}"}
    other: {tasks: [{name: idle, type: set, values: {n: 1}}]}
"""
SIGNED = {"id": "work/sign#1", "by": "ann"}


@asynccontextmanager
async def served(server: Client, queue: str, flags: tuple[Flag, ...] = ()) -> AsyncGenerator[None]:
    """A worker that keeps no run in memory; the run makes no calls."""
    worker = Worker(
        server,
        task_queue=queue,
        workflows=[TeamWorkflow],
        workflow_runner=prepared_sandbox(everything=True),
        build_id="test",
        max_cached_workflows=0,
    )
    for flag in flags:
        worker._set_default_workflow_logic_flag(flag, enabled=True)  # pyright: ignore[reportPrivateUsage]
    async with worker:
        yield


async def begun(server: Client, queue: str, text: str, step: str) -> Handle:
    """A run that has come to a step, where no worker serves it any more."""
    handle: Handle = await server.start_workflow(
        "TeamWorkflow", TeamInput(plan=plan_of(text)), id=f"test-{uuid.uuid4()}", task_queue=queue
    )
    async with served(server, queue):
        for _ in range(4000):
            status = await handle.query("status")
            if step in [one["step"] for one in status["doing"]]:
                return handle
    raise AssertionError(f"{step} never began")


async def timer_fired(handle: Handle) -> None:
    """Wait until the server has recorded that a time is up."""
    for _ in range(4000):
        events = (await handle.fetch_history()).events
        if any(event.event_type == EventType.EVENT_TYPE_TIMER_FIRED for event in events):
            return
        await asyncio.sleep(0.02)  # between two looks
    raise AssertionError("no timer fired")


async def sent(server: Client, handle: Handle, name: str, given: object) -> "asyncio.Task[Any]":
    """An update that the server keeps for a worker."""
    id = f"update-{uuid.uuid4()}"
    sending = asyncio.create_task(handle.execute_update(name, given, id=id))
    request = PollWorkflowExecutionUpdateRequest(
        namespace=server.namespace,
        update_ref=UpdateRef(
            workflow_execution=WorkflowExecution(workflow_id=handle.id), update_id=id
        ),
    )
    for _ in range(4000):
        try:
            await server.workflow_service.poll_workflow_execution_update(request)
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise
            await asyncio.sleep(0.02)  # between two looks
        else:
            return sending
    raise AssertionError("the server never took the update")


async def replayed(handle: Handle) -> None:
    replayer = Replayer(
        workflows=[TeamWorkflow],
        data_converter=data_converter,
        workflow_runner=prepared_sandbox(),
        build_id="test",
    )
    await replayer.replay_workflow(await handle.fetch_history())


@pytest.mark.parametrize("flags", [(), tuple(Flag)], ids=["as it is", "every flag of the SDK"])
async def test_updates_are_judged_after_what_came_before_them(
    server: Client, flags: tuple[Flag, ...]
) -> None:
    """The request opens with the timer; the step before it has not seen what is amended later."""
    queue = f"test-{uuid.uuid4()}"
    handle = await begun(server, queue, APPROVAL, "work/wait")
    await timer_fired(handle)
    updates = {
        "amend": {"updates": {"n": 5}, "by": "ann"},
        "decide": {**SIGNED, "decision": "approve"},
        "skip": {"task": "other/idle", "by": "ann"},
    }
    answers = [await sent(server, handle, name, given) for name, given in updates.items()]
    async with served(server, queue, flags):
        amended, decided, skipped = await asyncio.gather(*answers)
        assert (amended, decided["verdict"], skipped["verdict"]) == (1, "approved", "skipped")
        context = (await handle.result())["context"]
    assert (context["seen"], context["n"]) == (0, 5)
    await replayed(handle)


async def test_an_update_is_judged_after_a_workflow_task_that_asked_for_nothing(
    server: Client,
) -> None:
    """Where another worker takes the run up, the engine joins that task with the update's."""
    queue = f"test-{uuid.uuid4()}"
    handle = await begun(server, queue, APPROVAL, "work/wait")
    async with served(server, queue):
        await handle.signal("resume")  # a task between the timer's start and its end
        await timer_fired(handle)
        await asked(handle)
    answers = [
        await sent(server, handle, "amend", {"updates": {"n": 5}}),
        await sent(server, handle, "decide", {**SIGNED, "decision": "approve"}),
    ]
    async with served(server, queue):
        amended, decided = await asyncio.gather(*answers)
        assert (amended, decided["verdict"]) == (1, "approved")
        assert (await handle.result())["context"]["seen"] == 0
    await replayed(handle)


async def test_a_signal_is_judged_after_what_came_before_it(server: Client) -> None:
    queue = f"test-{uuid.uuid4()}"
    handle = await begun(server, queue, APPROVAL, "work/wait")
    await timer_fired(handle)
    await handle.signal("approve", SIGNED)
    async with served(server, queue):
        assert (await handle.result())["end"] == "completed"
        found = [(entry.kind, entry.status) for entry in await trail(handle)]
        assert ("approval", "approved") in found
        assert "refused" not in {kind for kind, _ in found}
    await replayed(handle)


async def test_a_signal_is_not_lost_when_the_run_continues_as_new_with_what_came_before_it() -> (
    None
):
    text = """
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - {name: wait, type: wait, duration: 1s}
        - {name: word, type: wait, signal: word}
"""
    queue = f"test-{uuid.uuid4()}"
    async with suggesting_after(6) as env:
        handle = await begun(env.client, queue, text, "work/wait")
        await timer_fired(handle)
        await handle.signal("word", "kept")
        async with served(env.client, queue):
            result = await asyncio.wait_for(handle.result(), 60)
        assert result["output"]["word"] == "kept"
        latest = (await handle.fetch_history()).events[0]
        assert latest.workflow_execution_started_event_attributes.continued_execution_run_id


async def test_an_update_is_refused_when_the_run_ends_with_what_came_before_it(
    server: Client,
) -> None:
    queue = f"test-{uuid.uuid4()}"
    wait = "{name: wait, type: wait, duration: 1s}"
    handle = await begun(server, queue, f"{TEAM}        - {wait}\n", "work/wait")
    await timer_fired(handle)
    sending = await sent(server, handle, "amend", {"updates": {"n": 5}})
    async with served(server, queue):
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await sending
        assert isinstance(refused.value.cause, ApplicationError)
        assert refused.value.cause.type == "NotYet"
        assert (await handle.result())["end"] == "completed"
    await replayed(handle)


@pytest.mark.parametrize("flags", [(), tuple(Flag)], ids=["as it is", "every flag of the SDK"])
async def test_a_decision_counts_when_it_comes_with_its_deadline(
    server: Client, flags: tuple[Flag, ...]
) -> None:
    queue = f"test-{uuid.uuid4()}"
    sign = "{name: sign, type: approval, prompt: 'Well?', deadline: 1s, on_timeout: fail}"
    handle = await begun(server, queue, f"{TEAM}        - {sign}\n", "work/sign")
    await handle.signal("approve", {"id": "work/sign#1", "by": "ann"})
    await timer_fired(handle)
    async with served(server, queue, flags):
        assert (await handle.result())["end"] == "completed"
        decided = [entry for entry in await trail(handle) if entry.kind == "approval"]
        assert [entry.status for entry in decided] == ["approved"]


@pytest.mark.parametrize("flags", [(), tuple(Flag)], ids=["as it is", "every flag of the SDK"])
async def test_a_message_of_a_session_wins_when_it_comes_with_the_deadline_of_its_wait(
    server: Client, flags: tuple[Flag, ...]
) -> None:
    queue = f"test-{uuid.uuid4()}"
    talk = (
        "        - {name: next, type: wait, message: true, deadline: 1s}\n"
        '        - {name: say, type: reply, value: "{{ tasks.next.data }}"}\n'
    )
    handle = await begun(server, queue, TEAM + talk, "work/next")
    await timer_fired(handle)
    reply = await sent(server, handle, "send_message", {"message": "hello"})
    async with served(server, queue, flags):
        assert await reply == "hello"
        assert (await handle.result())["end"] == "completed"
    await replayed(handle)


@pytest.mark.parametrize(
    "last", ["team: other", "type: return, value: 1"], ids=["meets a limit", "returns"]
)
async def test_a_cancelled_run_ends_as_cancelled_when_a_branch_ends_the_block_at_that_moment(
    server: Client, last: str
) -> None:
    queue = f"test-{uuid.uuid4()}"
    tasks = f"[{{name: wait, type: wait, duration: 1s}}, {{name: again, {last}}}]"
    for level in range(4):  # the limit is met before the cancel has come down to it
        tasks = f"""[{{name: level{level}, type: parallel, branches: {{
            held: [{{name: hold{level}, type: wait, duration: 1h}}],
            limit: {tasks},
            rest: [{{name: rest{level}, type: wait, duration: 1h}}]}}}}]"""
    text = f"{TEAM}        {tasks}\n".replace("tasks:\n        [", "tasks: [")
    handle = await begun(server, queue, text, "work/level3/rest/rest3")
    await timer_fired(handle)
    await handle.cancel()
    async with served(server, queue):
        with pytest.raises(WorkflowFailureError) as failed:
            await handle.result()
        assert isinstance(failed.value.cause, CancelledError)
        ended = {entry.step: entry.status for entry in await trail(handle) if entry.kind == "step"}
        for step in ("hold3", "rest3", "hold0", "rest0"):
            assert [ended[one] for one in ended if str(one).endswith(step)] == ["cancelled"]


ENDINGS = {
    "expires": "{name: expires, type: wait, duration: 1h, timeout: 1s}",
    "undecided": "{name: undecided, type: approval, prompt: Well?, deadline: 1s, on_timeout: fail}",
    "elsewhere": "{name: elsewhere, type: approval, prompt: Go?, deadline: 1s, on_timeout: other}",
    "limit": "{name: pause, type: wait, duration: 1s}, {name: limit, type: team, team: other}",
    "returns": "{name: nap, type: wait, duration: 1s}, {name: returns, type: return, value: 1}",
    "held": "{name: held, type: wait, duration: 1h}",
}
"""What ends, or leaves, a block after a second; and what does not."""


@pytest.mark.parametrize("is_cancelled", [True, False], ids=["cancelled", "left alone"])
@pytest.mark.parametrize("join", ["all", "any"])
@pytest.mark.parametrize("backwards", [False, True], ids=["as written", "backwards"])
async def test_every_way_to_stop_at_one_moment_ends_every_branch_and_replays_the_same(
    server: Client, join: str, *, backwards: bool, is_cancelled: bool
) -> None:
    queue = f"test-{uuid.uuid4()}"
    names = sorted(ENDINGS, reverse=backwards)
    branches = "".join(f"            {name}: [{ENDINGS[name]}]\n" for name in names)
    text = (
        f"{TEAM}        - name: all\n          type: parallel\n          join: {join}\n"
        f"          branches:\n{branches}"
    )
    handle = await begun(server, queue, text, "work/all/held/held")
    await timer_fired(handle)
    if is_cancelled:
        await handle.cancel()
    async with served(server, queue):
        result: Any
        try:
            result = await handle.result()
        except WorkflowFailureError as failed:
            result = failed.cause
        ended = [entry.step for entry in await trail(handle) if entry.kind == "step"]
        status = await handle.query("status")
    if is_cancelled:
        assert isinstance(result, CancelledError)
        for name in ("expires", "undecided", "elsewhere", "pause", "nap", "held"):
            assert [step for step in ended if str(step).endswith(f"/{name}")] != [], name
    elif backwards:  # what is written first leads: here the `return`, and else the other team
        assert result["end"] == "completed"
    else:
        assert isinstance(result, ApplicationError)
        assert result.type == "LimitExceeded"
    assert status.get("doing", []) == []
    assert status.get("waiting_for", []) == []
    assert len(ended) == len(set(ended))
    await replayed(handle)


async def test_branches_that_are_stopped_have_all_ended_before_the_run_goes_on(
    server: Client,
) -> None:
    """The second of four fails as it is stopped; the third still has to clean up."""
    text = """
orchestration:
  entry_team: work
  teams:
    next: {tasks: [{name: first, type: set, values: {n: 1}}]}
    work:
      tasks:
        - name: race
          type: parallel
          join: any
          branches:
            quick: [{name: wait, type: wait, duration: 1s}]
            returns:
              - name: guarded
                type: try
                steps: [{name: hold, type: wait, duration: 1h}]
                finally: [{name: back, type: return, value: 1}]
            cleans:
              - name: swept
                type: try
                steps: [{name: work, type: wait, duration: 1h}]
                finally:
                  - {name: slowly, type: wait, duration: 1s}
                  - {name: clean, type: set, values: {n: 1}}
            last: [{name: stay, type: wait, duration: 1h}]
      routing: {default: next}
"""
    queue = f"test-{uuid.uuid4()}"
    handle = await begun(server, queue, text, "work/race/last/stay")
    async with served(server, queue):
        await handle.result()
        found = [(entry.team, entry.step) for entry in await trail(handle)]
    assert found.index(("work", "race/cleans/swept/clean")) < found.index(("next", None))
