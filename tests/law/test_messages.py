"""Whoever takes a message waits first until the run has come as far as it comes by itself."""

from typing import Any

import pytest
from temporalio.workflow import (
    _Definition as Definition,  # pyright: ignore[reportPrivateUsage]
)

from coterie.dsl.checks.steps.signal_checks import RUN_SIGNALS
from coterie.workflows.core.state import RunState
from coterie.workflows.handlers.early_signals import EarlySignals
from coterie.workflows.handlers.message_handlers import MessageHandlers
from coterie.workflows.team import QUERIES, UPDATES, TeamWorkflow


class Reached(Exception):
    """The handler waits until the run listens."""


class Deaf(MessageHandlers):
    """A run that cannot judge messages yet."""

    def __init__(self) -> None:
        self.state = RunState()
        self.listens = False
        self.early = EarlySignals()
        self.early_messages = 0

    async def listening(self) -> None:
        raise Reached


async def test_every_signal_and_update_waits_until_the_run_listens() -> None:
    definition = Definition.must_from_class(TeamWorkflow)
    handlers: list[tuple[Any, bool]] = [
        (one.fn, one.name is None) for one in definition.signals.values()
    ]
    handlers += [(one.fn, False) for one in definition.updates.values() if one.name is not None]
    assert len(handlers) > 12
    for handler, dynamic in handlers:
        with pytest.raises(Reached):
            await (handler(Deaf(), "any", []) if dynamic else handler(Deaf()))


def test_the_signals_that_no_step_can_wait_for_are_those_that_a_run_takes() -> None:
    definition = Definition.must_from_class(TeamWorkflow)
    assert {name for name in definition.signals if name is not None} == set(RUN_SIGNALS)


def test_a_refusal_of_an_unknown_name_lists_every_update_and_query_of_a_run() -> None:
    definition = Definition.must_from_class(TeamWorkflow)
    assert set(UPDATES) == {name for name in definition.updates if name is not None}
    assert set(QUERIES) == {name for name in definition.queries if name is not None}
    assert None in definition.updates
    assert None in definition.queries
