"""A run yields to Temporal when a workflow task is full: by one timer, and only if it must."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio import workflow

from coterie.workflows.core.scope import Job
from coterie.workflows.temporal.branches import Branches, BranchRunner
from coterie.workflows.temporal.pacer import (
    MAX_CALL_BYTES,
    MAX_CALLS,
    MAX_PENDING_CALLS,
    MAX_STEPS,
    MAX_WORK,
    Pacer,
)


class Engine:
    """Temporal's side: it checks conditions, all together, when nothing else can proceed.

    The history grows with each timer, and with what a test lets happen when the run waits.
    """

    def __init__(self) -> None:
        self.length = 1
        self.timers: list[str] = []
        self.waits = 0
        self.happens: list[Callable[[], object]] = []
        self.conditions: list[tuple[Callable[[], bool], asyncio.Event]] = []

    def grow(self) -> None:
        self.length += 1

    async def wait_condition(self, ready: Callable[[], bool], **_: Any) -> None:
        self.waits += 1
        holds = asyncio.Event()
        self.conditions.append((ready, holds))
        await holds.wait()

    async def sleep(self, duration: timedelta, *, summary: str) -> None:
        assert duration > timedelta()
        self.timers.append(summary)
        fires = asyncio.Event()
        self.happens.append(lambda: (self.grow(), fires.set()))
        await fires.wait()

    async def serve(self) -> None:
        while True:
            for _ in range(10):
                await asyncio.sleep(0)
            held = [one for one in self.conditions if one[0]()]
            self.conditions = [one for one in self.conditions if one not in held]
            for _, holds in held:
                holds.set()
            if not held and self.happens:
                self.happens.pop(0)()


@pytest.fixture
async def engine(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Engine]:
    there = Engine()
    info = SimpleNamespace(get_current_history_length=lambda: there.length)
    monkeypatch.setattr(workflow, "info", lambda: info)
    monkeypatch.setattr(workflow, "sleep", there.sleep)
    monkeypatch.setattr(workflow, "wait", asyncio.wait)
    monkeypatch.setattr(workflow, "wait_condition", there.wait_condition)
    serving = asyncio.create_task(there.serve())
    yield there
    serving.cancel()


def full(**counts: int) -> Pacer:
    """A pacer in the middle of the first workflow task."""
    pacer = Pacer()
    pacer.begin()
    for name, value in counts.items():
        setattr(pacer.pace, name, value)
    return pacer


STEPS = f"{MAX_STEPS} steps without a call"
WORK = "expressions that take long"


async def test_a_step_too_many_waits_for_one_timer_and_is_the_first_of_its_task(
    engine: Engine,
) -> None:
    pacer = Pacer()
    for _ in range(MAX_STEPS):
        await pacer.step()
    assert (engine.timers, pacer.pace.steps, pacer.pace.unused) == ([], MAX_STEPS, True)
    await pacer.step()
    assert (engine.timers, pacer.pace.steps, pacer.pace.unused) == ([STEPS], 1, False)


async def test_a_step_in_another_workflow_task_waits_for_no_timer(engine: Engine) -> None:
    pacer = full(steps=MAX_STEPS)
    engine.grow()
    await pacer.step()
    assert (engine.timers, pacer.pace.steps) == ([], 1)


async def test_steps_that_wait_at_once_share_one_timer_and_the_next_has_its_own(
    engine: Engine,
) -> None:
    pacer = full(steps=MAX_STEPS)
    await asyncio.gather(pacer.step(), pacer.step(), pacer.step())
    assert (engine.timers, pacer.pace.steps) == ([STEPS], 3)
    pacer.pace.steps = MAX_STEPS
    await pacer.step()
    assert engine.timers == [STEPS, STEPS]


@pytest.mark.parametrize(
    ("work", "steps", "timers"),
    [(MAX_WORK - 1, 0, []), (MAX_WORK, 0, [WORK]), (0, MAX_STEPS, [])],
)
async def test_a_rest_waits_only_for_the_work_of_evaluations(
    engine: Engine, work: int, steps: int, timers: list[str]
) -> None:
    pacer = full(work=work, steps=steps)
    await pacer.rest()
    assert engine.timers == timers


async def test_a_rest_in_another_workflow_task_waits_for_no_timer(engine: Engine) -> None:
    pacer = full(work=MAX_WORK)
    engine.grow()
    await pacer.rest()
    assert engine.timers == []


@pytest.mark.parametrize(
    ("steps", "in_between", "timers", "waits"),
    [(0, False, [], 1), (MAX_STEPS, False, [STEPS], 3), (MAX_STEPS, True, [], 1)],
    ids=["room", "full", "another task came"],
)
async def test_everything_else_goes_on_before_a_run_has_settled(
    engine: Engine, steps: int, in_between: bool, timers: list[str], waits: int
) -> None:
    pacer = full(steps=steps)
    if in_between:
        asyncio.get_running_loop().call_soon(engine.grow)
    await pacer.settle()
    assert (engine.timers, engine.waits) == (timers, waits)


async def test_a_call_with_room_begins_at_once_and_is_counted(engine: Engine) -> None:
    pacer = Pacer()
    await pacer.call(10)
    await pacer.call(5)
    pacer.called()
    pace = pacer.pace
    assert (pace.calls, pace.bytes, pace.pending, engine.waits) == (2, 15, 1, 0)


@pytest.mark.parametrize("counts", [{"calls": MAX_CALLS}, {"calls": 1, "bytes": MAX_CALL_BYTES}])
async def test_a_call_too_many_waits_for_a_timer_only_if_nothing_else_is_due(
    engine: Engine, counts: dict[str, int]
) -> None:
    idle, busy = full(**counts), full(**counts, pending=1)
    async with asyncio.timeout(60):
        await idle.call(1)
    assert (len(engine.timers), idle.pace.calls, idle.pace.bytes) == (1, 1, 1)
    busy.begin()
    for name, value in counts.items():
        setattr(busy.pace, name, value)
    engine.happens = [engine.grow]
    async with asyncio.timeout(60):
        await busy.call(1)
    assert (len(engine.timers), busy.pace.calls, busy.pace.pending) == (1, 1, 2)


async def test_the_last_pending_call_brings_a_task_and_no_timer(engine: Engine) -> None:
    pacer = full(calls=MAX_CALLS, pending=1)

    def ends() -> None:
        pacer.called()
        engine.grow()

    engine.happens = [ends]
    async with asyncio.timeout(60):
        await pacer.call(1)
    assert (engine.timers, pacer.pace.calls, pacer.pace.pending) == ([], 1, 1)


async def test_a_call_beside_too_many_pending_ones_begins_when_one_ends(engine: Engine) -> None:
    pacer = full(pending=MAX_PENDING_CALLS)
    engine.happens = [pacer.called]
    async with asyncio.timeout(60):
        await pacer.call(1)
    assert (engine.timers, pacer.pace.pending, pacer.pace.calls) == ([], MAX_PENDING_CALLS, 1)


@pytest.mark.parametrize(
    ("event", "timers"), [(False, [STEPS]), (True, [])], ids=["nothing happens", "a task came"]
)
async def test_more_branches_than_fit_into_a_task_start_in_the_next(
    engine: Engine, event: bool, timers: list[str]
) -> None:
    number, begun, seen = MAX_STEPS + 1, list[int](), list[int]()

    async def branch() -> None:
        begun.append(engine.length)
        if len(begun) == MAX_STEPS and event:
            engine.grow()
        while len(begun) < number:  # noqa: ASYNC110 - the others are part of the test
            await asyncio.sleep(0)
        seen.append(engine.length)

    jobs: dict[str, Job] = {str(n): branch for n in range(number)}
    runner = BranchRunner(Branches(number), Pacer(), lambda: 0)
    async with asyncio.timeout(60):
        found = await runner.run(jobs, lambda _: False, None, None, None, frozenset())
    assert len(found) == len(seen) == number
    assert (begun[MAX_STEPS - 1], begun[-1], engine.timers) == (1, 2, timers)


@pytest.mark.parametrize("begun", [3, 4])
async def test_branches_of_an_earlier_history_all_come_back_beside_those_in_their_slots(
    engine: Engine, begun: int
) -> None:
    running, peak = [0], [0]

    async def branch() -> None:
        running[0] += 1
        peak[0] = max(peak[0], running[0])
        for _ in range(20):
            await asyncio.sleep(0)
        running[0] -= 1

    jobs: dict[str, Job] = {str(n): branch for n in range(6)}
    back = frozenset(str(n) for n in range(begun))
    runner = BranchRunner(Branches(3), Pacer(), lambda: 0)
    async with asyncio.timeout(60):
        await runner.run(jobs, lambda _: False, None, None, None, back)
    assert peak[0] == begun


async def test_a_call_in_another_workflow_task_begins_at_once(engine: Engine) -> None:
    pacer = full(calls=MAX_CALLS)
    engine.grow()
    await pacer.call(1)
    assert (engine.waits, pacer.pace.calls) == (0, 1)


WAITS: dict[str, Callable[[Pacer], Coroutine[None, None, None]]] = {
    "step": Pacer.step,
    "rest": Pacer.rest,
    "settle": Pacer.settle,
    "call": lambda pacer: pacer.call(1),
    "next_task": Pacer.next_task,
}


@pytest.mark.parametrize("wait", WAITS)
async def test_a_loser_whose_wait_ends_while_it_is_cancelled_goes_no_further(
    engine: Engine, wait: str
) -> None:
    pacer = full(steps=MAX_STEPS, work=MAX_WORK, calls=MAX_CALLS, pending=1)
    before = (pacer.pace.steps, pacer.pace.calls, pacer.pace.pending)
    loser = asyncio.create_task(WAITS[wait](pacer))

    def decides() -> None:
        engine.grow()
        for _, holds in engine.conditions:
            holds.set()  # the wait is over, and in the same sweep the race is decided
        loser.cancel()

    engine.happens = [decides]
    async with asyncio.timeout(60):
        await asyncio.wait([loser])
    assert loser.cancelled()
    assert (pacer.pace.steps, pacer.pace.calls, pacer.pace.pending) == before


def test_every_wait_of_a_pacer_is_tried() -> None:
    waits = {name for name in vars(Pacer) if inspect.iscoroutinefunction(getattr(Pacer, name))}
    assert set(WAITS) == waits - {"_tick"}
