"""How much a run does in one workflow task, and how many branches it runs at once."""

import asyncio
from collections.abc import Coroutine

import pytest

from coterie.dsl.model.evaluation_budget import DEFAULT_BUDGET
from coterie.dsl.sizes import MAX_VALUE_SIZE, exceeds, json_size
from coterie.dsl.values import JsonValue
from coterie.workflows.core.scope import Job
from coterie.workflows.temporal.branches import Branches, BranchGroup
from coterie.workflows.temporal.pacer import (
    MAX_CALL_BYTES,
    MAX_CALLS,
    MAX_PENDING_CALLS,
    MAX_STEPS,
    MAX_WORK,
    Pace,
)


def jobs(names: str, log: list[str]) -> dict[str, Job]:
    def job(name: str) -> Job:
        async def work() -> None:
            log.append(name)

        def begin() -> Coroutine[None, None, None]:
            return work()

        return begin

    return {name: job(name) for name in names}


async def done(ways: BranchGroup) -> None:
    """Wait until those that run have ended, and their block has heard of it."""
    await asyncio.gather(*ways.running.values())
    await asyncio.sleep(0)


def test_a_workflow_task_takes_so_many_steps_and_the_next_one_as_many() -> None:
    pace = Pace()
    for task in (7, 12):
        pace.begin(task)
        taken = 0
        while pace.may_step():
            pace.steps += 1
            taken += 1
        assert taken == MAX_STEPS


def test_a_workflow_task_begins_so_many_calls_and_bytes() -> None:
    pace = Pace()
    pace.begin(3)
    assert pace.may_call(MAX_CALL_BYTES + 1), "one that is too large by itself goes alone"
    pace.called(MAX_CALL_BYTES - 10)
    assert pace.may_call(10)
    assert not pace.may_call(11)
    pace.begin(9)
    for _ in range(MAX_CALLS):
        assert pace.may_call(10)
        pace.called(10)
    assert not pace.may_call(10)


def test_no_call_begins_beside_as_many_as_the_server_allows() -> None:
    pace = Pace(pending=MAX_PENDING_CALLS)
    assert not pace.may_call(1)
    pace.pending -= 1
    assert pace.may_call(1)
    assert MAX_PENDING_CALLS < 2000, "Temporal refuses more"


def test_a_workflow_task_evaluates_so_much_and_the_next_one_as_much() -> None:
    pace = Pace()
    for task in (7, 12):
        pace.begin(task)
        assert pace.may_step()
        pace.evaluations.meter(DEFAULT_BUDGET).charge(MAX_WORK - 1)
        pace.begin(task)
        assert pace.may_step()
        pace.evaluations.meter(DEFAULT_BUDGET).charge(0, 1024)
        pace.begin(task)
        assert not pace.may_step()


def test_evaluations_before_a_wait_count_only_once_the_run_has_asked_for_something() -> None:
    pace = Pace()
    pace.begin(3)
    pace.evaluations.meter(DEFAULT_BUDGET).charge(MAX_WORK)
    pace.woken()
    pace.begin(3)
    assert pace.work == 0
    pace.called(1)
    pace.evaluations.meter(DEFAULT_BUDGET).charge(MAX_WORK)
    pace.woken()
    pace.begin(3)
    assert pace.work == MAX_WORK


def test_steps_before_a_wait_count_only_once_the_run_has_asked_for_something() -> None:
    """A replay may put a first task that asked for nothing and the next one together."""
    pace = Pace()
    pace.begin(3)
    pace.steps = 300
    pace.woken()
    assert pace.steps == 0
    pace.called(1)
    pace.steps = 300
    pace.woken()
    assert pace.steps == 300


async def test_branches_of_nested_blocks_share_one_limit_and_each_block_runs_one() -> None:
    branches, log = Branches(limit=3), list[str]()
    outer = BranchGroup(jobs("abcd", log), branches, Pace())
    inner = [BranchGroup(jobs("xyz", log), branches, Pace()) for _ in range(3)]
    outer.start(None)
    assert list(outer.running) == ["a", "b", "c"]
    assert not outer.wants(None)
    for block in inner:
        block.start(None)
        assert list(block.running) == ["x"], "in the place of the branch that it is in"
    await done(inner[0])
    assert inner[0].ended()
    inner[0].start(None)
    assert list(inner[0].running) == ["y"]
    for block in (*inner, outer):
        await done(block)
        block.leave()
    assert branches.running == 1


async def test_branches_start_in_written_order_as_far_as_the_pace_allows() -> None:
    log = list[str]()
    pace = Pace(steps=MAX_STEPS - 2)
    ways = BranchGroup(jobs("abcd", log), Branches(limit=10), pace)
    ways.start(None)
    assert list(ways.running) == ["a", "b"]
    assert ways.wants(None)
    await done(ways)
    assert ways.ended()
    pace.begin(99)
    ways.start(1)
    assert list(ways.running) == ["c"]
    await ways.running["c"]
    assert log == ["a", "b", "c"]


@pytest.mark.parametrize(
    "value",
    [[1] * 400, {"k": "x" * 700}, [[1, 2], {"a": [3] * 90}], "é" * 200, {"a": {"b": None}}, []],
)
def test_a_value_exceeds_a_size_only_when_its_json_does(value: JsonValue) -> None:
    size = json_size(value) if isinstance(value, list | dict | str) else 1
    assert not exceeds([value], size)
    assert exceeds([value] * 300, 150)


def test_shared_values_are_weighed_each_time_without_looking_at_all_of_them() -> None:
    value: JsonValue = list[JsonValue](range(1_000_000))
    for _ in range(40):
        value = [value, value]  # as JSON, more than all disks hold
    assert exceeds([value], MAX_VALUE_SIZE)
