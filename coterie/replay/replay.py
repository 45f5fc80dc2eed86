"""Replay a recorded run with this code, and compare its decisions.

Temporal's replayer notices different calls. This module also compares the input of each call, the
duration of each timer, each answer to a person, and at the end the digest chained over all
decisions. An open run is compared by everything that it has decided so far.
"""

import asyncio
import re
from asyncio import FIRST_COMPLETED
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus, WorkflowHistory
from temporalio.service import RPCError

from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.replay.effects import WorldEffect, effect_of, recorded
from coterie.replay.observed_replay import ReplayObserver, is_the_last, observed
from coterie.replay.replay_differences import Difference, differences, first_other
from coterie.runs.call_errors import NoWorker
from coterie.runs.histories.history_links import links
from coterie.runs.run_client import Run
from coterie.workflows.core.state import TrailRecord
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.views import RunStatus, TrailEntry

_MAX_DIFFERENCES = 20
"""Maximum reported differences; later ones follow from the first few."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of a replay."""

    run: str
    events: int
    calls: int
    """Compared calls of models and tool functions."""
    end: WorldEffect | None
    """How it ended, as recorded; None if it was open."""
    differences: tuple[str, ...]
    """What this code decides differently, first one first; empty if nothing."""
    more: tuple[str, ...] = ()
    """State that this code has in addition to the recording version."""
    digests: Mapping[int, str] = field(default_factory=dict[int, str])
    """`{length of the trail: digest over it}`, after each activation."""
    trail: tuple[TrailEntry, ...] = ()
    """The latest entries, as recorded by this code."""
    plan_digest: str = ""
    """Of the plan that the run has; empty if no worker has compiled it."""


async def replay(history: WorkflowHistory) -> Replayed:
    """Replay the recorded run with this code and the recorded results.

    Args:
        history: One run, or one link of a run that continued as new; with all its values.
    """
    then = recorded(history)
    watch = _Watch()
    failure = await observed(history, watch)
    field_differences = list(differences(then, watch.done, watch.steps))
    descriptions = [
        difference.description
        for difference in field_differences
        if not (difference.only_more or difference.only_wording)
    ]
    if failure is not None:
        descriptions += [*_others(then, watch.done), _first_line(failure)]
    return Replayed(
        run=history.workflow_id,
        events=len(history.events),
        calls=sum(effect.kind == "call" for effect in then),
        end=next((effect for effect in then if effect.kind == "end"), None),
        differences=_first_differences(descriptions),
        more=tuple(difference.field for difference in field_differences if difference.only_more),
        digests=watch.digests,
        trail=tuple(record.to_entry() for record in watch.trail),
        plan_digest=watch.plan_digest,
    )


def _first_differences(descriptions: list[str]) -> tuple[str, ...]:
    if len(descriptions) <= _MAX_DIFFERENCES:
        return tuple(descriptions)
    return (*descriptions[:_MAX_DIFFERENCES], f"and {len(descriptions) - _MAX_DIFFERENCES} more")


class _Watch(ReplayObserver):
    """Records the effects and decisions of the replayed run."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[WorldEffect] = []
        self.steps: list[str] = []
        self.digests: dict[int, str] = {}
        self.trail: list[TrailRecord] = []
        self.plan_digest = ""
        self._going = False

    def before(self, act: WorkflowActivation) -> None:
        """Read its final state."""
        self._going = is_the_last(act)
        if self._going and self.run is not None:
            self.trail = list(self.run.state.trail)
            self.plan_digest = "" if self.run.plan is None else self.run.plan.digest

    def after(self, completion: WorkflowActivationCompletion) -> None:
        """Record the commands; not at eviction, whose cancellation is not a decision."""
        if self._going:
            return
        for command in completion.successful.commands:
            effect = effect_of(command, self.queue)
            if effect is not None:
                self.done.append(effect)
                self.steps.append(self._step_of(effect))
        if self.run is not None:
            state = self.run.state
            self.digests[state.trail_length] = state.trail_digest

    def _step_of(self, effect: WorldEffect) -> str:
        """Return the location, `review/judge#1`, with the latest visit, as for requests."""
        step = StepKey(effect.label)
        if effect.kind != "call" or self.run is None or not step.path:
            return effect.description
        return f"{effect.label}#{self.run.state.visits.get(step.team, 0)}"


def _others(then: list[WorldEffect], now: list[WorldEffect]) -> list[str]:
    other = first_other(then, now)
    ends = [effect for effect in now if effect.kind == "end"]
    lines = [
        f"it ends with: {effect.facts['message']}" for effect in ends if "message" in effect.facts
    ]
    return [*([other] if other else []), *lines]


_SAID = re.compile(r'Failure \{ message: "((?:[^"\\]|\\.)*)"')
"""Matches the message in the SDK core's debug format of a failure."""


def _first_line(failure: Exception) -> str:
    text = str(failure)
    match = _SAID.search(text)
    if match is not None:
        text = match[1].replace('\\"', '"').replace("\\n", "\n")
    return text.splitlines()[0] if text else type(failure).__name__


