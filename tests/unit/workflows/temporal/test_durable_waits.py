"""How a wait of a run goes on while people pause it, and when it continues as new."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio import workflow

from coterie.activities.contracts import VisibilitySettings
from coterie.workflows.core.activation import MESSAGES_FOLLOW
from coterie.workflows.core.messages import AmendInput
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.scope import Interrupted
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import Paused
from coterie.workflows.temporal import durable_scope
from coterie.workflows.temporal.durable_scope import DurableScope, within
from tests.support.compiling import plan_of

PLAN = plan_of("orchestration: {entry_team: a, teams: {a: {tasks: [{name: s}]}}}")
BOTH = pytest.mark.parametrize("boundary", [True, False])


class Engine:
    """Temporal's side of a run: a clock, what happens at which time, and what the run asks for."""

    def __init__(self) -> None:
        self.now = 0.0
        self.events: list[tuple[float, Callable[[], object]]] = []
        self.limit: float | None = None
        """Seconds that the next wait may take."""
        self.is_full = False
        self.reason: str | None = None
        self.timers: list[float] = []
        self.upserts: list[dict[str, object]] = []

    def info(self) -> SimpleNamespace:
        return SimpleNamespace(
            workflow_id="run",
            original_execution_run_id="execution",
            get_current_history_length=lambda: 7,
            get_current_history_size=lambda: 700,
            is_continue_as_new_suggested=lambda: self.is_full,
        )

    async def within(self, waiting: Coroutine[Any, Any, None], seconds: float) -> None:
        self.limit = seconds
        await waiting

    async def wait_condition(self, ready: Callable[[], bool], **_: object) -> None:
        seconds, self.limit = self.limit, None
        end = None if seconds is None else self.now + seconds
        if end is not None:
            self.timers.append(end)
        while not ready():
            if end is not None and not (self.events and self.events[0][0] <= end):
                self.now = end
                raise TimeoutError
            assert self.events, "the run waits forever"
            self.now, event = self.events.pop(0)
            event()

    def upsert(self, updates: Any) -> None:
        self.upserts.append({one.key.name: one.value for one in updates})


@pytest.fixture
async def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    there = Engine()
    monkeypatch.setattr(workflow, "info", there.info)
    monkeypatch.setattr(workflow, "time", lambda: there.now)
    monkeypatch.setattr(workflow, "now", lambda: datetime.fromtimestamp(there.now, UTC))
    monkeypatch.setattr(workflow, "wait_condition", there.wait_condition)
    monkeypatch.setattr(durable_scope, "within", there.within)
    monkeypatch.setattr(workflow, "cancellation_reason", lambda: there.reason)
    monkeypatch.setattr(workflow, "upsert_search_attributes", there.upsert)
    return there


def _pause(state: RunState) -> None:
    state.paused = Paused(by="ann", why="", since="now")


def _resume(state: RunState) -> None:
    state.paused = None


@BOTH
async def test_lists_show_a_request_that_waits_wherever_the_run_may_continue_as_new(
    engine: Engine, boundary: bool
) -> None:
    state = RunState(visibility=VisibilitySettings(search_attributes=True))
    state.pending["a/s#1"] = Pending.model_construct(id="a/s#1")
    scope = DurableScope(PLAN, state)
    engine.events = [(1, state.pending.clear)]
    assert await scope.wait_until(lambda: not state.pending, None, "x", boundary=boundary)
    (shown,) = engine.upserts
    assert (shown["CoterieState"], shown["CoterieWaiting"]) == ("waiting", ("a/s#1",))


async def test_lists_hear_only_of_what_is_new(engine: Engine) -> None:
    state = RunState(visibility=VisibilitySettings(search_attributes=True))
    scope = DurableScope(PLAN, state)
    for paused in (False, False, True, True):
        (_pause if paused else _resume)(state)
        scope.mark()
    assert engine.upserts[1:] == [{"CoterieState": "paused"}]
    assert engine.upserts[0]["CoterieState"] == "running"


@pytest.mark.parametrize("settings", [None, VisibilitySettings(event_groups=True)])
async def test_a_run_without_search_attributes_tells_no_list(
    engine: Engine, settings: VisibilitySettings | None
) -> None:
    DurableScope(PLAN, RunState(visibility=settings)).mark()
    assert engine.upserts == []


@pytest.mark.parametrize(
    ("stands_still", "timers"), [(True, [110.0, 134.0]), (False, [110.0, 128.0])]
)
async def test_the_time_of_a_wait_stops_in_a_pause_unless_its_end_is_fixed(
    engine: Engine, stands_still: bool, timers: list[float]
) -> None:
    """A pause from second 104 to 128 leaves six of ten seconds."""
    engine.now, state = 100.0, RunState()
    scope = DurableScope(PLAN, state)
    engine.events = [(104, lambda: _pause(state)), (128, lambda: _resume(state))]
    ended = await scope.wait_until(lambda: False, 10, "x", stands_still=stands_still)
    assert (ended, engine.timers, engine.now) == (False, timers, timers[-1])


async def test_a_wait_without_an_end_does_not_look_at_a_pause(engine: Engine) -> None:
    state, done = RunState(), asyncio.Event()
    engine.events = [(4, lambda: _pause(state)), (5, done.set)]
    assert await DurableScope(PLAN, state).wait_until(done.is_set, None, "x")
    assert (engine.now, engine.timers) == (5, [])


