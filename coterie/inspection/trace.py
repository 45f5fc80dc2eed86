"""Collect a run's decisions: from its history, or from its worker."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from temporalio.client import Client

from coterie.activities.contracts import AgentRequest, AgentResponse, FailureType
from coterie.dsl.errors import listed
from coterie.dsl.model.traversal.step_paths import split_reference
from coterie.failures import CommandError
from coterie.inspection.followed_run import (
    FollowedRun,
    is_history_file,
    run_in_file,
    run_on_server,
)
from coterie.inspection.step_trace import StepTrace, step_traces
from coterie.replay.rebuilt_run import NotFollowed, joined_trails
from coterie.replay.trace_events import Visit
from coterie.runs.call_errors import Unanswered
from coterie.runs.histories.history_events import closed
from coterie.runs.histories.recorded_calls import RecordedCall, in_visits, recorded_calls
from coterie.runs.histories.recorded_events import RunClosed
from coterie.runs.run_client import Run
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.views import TrailEntry


@dataclass(frozen=True, slots=True)
class RefusedAnswer:
    """An answer that did not match what the agent must return."""

    step: str
    """`team/path`."""
    visit: int
    at: datetime
    type: str
    """Of the failure."""
    problem: str
    answer: str
    """As the model gave it; empty where the conversation has it."""
    reask: int | None
    """The number of the re-ask that followed; None if the model was not asked again."""


def refused_answers(calls: Sequence[RecordedCall]) -> Iterator[RefusedAnswer]:
    """Yield the refused answers among the calls of a run, in their order."""
    for number, call in enumerate(calls):
        answer = call.answer
        if not isinstance(answer, AgentResponse) or answer.error is None or call.ended is None:
            continue
        if answer.error.type != FailureType.ANSWER_UNUSABLE:
            continue
        yield RefusedAnswer(
            call.path,
            call.visit,
            call.ended,
            answer.error.type,
            answer.error.message,
            answer.answer or "",
            _reask_after(call, calls[number + 1 :]),
        )


def _reask_after(call: RecordedCall, later: Sequence[RecordedCall]) -> int | None:
    """Return the number of the re-ask with which the agent's next turn began."""
    for later_call in later:
        if later_call.path == call.path and isinstance(later_call.request, AgentRequest):
            return None if later_call.request.reask is None else later_call.request.reask.number
    return None


@dataclass(frozen=True, slots=True)
class CallFailures:
    """The calls of a part of a run that needed another attempt, or another answer."""

    retried: tuple[RecordedCall, ...]
    refused: tuple[RefusedAnswer, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that a run decided, in order."""

    run: str
    trail: tuple[TrailEntry, ...]
    visits: tuple[Visit, ...]
    """Empty when only a worker of another version can follow the run."""
    retried: tuple[RecordedCall, ...] = ()
    """The calls that took more than one attempt, by the history: the run itself does not know."""
    refused: tuple[RefusedAnswer, ...] = ()
    """The answers that did not match, by the history."""

    def failures_in_visit(self, visit: Visit) -> CallFailures:
        """Return the failures of the calls of a visit."""
        return self._failures(
            lambda path, number: (StepKey(path).team, number) == (visit.team, visit.visit)
        )

    def failures_in_step(self, step: StepTrace) -> CallFailures:
        """Return the failures of the calls of a step, and of those within it."""
        return self._failures(lambda path, number: number == step.visit and step.holds(path))

    def _failures(self, includes: Callable[[str, int], bool]) -> CallFailures:
        return CallFailures(
            tuple(call for call in self.retried if includes(call.path, call.visit)),
            tuple(answer for answer in self.refused if includes(answer.step, answer.visit)),
        )

    def of(self, asked: str) -> tuple[Visit, ...]:
        """Return the visit `team#2`, or every visit of `team`.

        Raises:
            CommandError: There is none; the message lists those that exist.
        """
        team, number = split_reference(asked)
        team_visits = [visit for visit in self.visits if visit.team == team]
        visits = [visit for visit in team_visits if number in (None, visit.visit)]
        if not visits:
            names = listed([visit.name for visit in team_visits or self.visits])
            raise CommandError(f"run {self.run!r} has no visit {asked!r}; it has: {names}")
        return tuple(visits)

    def has_visit(self, asked: str) -> bool:
        """Return whether a name means a team that the run has visited."""
        return split_reference(asked)[0] in {visit.team for visit in self.visits}

    def of_step(self, asked: str) -> tuple[StepTrace, ...]:
        """Return what happened to `team/step`, or to the call `tool@turn.number` of a model.

        Raises:
            CommandError: The run has noted nothing of it.
        """
        traces = step_traces(self.visits, asked)
        if not traces:
            raise CommandError(
                f"run {self.run!r} has neither a visit nor a step {asked!r}; `coterie trail "
                f"{self.run}` lists its steps"
            )
        return traces


async def traced(settings: Settings, source: str) -> Trace:
    """Return the decisions of a run on the server, or of a history in a file.

    Raises:
        CommandError: The run does not exist, or this code cannot follow it.
    """
    if is_history_file(settings, source):
        return trace_of(await run_in_file(settings, source))
    return await traced_run((await open_connection(settings)).client, source)


async def traced_run(client: Client, id: str) -> Trace:
    """Return the decisions of a run on the server; raises like `traced`."""
    recorded = await run_on_server(client, id)
    if isinstance(recorded, NotFollowed):
        return await _reported_by_worker(Run(client, id), recorded)
    return trace_of(recorded)


async def _reported_by_worker(run: Run, reason: NotFollowed) -> Trace:
    try:
        return Trace(run.id, tuple(await run.trail()), ())
    except Unanswered as error:
        raise CommandError(
            f"another version of Coterie ran {run.id!r} ({reason.cause}), and only a worker "
            f"of that version can explain its decisions: {error}"
        ) from None


def trace_of(recorded: FollowedRun) -> Trace:
    """Return the decisions of a run, from its histories."""
    histories, parts = recorded.histories, recorded.parts
    visits: dict[tuple[str, int], Visit] = {}
    for part in parts:
        for key, visit in part.visits.items():
            visits[key] = _join_parts(visits[key], visit) if key in visits else visit
    trail = joined_trails(*(part.trail for part in parts))
    end = closed(histories[-1])
    if end is not None:
        visits = {key: _close_visit(visit, end) for key, visit in visits.items()}
    calls = calls_of(recorded, trail)
    return Trace(
        recorded.id,
        tuple(trail),
        tuple(visits.values()),
        tuple(call for call in calls if call.attempts > 1),
        tuple(refused_answers(calls)),
    )


def calls_of(recorded: FollowedRun, trail: Sequence[TrailEntry]) -> list[RecordedCall]:
    """Return every call of a run, each with the visit that made it."""
    calls = [call for history in recorded.histories for call in recorded_calls(history)]
    in_visits(calls, trail)
    return calls


def _close_visit(visit: Visit, end: RunClosed) -> Visit:
    """Close a visit of an ended run that had not finished."""
    if visit.ended is not None or not visit.visit:
        return visit
    at = end.at.isoformat(timespec="milliseconds")
    return replace(visit, ended=at, status="left", run=end.state)


def _join_parts(before: Visit, after: Visit) -> Visit:
    """Join the two parts of a visit that a continue-as-new split."""
    return replace(
        after,
        began=before.began,
        came_because=before.came_because,
        happened=(*before.happened, *after.happened),
    )