AT_ONCE = 4
"""Histories to fetch and replay concurrently: each may take fifty megabytes."""


@dataclass(frozen=True, slots=True)
class RunReplayed:
    """The result of replaying all links of one run."""

    run: str
    links: int = 0
    events: int = 0
    calls: int = 0
    end: WorldEffect | None = None
    """None if the run is open."""
    compared: int | None = None
    """Number of decisions compared with its own worker's; None if no worker answered."""
    digest: str = ""
    differences: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    problem: str = ""
    """Why it could not be replayed at all."""
    plan_digest: str = ""
    """Of the plan that it has; empty if no worker has compiled it."""

    @property
    def same(self) -> bool:
        """Whether this code can take over the run."""
        return not self.differences and not self.problem


async def replayed_file(history: WorkflowHistory) -> RunReplayed:
    """Replay a single history from a file, without a worker."""
    return _sum_up([await replay(history)])


def _sum_up(results: Sequence[Replayed]) -> RunReplayed:
    return RunReplayed(
        run=results[-1].run,
        links=len(results),
        events=sum(result.events for result in results),
        calls=sum(result.calls for result in results),
        end=results[-1].end,
        differences=results[-1].differences,
        more=tuple(dict.fromkeys(field for result in results for field in result.more)),
        plan_digest=results[-1].plan_digest,
    )


class Comparison:
    """Replays runs of one server, and asks their workers."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._silent: set[str] = set()
        """Queues without a worker, to avoid a timeout for each of a thousand runs."""

    async def run(self, id: str) -> RunReplayed:
        """Replay all links of a run.

        Raises:
            CommandError: The run does not exist, or the server does not answer.
        """
        return await self._compare_with_worker(await Run(self._client, id).describe())

    async def open_runs(
        self, executions: AsyncIterable[WorkflowExecution]
    ) -> AsyncGenerator[RunReplayed]:
        """Yield each run as it finishes, several concurrently; failures carry their reason."""
        waiting: set[asyncio.Task[RunReplayed]] = set()
        try:
            async for execution in executions:
                waiting.add(asyncio.create_task(self.try_run(execution)))
                if len(waiting) >= AT_ONCE:
                    done, waiting = await asyncio.wait(waiting, return_when=FIRST_COMPLETED)
                    for task in done:
                        yield task.result()
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=FIRST_COMPLETED)
                for task in done:
                    yield task.result()
        finally:
            for task in waiting:
                task.cancel()

    async def try_run(self, execution: WorkflowExecution) -> RunReplayed:
        """Replay a run; if that fails, the result has the reason."""
        try:
            return await self._compare_with_worker(execution)
        except (CommandError, RPCError, RuntimeError) as error:
            return RunReplayed(execution.id, problem=str(error).partition("\n")[0])

    async def _compare_with_worker(self, execution: WorkflowExecution) -> RunReplayed:
        """Ask the worker before fetching the history, which then contains all its events."""
        status = await self._status(execution)
        results: list[Replayed] = []
        async for history in links(self._client, execution.id):
            results.append(await replay(history))
            if results[-1].differences:
                break  # the state was carried over from there
        whole = _sum_up(results)
        if status is None or whole.end is not None:
            return whole
        return await self._with_decisions(whole, results[-1], status)

    async def _status(self, execution: WorkflowExecution) -> RunStatus | None:
        """Return the worker's status of the run; None if it has ended or no worker answers."""
        queue = execution.task_queue
        if execution.status is not WorkflowExecutionStatus.RUNNING or queue in self._silent:
            return None
        try:
            return await Run(self._client, execution.id).status()
        except NoWorker:
            self._silent.add(queue)
        except CommandError:
            pass
        return None

    async def _with_decisions(
        self, whole: RunReplayed, last: Replayed, status: RunStatus
    ) -> RunReplayed:
        """Compare the worker's decisions with this code's."""
        mine = last.digests.get(status.events)
        if mine is None or not status.trail_digest:
            return whole
        if mine != status.trail_digest and not whole.differences:
            theirs = await Run(self._client, whole.run).trail()
            whole = replace(whole, differences=(_first_decision(theirs, last.trail),))
        return replace(whole, compared=status.events, digest=mine)


def _decision_facts(entry: TrailEntry) -> Json:
    """Return the facts of an entry, without its wording."""
    return entry.model_dump(mode="json", exclude={"because"})


def _first_decision(theirs: Iterable[TrailEntry], ours: Iterable[TrailEntry]) -> str:
    """Describe the first decision that the run's own worker reports differently."""
    now = {entry.number: entry for entry in ours}
    for entry in theirs:
        mine = now.get(entry.number)
        if mine is None:
            continue
        before, after = _decision_facts(entry), _decision_facts(mine)
        if before != after:
            step = f"{entry.team}/{entry.step}" if entry.step else entry.team
            field = next(name for name in before if before[name] != after[name])
            where = f"decision {entry.number} ({entry.kind} of {step}#{entry.visit})"
            return Difference(where, field, before[field], after[field]).description
    return "the decisions: the same entries, and another value that a route sets in the context"
