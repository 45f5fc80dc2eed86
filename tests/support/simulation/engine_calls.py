"""Calls of a run in one process: the activities that begin, and how each ends."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio import workflow
from temporalio.common import Priority
from temporalio.exceptions import ActivityError, CancelledError, RetryState

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    CallOptions,
    FunctionRequest,
    FunctionResult,
    OwnQueue,
)
from coterie.dsl.model.plan import Persona
from coterie.storage.wire import data_converter
from coterie.workflows.core.scope import Call
from coterie.workflows.core.state import RunState
from coterie.workflows.temporal.activity_calls import Calls
from coterie.workflows.temporal.pacer import Pacer

CALL = Call(id="7", summary="a/b", options=CallOptions(timeout=5, retries=0), step="a/b")
TOOL_FUNCTION = FunctionRequest(skill="A.b", key="k")


class Handle:
    """An activity that has ended in this way, or never ends until it is cancelled."""

    def __init__(self, end: FunctionResult | AgentResponse | Exception | None) -> None:
        self.end = end
        self.cancelled = 0
        self.began = asyncio.Event()
        self.stopped = asyncio.Event()

    def cancel(self) -> None:
        self.cancelled += 1
        self.stopped.set()

    def __await__(self) -> Any:
        self.began.set()
        if self.end is None:
            try:
                yield from self.stopped.wait().__await__()
            except asyncio.CancelledError:
                self.cancel()
            raise ended(CancelledError("stopped"))
        if isinstance(self.end, Exception):
            raise self.end
        return self.end


class Engine:
    """Temporal's side of one call: the options that it was started with, and its end."""

    def __init__(self, end: FunctionResult | AgentResponse | Exception | None = None) -> None:
        self.handle = Handle(end)
        self.options: dict[str, Any] = {}
        self.fairness_key: str | None = None
        self.state = RunState()
        self.pacer = Pacer()
        self.calls = Calls(self.state, "run", self.pacer)

    def start_activity(self, *_: object, **options: Any) -> Handle:
        self.options = options
        return self.handle

    def info(self) -> SimpleNamespace:
        return SimpleNamespace(
            get_current_history_length=lambda: 1, priority=Priority(fairness_key=self.fairness_key)
        )


def ended(cause: BaseException | None) -> ActivityError:
    """An activity that ended for this reason."""
    error = ActivityError(
        "failed",
        scheduled_event_id=1,
        started_event_id=2,
        identity="w",
        activity_type="a",
        activity_id="7",
        retry_state=RetryState.NON_RETRYABLE_FAILURE,
    )
    error.__cause__ = cause
    return error


Patch = Callable[[Engine], Any]


def patching(monkeypatch: pytest.MonkeyPatch) -> Patch:
    """Return what makes an engine Temporal's side of a test."""

    def use(engine: Engine) -> Engine:
        monkeypatch.setattr(workflow, "start_activity", engine.start_activity)
        monkeypatch.setattr(workflow, "payload_converter", lambda: data_converter.payload_converter)
        monkeypatch.setattr(workflow, "info", engine.info)
        return engine

    return use


def turn(provider: str) -> AgentRequest:
    return AgentRequest(team="a", task="b", persona=Persona(provider=provider, model="m"))


QUEUE = OwnQueue(name="of the provider")
