"""Runs of which only a history is there: where another begins, and what is compared with it."""

import re
import shlex
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.client import (
    WorkflowExecution,
    WorkflowExecutionStatus,
    WorkflowHistory,
    WorkflowQueryFailedError,
)
from temporalio.service import RPCError, RPCStatusCode

from coterie.commands.parser import parse_command
from coterie.control.fork_point import PassedPoints, point_at, point_of_failure
from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.failures import CommandError
from coterie.replay.replay import Comparison, RunReplayed
from coterie.storage.histories import read_history
from coterie.workflows.core.causes.step_causes import Failed
from coterie.workflows.core.state import RunState, TrailRecord
from coterie.workflows.core.state_parts import Frame
from tests.replay.record import HISTORIES
from tests.support.compiling import plan_of
from tests.support.servers.recorded_client import Recorded, client_of


def history(name: str, *, events: int | None = None) -> WorkflowHistory:
    whole = read_history(HISTORIES / f"{name}.0.1.0.json")
    return WorkflowHistory(name, list(whole.events)[:events])


async def refused(*histories: WorkflowHistory, run: str) -> str:
    with pytest.raises(CommandError) as failed:
        await point_of_failure(await client_of(Recorded(histories)), run, None)
    return str(failed.value)


async def forks(message: str, run: WorkflowHistory) -> str:
    """Return where the printed command starts another run, if it can."""
    printed = re.search("`coterie (fork .*)`", message)
    assert printed is not None, message
    _, args = parse_command(shlex.split(printed[1]))
    return (await point_at(await client_of(Recorded([run])), args.run, None, args.at)).at


@pytest.mark.parametrize(
    ("events", "at"), [(None, "polish#1"), (10, "write#1")], ids=["completed", "goes on"]
)
async def test_a_run_that_has_not_failed_does_not_go_on_where_it_failed(
    events: int | None, at: str
) -> None:
    run = history("steered", events=events)
    message = await refused(run, run="steered")
    assert message.startswith("run 'steered' has not failed; to start another run at one of its")
    assert await forks(message, run) == at


async def test_a_run_that_would_fail_again_at_once_does_not_go_on_where_it_failed() -> None:
    message = await refused(history("limit"), run="limit")
    assert message.startswith(
        "run 'limit' ended with LimitExceeded, and would end so again from there"
    )
    assert await forks(message, history("limit"))
    assert "there is no run 'gone'" in await refused(run="gone")


def entry(kind: Any, status: str | None, step: str | None) -> TrailRecord:
    return TrailRecord(1, 0.0, kind, "t", 1, step, status)


def test_replay_takes_only_failed_steps_as_the_point_of_failure() -> None:
    entries = [
        entry("step", "success", "good"),
        entry("step", "skipped", "left"),
        entry("step", "failure", "bad"),
        entry("route", "failure", None),
        entry("control", "failure", "word"),
    ]
    any_point, one_visit = PassedPoints(None), PassedPoints("t#1")
    for one in entries:
        any_point.pass_by(RunState(), one)
        one_visit.pass_by(RunState(), one)
    assert [failure.path for failure in any_point.failures] == ["bad"]
    assert not one_visit.failures, "nobody asked where it failed"


BLOCKS = """
orchestration:
  entry_team: t
  teams:
    t:
      tasks:
        - name: outer
          type: try
          steps: [{name: inner, type: fail, error: E, message: x}]
          finally: [{name: last, type: set, values: {n: 1}}]
"""


@pytest.mark.parametrize(("same", "path"), [(True, "outer/inner"), (False, "outer")])
def test_run_goes_on_at_the_step_whose_very_failure_ended_it_whatever_its_words(
    same: bool, path: str
) -> None:
    inner = Failure("E", "x")
    outer = inner if same else Failure("E", "x")
    state = RunState()
    state.main.team, state.main.visit = "t", 1
    state.frames["main:t#1"] = Frame({"outer": Outcome("failure", error=outer)})
    points = PassedPoints(None, plan=plan_of(BLOCKS), state=state)
    for step, failure in (("outer/inner", inner), ("outer", outer)):
        cause = Failed("failed", failure)
        points.pass_by(state, TrailRecord(1, 0.0, "step", "t", 1, step, "failure", cause))
    found = points.failed_step()
    assert found is not None
    assert found.path == path


async def compared(known: Recorded) -> list[RunReplayed]:
    """The open runs, one after the other."""

    async def listed() -> AsyncIterator[WorkflowExecution]:
        for id in known.histories:
            state = WorkflowExecutionStatus.RUNNING
            yield cast("Any", SimpleNamespace(id=id, status=state, task_queue="work"))

    comparison = Comparison(await client_of(known))
    return [
        await comparison._compare_with_worker(one)  # pyright: ignore[reportPrivateUsage]
        async for one in listed()
    ]


@pytest.mark.parametrize(
    "failure",
    [
        WorkflowQueryFailedError("no such query"),
        RPCError("not allowed", RPCStatusCode.PERMISSION_DENIED, b""),
        RPCError("away", RPCStatusCode.UNAVAILABLE, b""),
    ],
)
async def test_a_run_whose_worker_does_not_tell_its_state_is_compared_by_its_calls(
    failure: Exception,
) -> None:
    known = Recorded([history("fan_out", events=10), history("steered", events=10)])
    known.failure = failure
    done = await compared(known)
    assert [(one.run, one.same, one.compared) for one in done] == [
        ("fan_out", True, None),
        ("steered", True, None),
    ]
    assert known.queries == ["fan_out", "steered"], "the next one may answer"


async def test_a_queue_without_a_worker_is_asked_once() -> None:
    known = Recorded([history("fan_out", events=10), history("steered", events=10)])
    done = await compared(known)
    assert [one.same for one in done] == [True, True]
    assert known.queries == ["fan_out"]
