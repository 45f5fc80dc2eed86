"""Run test files: one server for all, a workspace and a worker for each case."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar
from uuid import uuid4

from temporalio.client import Client
from temporalio.service import RPCError

from coterie.dsl.model.sections.worker_document import TEST_ROOT
from coterie.dsl.model.traversal.step_paths import message_wait_paths
from coterie.failures import CommandError
from coterie.runs.call_errors import Unanswered
from coterie.runs.new_runs import start_run
from coterie.runs.run_client import Run
from coterie.testing.case_differences import UnmetExpectation, differences
from coterie.testing.files.case_reader import Case, TestFile
from coterie.testing.simulation.case_outcome import outcome_of
from coterie.testing.simulation.clock import Clock, Overshot
from coterie.testing.simulation.crashes import crashes
from coterie.testing.simulation.driver import Driver
from coterie.testing.simulation.gate import Gate
from coterie.testing.simulation.scheduled_events import scheduled_events
from coterie.testing.simulation.scheduled_messages import Messages
from coterie.testing.simulation.stage import Stage, prepared_stage
from coterie.testing.simulation.stub_model import with_time_to_think
from coterie.testing.simulation.stub_targets import with_stub_targets
from coterie.workflows.core.messages import TeamInput
from coterie.workflows.core.views import TrailEntry

T = TypeVar("T")


async def in_order(pieces: Sequence[Callable[[], Awaitable[T]]], at_once: int) -> AsyncGenerator[T]:
    """Yield the result of each piece, in the given order; cancel the rest when closed.

    Args:
        pieces: Each starts a piece of work.
        at_once: How many may be in progress.
    """
    turns = asyncio.Semaphore(at_once)

    async def in_turn(piece: Callable[[], Awaitable[T]]) -> T:
        async with turns:
            return await piece()

    tasks = [asyncio.create_task(in_turn(piece)) for piece in pieces]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


AT_ONCE = 4
"""Concurrent cases; each mostly waits for other processes."""

_TRIES = 3
"""Attempts for a case on a machine so busy that the server skips a run's clock too far, or that a
call to it is lost: the client gives a connection up that does not answer for 15 seconds."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of a case."""

    file: str
    case: str
    differences: tuple[UnmetExpectation, ...]
    seconds: float
    """Real time."""
    trail: tuple[TrailEntry, ...] = ()
    """What happened, as far as the run could report it."""
    run: str = ""
    """Its id on the test server."""

    @property
    def passed(self) -> bool:
        """Whether all expectations are met."""
        return not self.differences


def run_cases(
    client: Client, chosen: Sequence[tuple[TestFile, Case]], limit: float
) -> AsyncGenerator[CaseResult]:
    """Yield the results, in the order of the cases.

    Args:
        client: Client of a time-skipping server.
        chosen: Cases with their files.
        limit: Real seconds that one case may take.
    """
    return in_order(
        [partial(run_case, client, file, case, limit) for file, case in chosen], AT_ONCE
    )


async def run_case(client: Client, file: TestFile, case: Case, limit: float) -> CaseResult:
    """Run one case to its end and compare; restart it if the clock or the connection failed."""
    began = time.monotonic()
    message = ""
    for _ in range(_TRIES):
        try:
            result = await _play_case(client, file, case, limit)
        except (Overshot, Unanswered) as error:
            message = str(error)
        except RPCError as error:
            message = f"the test server does not answer: {error.message}"
        except CommandError as error:  # of this case; the others continue
            message = str(error)
            break
        else:
            return replace(result, seconds=time.monotonic() - began)
    seconds = time.monotonic() - began
    return CaseResult(file.shown, case.name, (UnmetExpectation("run", message),), seconds)


async def _play_case(client: Client, file: TestFile, case: Case, limit: float) -> CaseResult:
    """Run one attempt.

    Raises:
        Overshot: The run's clock was skipped too far.
        RPCError: A call to the server failed, or was lost.
        Unanswered: A call to the run was lost.
    """
    name = f"test-{uuid4().hex}"
    async with prepared_stage(client, file, case, name) as stage:
        play = _Play(client, file, case, stage, Run(client, name))
        try:
            async with asyncio.timeout(limit):
                await play.play()
        except TimeoutError:
            message = f"the case was stopped after {limit:g} s of real time"
            play.found.append(UnmetExpectation("run", message))
        finally:
            with suppress(RPCError):  # it has ended, as it should
                await play.run.handle.terminate("the test is over")
    return CaseResult(file.shown, case.name, tuple(play.found), 0, play.trail, name)


@dataclass
class _Play:
    """One case in progress."""

    client: Client
    file: TestFile
    case: Case
    stage: Stage
    run: Run
    found: list[UnmetExpectation] = field(default_factory=list[UnmetExpectation])
    trail: tuple[TrailEntry, ...] = ()

    async def play(self) -> None:
        """Start the run, drive it to its end, and compare."""
        plan = with_stub_targets(with_time_to_think(self.file.team.compiled.plan))
        messages = Messages(self.case.document.messages, message_wait_paths(plan))
        events = (*scheduled_events(self.case.document), messages)
        ends = crashes(self.case.document)
        self.stage.open(Gate() if ends else None)
        await start_run(
            self.client,
            self.run.id,
            TeamInput(
                plan=plan,
                context=self.case.context,
                marked=self.stage.takes_signed_decisions,
                decisions_root=TEST_ROOT if self.stage.takes_signed_decisions else None,
            ),
            task_queue=self.stage.queue,
            summary=self.case.name,
        )
        driver = Driver(self.run, self.stage, Clock(self.client, self.run.id), events, ends)
        await driver.drive()
        if driver.troubles:
            self._note("run", driver.troubles)
            with suppress(CommandError):
                self.trail = tuple(await self.run.trail())
        else:
            outcome = await outcome_of(self.run, self.stage)
            self.trail = outcome.trail
            self.found += differences(self.case.document.expect, outcome)
            self._note("run", [event.missed() for event in events])
            self._note("run", [crash.missed(self.trail) for crash in ends])
        self._note(
            "answers",
            [
                f"the model was called for {label}, but no answer matches: {fix}"
                for label, fix in self.stage.model.unanswered.items()
            ],
        )

        self._note(
            "functions",
            [
                f"{call} has no result: {fix}"
                for call, fix in self.stage.functions.unanswered.items()
            ],
        )

    def _note(self, subject: str, messages: Sequence[str | None]) -> None:
        self.found += [
            UnmetExpectation(subject, message) for message in messages if message is not None
        ]
