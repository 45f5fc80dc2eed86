"""The histories behind a run: its own, those of its origins, and what resets replaced."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from temporalio.client import Client, WorkflowHistory

from coterie.audit.audit_entries import ExportedPart
from coterie.failures import CommandError
from coterie.runs.call_errors import UnknownRun
from coterie.runs.histories.history_events import read_event, read_events, started
from coterie.runs.histories.recorded_events import ContinuedAsNew, TaskFailure
from coterie.runs.run_client import Run
from coterie.storage.histories import WORKFLOW
from coterie.workflows.core.messages import ForkInput


class AuditedPart(NamedTuple):
    """A history, as far as an export covers it."""

    covered: ExportedPart
    history: WorkflowHistory

    @property
    def as_covered(self) -> "AuditedPart":
        """The same, without the events after those that the export covers."""
        events = self.history.events[: self.covered.events]
        return AuditedPart(self.covered, WorkflowHistory(self.history.workflow_id, events))

    @property
    def began(self) -> datetime:
        """When the server began it; a reset repeats the events before."""
        events = read_events(self.history.events)
        resets = (one.at for one in events if isinstance(one, TaskFailure) and one.base)
        return max(resets, default=started(self.history).at)


@dataclass(frozen=True, slots=True)
class RunHistories:
    """The histories behind a run, oldest first."""

    parts: tuple[AuditedPart, ...]
    missing: tuple[str, ...]
    """Run ids of those that the server has deleted."""


async def run_histories(client: Client, id: str, run_id: str | None = None) -> RunHistories:
    """Fetch the histories of a run, of those that it was forked from, and what resets replaced.

    Args:
        client: Connected to the server.
        id: Of the run.
        run_id: The history that counts as its latest one; default: the latest.

    Raises:
        CommandError: The run does not exist.
    """
    if (await Run(client, id).describe()).workflow_type != WORKFLOW:
        raise CommandError(
            f"{id!r} is not a run of a team; `coterie runs` lists them, and the audit run has "
            "`coterie audit export --gateway`"
        )
    parts: list[AuditedPart] = []
    missing: list[str] = []
    seen: set[str] = set()
    fork: ForkInput | None = ForkInput(run=id, run_id=run_id)
    while fork is not None:
        own, fork = await _chain(client, fork.run, fork.run_id, seen)
        parts[:0] = own.parts
        missing[:0] = own.missing
    return RunHistories(tuple(parts), tuple(missing))


async def _chain(
    client: Client, id: str, run_id: str | None, seen: set[str]
) -> tuple[RunHistories, ForkInput | None]:
    """Return the histories of one run up to an execution, and the run that it was forked from.

    `seen` has the run ids of all histories so far: a start may name any run as its origin.
    """
    run = Run(client, id)
    is_first = not seen
    try:
        before = run_id or (await run.describe()).run_id
    except UnknownRun:
        return RunHistories((), (id,)), None
    parts: list[AuditedPart] = []
    missing: list[str] = []
    while before not in seen:
        seen.add(before)
        try:
            history = await run.history(before)
        except UnknownRun:
            if is_first and not parts:
                raise
            return RunHistories(tuple(parts), (before, *missing)), None
        first = started(history)
        found = _part(history, before)
        replaced = await _replaced_histories(client, found, seen)
        parts[:0] = [*replaced.parts, found]
        missing[:0] = replaced.missing
        if not first.previous:
            return RunHistories(tuple(parts), tuple(missing)), first.input.fork
        before = first.previous
    return RunHistories(tuple(parts), tuple(missing)), None


def _part(history: WorkflowHistory, run_id: str, first: int = 1, by: str = "") -> AuditedPart:
    events = len(history.events)
    covered = ExportedPart(
        run=history.workflow_id, run_id=run_id, events=events, first=first, superseded_by=by
    )
    return AuditedPart(covered, history)


async def _replaced_histories(client: Client, part: AuditedPart, seen: set[str]) -> RunHistories:
    """Return the histories that resets replaced by a part, oldest first.

    A reset to an earlier point leaves out the resets before it, which only the replaced history
    names; and a history that had continued as new has successors, which the reset replaces, too.
    """
    parts: list[AuditedPart] = []
    missing: list[str] = []
    run = Run(client, part.covered.run)
    for event in read_events(part.history.events):
        if not isinstance(event, TaskFailure):
            continue
        base, first, by = event.base, event.id, event.reset or part.covered.run_id
        while base and base not in seen:
            seen.add(base)
            try:
                history = await run.history(base)
            except UnknownRun:
                missing.append(base)
                break
            one = _part(history, base, first, by)
            earlier = await _replaced_histories(client, one, seen)
            parts += [*earlier.parts, one]
            missing += earlier.missing
            base, first = _successor(history), 1
    return RunHistories(tuple(parts), tuple(missing))


def _successor(history: WorkflowHistory) -> str:
    last = read_event(history.events[-1])
    return last.next if isinstance(last, ContinuedAsNew) else ""


async def same_histories(
    client: Client, parts: Sequence[ExportedPart]
) -> tuple[list[AuditedPart], list[ExportedPart]]:
    """Return the histories of an export, whole, and those that the server has not."""
    found: list[AuditedPart] = []
    missing: list[ExportedPart] = []
    for part in parts:
        try:
            found.append(AuditedPart(part, await Run(client, part.run).history(part.run_id)))
        except UnknownRun:
            missing.append(part)
    return found, missing