async def test_a_condition_that_holds_in_a_pause_ends_the_wait(engine: Engine) -> None:
    state, done = RunState(), asyncio.Event()
    engine.events = [(4, lambda: _pause(state)), (5, done.set)]
    assert await DurableScope(PLAN, state).wait_until(done.is_set, 10, "x")
    assert engine.now == 5


async def test_a_condition_that_holds_as_the_time_is_up_ends_the_wait(engine: Engine) -> None:
    scope = DurableScope(PLAN, RunState())
    assert await scope.wait_until(lambda: engine.now == 10, 10, "x")
    assert not await scope.wait_until(lambda: engine.now < 10, 0, "x")
    assert not await scope.wait_until(lambda: False, -1, "x")
    assert engine.now == 10


@pytest.mark.parametrize(("seconds", "left"), [(10, 6), (None, None)])
async def test_a_full_history_interrupts_a_wait_with_the_seconds_that_are_left(
    engine: Engine, seconds: float | None, left: float | None
) -> None:
    scope = DurableScope(PLAN, RunState())
    engine.events = [(4, lambda: setattr(engine, "is_full", True))]
    with pytest.raises(Interrupted) as interrupted:
        await scope.wait_until(lambda: False, seconds, "x")
    assert interrupted.value.left == left


async def test_a_full_history_interrupts_a_paused_wait(engine: Engine) -> None:
    state = RunState()
    engine.events = [(4, lambda: _pause(state)), (9, lambda: setattr(engine, "is_full", True))]
    with pytest.raises(Interrupted) as interrupted:
        await DurableScope(PLAN, state).wait_until(lambda: False, 10, "x")
    assert interrupted.value.left == 6


@pytest.mark.parametrize("obstacle", ["boundary", "ready", "held", "cancelled"])
async def test_a_full_history_does_not_interrupt_a_wait(engine: Engine, obstacle: str) -> None:
    """That is over, is no boundary, comes too early, or belongs to a cancelled run."""
    scope = DurableScope(PLAN, RunState())
    engine.is_full = True
    engine.reason = "" if obstacle == "cancelled" else None
    if obstacle == "held":
        scope.hold(8)
    boundary = obstacle != "boundary"
    is_over = obstacle == "ready"
    assert await scope.wait_until(lambda: is_over, 3, "x", boundary=boundary) is is_over
    assert engine.now == (0 if is_over else 3)


async def test_a_history_is_held_until_it_has_so_many_events(engine: Engine) -> None:
    scope = DurableScope(PLAN, RunState())
    engine.is_full = True
    scope.hold(7)
    assert scope.continues_soon()
    scope.hold(8)
    assert not scope.continues_soon()


async def test_a_paused_run_begins_no_step_until_it_is_resumed(engine: Engine) -> None:
    state = RunState(visibility=VisibilitySettings(search_attributes=True))
    _pause(state)
    engine.events = [(4, lambda: _resume(state))]
    await DurableScope(PLAN, state).checkpoint()
    assert engine.now == 4
    assert [one["CoterieState"] for one in engine.upserts] == ["paused", "running"]


@pytest.mark.parametrize("is_paused", [True, False])
async def test_a_full_history_stops_a_run_before_its_next_step(
    engine: Engine, is_paused: bool
) -> None:
    state = RunState()
    if is_paused:
        _pause(state)
        engine.events = [(4, lambda: setattr(engine, "is_full", True))]
    else:
        engine.is_full = True
    with pytest.raises(Interrupted):
        await DurableScope(PLAN, state).checkpoint()
    assert engine.now == (4 if is_paused else 0)


async def test_changes_of_the_context_apply_before_the_next_step(engine: Engine) -> None:
    state = RunState()
    state.main.context = {"x": 1}
    scope = DurableScope(PLAN, state)
    await scope.checkpoint()
    assert state.trail == []
    state.amendments.append(AmendInput(updates={"x": 2}, by="ann"))
    await scope.checkpoint()
    assert (state.main.context, state.amendments) == ({"x": 2}, [])


async def test_messages_of_the_same_moment_come_before_the_end_of_a_wait(engine: Engine) -> None:
    scope = DurableScope(PLAN, RunState())
    await scope.messages_delivered()
    assert engine.now == 0
    MESSAGES_FOLLOW.set(True)
    engine.events = [(4, lambda: MESSAGES_FOLLOW.set(False))]
    await scope.messages_delivered()
    assert engine.now == 4


async def _held(future: "asyncio.Future[None]") -> None:
    await future


async def test_a_wait_within_a_limit_ends_with_its_condition() -> None:
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, None)
    await within(_held(future), 60)


@pytest.mark.parametrize("seconds", [0, 0.001])
async def test_a_wait_within_a_limit_ends_when_the_time_is_up(seconds: float) -> None:
    future = asyncio.get_running_loop().create_future()
    with pytest.raises(TimeoutError):
        await within(_held(future), seconds)
    assert future.cancelled()


async def test_a_cancelled_wait_within_a_limit_gives_up_its_condition() -> None:
    future = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(within(_held(future), 60))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert future.cancelled()
