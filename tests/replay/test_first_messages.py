"""A replay may hand out the first messages before the run does anything: nothing changes by it."""

import json
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from coterie.storage.wire import data_converter
from coterie.workflows.team import TeamWorkflow
from tests.support.engine import engine
from tests.support.runs import Handle, asked
from tests.support.servers.temporal_server import time_skipping
from tests.support.watching.prepared_sandbox import prepared_sandbox

TEAM = """
orchestration:
  entry_team: only
  teams:
    only:
      tasks:
        - {name: sign, type: approval, prompt: "Go on?", approvers: [ann]}
        - {name: write, agent_type: generic_single_shot, persona_key: writer}
"""
APPROVAL = {"id": "only/sign#1", "by": "ann"}
SAID = "EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED", "EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED"


async def history_of(folder: Path, how: str) -> Any:
    """A run whose first step asks, and what was said to it in its second workflow task."""
    async with (
        time_skipping() as env,
        engine(env, folder, [{"task": "write", "answer": "It."}]) as running,
    ):
        handle: Handle = await running.start(TEAM)
        await asked(handle)
        if how == "signal":
            await handle.signal("pause", {"by": "ann"})
            await handle.signal("approve", APPROVAL)
            await handle.signal("resume", {"by": "ann"})
        else:
            await handle.execute_update("decide", {**APPROVAL, "decision": "approve"})
        await handle.result()
        return json.loads((await handle.fetch_history()).to_json())


def as_if_nothing_had_ended_the_first_task(history: Any) -> None:
    """A workflow task scheduled right after one that asked for nothing: the two are put together.

    A server writes it so when an update was on its way, and was refused, as the signal came.
    """
    events = history["events"]
    at = [event["eventType"] for event in events].index(SAID[0])
    scheduled = next(
        index
        for index in range(at, len(events))
        if events[index]["eventType"] == "EVENT_TYPE_WORKFLOW_TASK_SCHEDULED"
    )
    before = events[scheduled]["eventId"]
    events.insert(at, events.pop(scheduled))
    ids = {event["eventId"]: str(number) for number, event in enumerate(events, 1)}
    assert ids[before] == str(at + 1)
    for event in events:
        event["eventId"] = ids[event["eventId"]]
        for attributes in event.values():
            if isinstance(attributes, dict) and "scheduledEventId" in attributes:
                attributes["scheduledEventId"] = ids[attributes["scheduledEventId"]]


@pytest.mark.parametrize("how", ["signal", "update"])
async def test_a_decision_counts_in_a_replay_that_hands_it_out_first(
    tmp_path: Path, how: str
) -> None:
    history = await history_of(tmp_path, how)
    if how == "signal":
        as_if_nothing_had_ended_the_first_task(history)
    replayer = Replayer(
        workflows=[TeamWorkflow],
        data_converter=data_converter,
        workflow_runner=prepared_sandbox(),
        build_id="test",
    )
    result = await replayer.replay_workflow(
        WorkflowHistory.from_json("run", json.dumps(history)), raise_on_replay_failure=False
    )
    assert result.replay_failure is None
