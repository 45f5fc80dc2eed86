"""Notifications of a run: sent beside it, held back by a pause, and reported when lost."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, RetryState

from coterie.activities.contracts import NOTIFY, Notification
from coterie.workflows.core.causes.message_causes import NotificationLost
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import PendingNotification
from coterie.workflows.core.views import Paused
from coterie.workflows.temporal.activity_calls import Notifier
from coterie.workflows.temporal.pacer import Pacer

PAUSED = Paused(by="ann", why="", since="")


def pending(id: str) -> PendingNotification:
    message = Notification(
        id=id,
        channel="ops",
        what="request",
        text="Please decide.",
        run="r",
        plan="p",
        request="a/s#1",
        prompt="Good?",
        digest="d",
        since="now",
    )
    return PendingNotification(message, f"activity {id}", "a", 1, "s")


class Engine:
    """Temporal's side: the activities that have begun, and how they end once they may."""

    def __init__(self) -> None:
        self.state = RunState()
        self.pacer = Pacer()
        self.notifier = Notifier(self.state, self.pacer)
        self.begun: list[str] = []
        self.fails: Exception | None = None
        self.may_end = asyncio.Event()
        self.may_end.set()

    async def execute_activity(self, name: str, message: Notification, **options: Any) -> None:
        assert (name, options["activity_id"]) == (NOTIFY, f"activity {message.id}")
        self.begun.append(message.id)
        await self.may_end.wait()
        if self.fails is not None:
            raise self.fails

    async def wait_condition(self, ready: Callable[[], bool]) -> None:
        while not ready():  # noqa: ASYNC110 - the condition belongs to the workflow
            await asyncio.sleep(0)

    async def rounds(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


@pytest.fixture
async def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    there = Engine()
    info = SimpleNamespace(get_current_history_length=lambda: 1)
    monkeypatch.setattr(workflow, "info", lambda: info)
    monkeypatch.setattr(workflow, "time", lambda: 5.0)
    monkeypatch.setattr(workflow, "execute_activity", there.execute_activity)
    monkeypatch.setattr(workflow, "wait_condition", there.wait_condition)
    return there


async def test_a_notification_is_in_delivery_until_it_is_sent_and_leaves_no_trace(
    engine: Engine,
) -> None:
    engine.may_end.clear()
    engine.notifier.notify(pending("n1"))
    await engine.rounds()
    assert (engine.begun, list(engine.state.notifications)) == (["n1"], ["n1"])
    assert (engine.pacer.pace.pending, engine.pacer.pace.calls) == (1, 1)
    engine.may_end.set()
    await engine.rounds()
    assert (engine.state.notifications, engine.state.trail) == ({}, [])
    assert engine.pacer.pace.pending == 0


def lost(cause: BaseException | None) -> ActivityError:
    error = ActivityError(
        "failed",
        scheduled_event_id=1,
        started_event_id=2,
        identity="w",
        activity_type="notify",
        activity_id="1",
        retry_state=RetryState.TIMEOUT,
    )
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("cause", "problem"), [(ApplicationError("no route"), "no route"), (None, "it was lost")]
)
async def test_a_notification_that_reached_nobody_is_in_the_trail(
    engine: Engine, cause: BaseException | None, problem: str
) -> None:
    engine.fails = lost(cause)
    engine.notifier.notify(pending("n1"))
    await engine.rounds()
    (entry,) = engine.state.trail
    assert entry.cause == NotificationLost("notice_failed", "ops", "request", "a/s#1", problem)
    assert (engine.state.notifications, engine.pacer.pace.pending) == ({}, 0)


async def test_a_pause_holds_notifications_back_until_the_run_is_resumed(engine: Engine) -> None:
    engine.state.paused = PAUSED
    engine.notifier.notify(pending("n1"))
    await engine.rounds()
    assert (engine.begun, list(engine.state.notifications)) == ([], ["n1"])
    engine.state.paused = None
    await engine.rounds()
    assert (engine.begun, engine.state.notifications) == (["n1"], {})


async def test_the_end_of_a_run_drops_what_a_pause_held_back(engine: Engine) -> None:
    engine.state.paused = PAUSED
    engine.notifier.notify(pending("n1"))
    async with asyncio.timeout(60):
        await engine.notifier.all_reported()
    assert (engine.begun, engine.state.notifications, engine.state.trail) == ([], {}, [])


async def test_the_end_of_a_run_waits_for_open_deliveries(engine: Engine) -> None:
    engine.may_end.clear()
    engine.notifier.notify(pending("n1"))
    end = asyncio.create_task(engine.notifier.all_reported())
    await engine.rounds()
    assert not end.done()
    engine.may_end.set()
    await engine.rounds()
    assert end.done()
    assert engine.state.notifications == {}


async def test_what_was_in_delivery_in_the_earlier_history_is_sent_again(engine: Engine) -> None:
    for id in ("n1", "n2"):
        engine.state.notifications[id] = pending(id)
    engine.notifier.notify_again()
    await engine.rounds()
    assert (engine.begun, engine.state.notifications) == (["n1", "n2"], {})
