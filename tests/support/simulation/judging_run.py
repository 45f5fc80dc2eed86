"""The message handlers of a run in one process: what they accept, refuse and wait for."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import JsonValue
from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError
from temporalio.workflow import (
    UpdateInfo,
)
from temporalio.workflow import (
    _Definition as Definition,  # pyright: ignore[reportPrivateUsage]
)

from coterie.dsl.model.plan import Plan
from coterie.storage.wire import data_converter
from coterie.workflows.core.messages import TeamInput
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import TeamResult
from coterie.workflows.handlers.early_signals import EarlySignals
from coterie.workflows.handlers.message_handlers import MessageHandlers
from coterie.workflows.handlers.query_handlers import QueryHandlers
from coterie.workflows.handlers.session_messages import SessionMessages
from coterie.workflows.team import TeamWorkflow

_DEFINITION = Definition.must_from_class(TeamWorkflow)


class Waits(Exception):
    """The handler waits for something that has not come."""


class JudgingRun(MessageHandlers, SessionMessages, QueryHandlers):
    """A run that can judge messages; `arrive` is what happens while a handler waits."""

    def __init__(self, plan: Plan | None) -> None:
        self.plan = plan
        self.state = RunState()
        self.done = False
        self.came_to: TeamResult | None = None
        self.listens = True
        self.early = EarlySignals()
        self.early_messages = 0
        self.moving = False
        self.closed = False
        self.input = TeamInput()
        self.waits = 0
        self.arrive: Callable[[], None] = lambda: None

    def admission_closed(self) -> bool:
        return self.closed

    async def until(self, ready: Callable[[], bool]) -> None:
        self.waits += 1
        self.arrive()
        if not ready():
            raise Waits

    async def update(self, name: str, value: JsonValue) -> Any:
        """Send an update that no validator has seen."""
        return await _DEFINITION.updates[name].fn(self, *raw(value))

    def validate(self, name: str, value: JsonValue) -> str | None:
        """Return the code of the refusal of an update, or None."""
        validator = _DEFINITION.updates[name].validator
        assert validator is not None
        try:
            validator(self, *raw(value))
        except ApplicationError as error:
            return error.type
        return None

    async def signal(self, name: str, value: JsonValue) -> None:
        """Send a signal."""
        handler: Callable[..., Any] = _DEFINITION.signals[name].fn
        await handler(self, *raw(value))

    def query(self, name: str, *values: JsonValue) -> Any:
        """Ask a query."""
        return _DEFINITION.queries[name].fn(self, *(one for value in values for one in raw(value)))


def raw(value: JsonValue) -> list[RawValue]:
    """The argument of a message as it arrives."""
    return [RawValue(data_converter.payload_converter.to_payload(value))]


def outside_of_temporal(monkeypatch: pytest.MonkeyPatch, update_id: str = "m1") -> None:
    """Give the handlers what the SDK knows in a workflow: a converter, a clock and an id."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    monkeypatch.setattr(workflow, "payload_converter", lambda: data_converter.payload_converter)
    monkeypatch.setattr(workflow, "now", lambda: now)
    monkeypatch.setattr(workflow, "current_update_info", lambda: UpdateInfo(update_id, "any"))
