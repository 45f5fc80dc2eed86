"""An action on many runs as typed views: what it would touch, and what came of each run. Pure."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal, NamedTuple

from coterie.gateway.console.runs_page import state_tone
from coterie.gateway.identity.console_address import run_url
from coterie.gateway.operations.bulk_actions import BulkChoice, BulkPreview, BulkProgress
from coterie.gateway.operations.request_decisions import WaitingRequest
from coterie.runs.progress import Tone
from coterie.text.problems import counted
from coterie.workflows.core.bulk_messages import MAX_BULK_ITEMS, BulkAction, BulkEffect, BulkOutcome

Verdict = Literal["approve", "reject"]
_EFFECT_TONES: dict[BulkEffect, Tone] = {
    "done": "good",
    "skipped": "waiting",
    "refused": "bad",
    "unanswered": "bad",
}


class ListedChoice(NamedTuple):
    """A run that a person chose in the list, as it was shown."""

    run: str
    run_id: str
    is_open: bool
    team: str
    state: str


class ChosenRequest(NamedTuple):
    """A request that a person chose, and what now waits under its name."""

    run: str
    request: str
    waiting: WaitingRequest | None
    """None: it waits no more, or shows something else."""


@dataclass(frozen=True, slots=True)
class BulkRow:
    """One run of an action, before it or after."""

    run: str
    url: str
    team: str
    state: str
    tone: Tone
    note: str
    """What is asked, or why nothing is done."""
    item: str = ""
    """What the action would take, for a form."""
    new_url: str = ""
    """Of the run that continues it."""


@dataclass(frozen=True, slots=True)
class BulkPreviewPage:
    """What an action would do, before it begins."""

    action: BulkAction
    verdict: str
    """Of `decide`."""
    title: str
    verb: str
    sentence: str
    rows: tuple[BulkRow, ...]
    left: tuple[BulkRow, ...]
    """Chosen, but not touched."""
    notes: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class BulkProgressPage:
    """What came of an action so far."""

    bulk: str
    title: str
    tone: Tone
    by: str
    why: str
    total: int
    done: int
    share: float
    is_finished: bool
    counts: tuple[str, ...]
    rows: tuple[BulkRow, ...]
    hidden: int
    """Runs that the reader may not see, or that have no outcome yet."""


def _title(action: BulkAction, verdict: str, count: int) -> str:
    if action == "decide":
        return f"{verdict.capitalize()} {counted(count, 'request')}?"
    return f"{action.capitalize()} {counted(count, 'run')}?"


_SENTENCES: dict[str, str] = {
    "cancel": "Each of these runs stops for good, after its cleanup.",
    "retry": "Each of these runs continues where it failed: an ended one in a new run, an open one "
    "with its failed task.",
    "approve": "Each of these requests is approved in your verified name, as it is shown here.",
    "reject": "Each of these requests is rejected in your verified name.",
}


def preview_of_filter(preview: BulkPreview, why: str) -> BulkPreviewPage:
    """Return the page of an action on every run that matches a filter."""
    rows = [
        _run_row(ListedChoice(one.run, one.run_id, one.is_open, one.team, one.state))
        for one in preview.runs
    ]
    notes: list[str] = []
    if preview.withheld:
        notes.append(f"{counted(preview.withheld, 'run')} of other teams are left alone")
    if len(rows) == MAX_BULK_ITEMS:
        notes.append(f"these are the latest {MAX_BULK_ITEMS:,}; repeat the action for older ones")
    if preview.read is not None:
        notes.append(f"only the latest {counted(preview.read, 'run')} were read for this filter")
    return _preview(preview.action, "", rows, [], tuple(notes), why)


def preview_of_runs(
    action: Literal["retry", "cancel"], chosen: list[ListedChoice], why: str
) -> BulkPreviewPage:
    """Return the page of an action on runs that a person chose one by one."""
    fits = [one.is_open if action == "cancel" else one.state != "completed" for one in chosen]
    reason = "it has ended" if action == "cancel" else "it has completed"
    rows = [_run_row(one) for one, fit in zip(chosen, fits, strict=True) if fit]
    left = [_run_row(one, reason) for one, fit in zip(chosen, fits, strict=True) if not fit]
    return _preview(action, "", rows, left, (), why)


def preview_of_requests(verdict: Verdict, chosen: list[ChosenRequest], why: str) -> BulkPreviewPage:
    """Return the page of a decision about several requests."""
    rows: list[BulkRow] = []
    left: list[BulkRow] = []
    for one in chosen:
        waiting = one.waiting
        if waiting is None:
            gone = "it waits no more, or has changed since you saw it"
            left.append(BulkRow(one.run, run_url(one.run), "", one.request, "waiting", gone))
            continue
        item = BulkChoice(
            run=one.run,
            run_id=waiting.run_id,
            is_open=True,
            request=one.request,
            digest=waiting.request.digest,
        ).model_dump_json()
        asked = f"{waiting.request.prompt} ({one.request}, digest {waiting.request.digest[:12]})"
        rows.append(
            BulkRow(one.run, run_url(one.run), waiting.team, "waiting", "waiting", asked, item)
        )
    return _preview("decide", verdict, rows, left, (), why)


def _preview(
    action: BulkAction,
    verdict: str,
    rows: list[BulkRow],
    left: list[BulkRow],
    notes: tuple[str, ...],
    why: str,
) -> BulkPreviewPage:
    return BulkPreviewPage(
        action=action,
        verdict=verdict,
        title=_title(action, verdict, len(rows)),
        verb=(verdict or action).capitalize(),
        sentence=_SENTENCES[verdict or action],
        rows=tuple(rows),
        left=tuple(left),
        notes=notes,
        why=why,
    )


def _run_row(one: ListedChoice, note: str = "") -> BulkRow:
    item = BulkChoice(run=one.run, run_id=one.run_id, is_open=one.is_open).model_dump_json()
    tone = state_tone(one.state, is_open=one.is_open)
    return BulkRow(one.run, run_url(one.run), one.team, one.state, tone, note, item)


def progress_page(progress: BulkProgress) -> BulkProgressPage:
    """Return the page of an action that has begun."""
    done, total = len(progress.outcomes), progress.total
    effects = Counter(outcome.effect for outcome in progress.outcomes)
    hidden = total - done if progress.is_finished else 0
    bad = effects["refused"] + effects["unanswered"]
    verbs = {"retry": "Retry of", "cancel": "Cancel of", "decide": "Decision about"}
    noun = "request" if progress.action == "decide" else "run"
    return BulkProgressPage(
        bulk=progress.bulk,
        title=f"{verbs[progress.action]} {counted(total, noun)}",
        tone=("bad" if bad else "good") if progress.is_finished else "working",
        by=progress.by,
        why=progress.why,
        total=total,
        done=done,
        share=1.0 if progress.is_finished else done / max(total, 1),
        is_finished=progress.is_finished,
        counts=tuple(f"{count} {effect}" for effect, count in effects.items()),
        rows=tuple(map(outcome_row, progress.outcomes)),
        hidden=hidden,
    )


def outcome_row(outcome: BulkOutcome) -> BulkRow:
    """Return what came of one run."""
    request = f"{outcome.request}: " if outcome.request else ""
    return BulkRow(
        outcome.run,
        run_url(outcome.run),
        outcome.team,
        outcome.effect,
        _EFFECT_TONES[outcome.effect],
        f"{request}{outcome.because}" if outcome.because else (outcome.request or ""),
        new_url=run_url(outcome.new_run) if outcome.new_run else "",
    )
