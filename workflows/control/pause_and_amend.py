"""Pause, resume, amend, redirect: how people steer a run. Pure functions over RunState.

While a run is paused, nothing new starts and no deadline passes; running calls finish, queries
answer, and people may decide.
"""

from datetime import datetime, timedelta

from coterie.dsl.errors import ContextConflict, InvalidContext
from coterie.dsl.evaluate.context import apply, replacing
from coterie.dsl.model.causes import SentOn
from coterie.dsl.model.context.declarations import UNDECLARED, Declarations
from coterie.dsl.model.plan import Plan
from coterie.dsl.paths import overlap, parse
from coterie.dsl.sizes import too_large
from coterie.dsl.values import Json
from coterie.workflows.control.steering_refusals import (
    AmendConflicts,
    AmendInvalid,
    MessageUnusable,
    NothingToAmend,
    PathTooLong,
    RunUnable,
    SteeringRefusal,
    TeamUnknown,
    TooManyPaths,
)
from coterie.workflows.core.causes.message_causes import WorkerBlocked
from coterie.workflows.core.causes.people_causes import Amended, AmendRefused, PauseChanged, TooLate
from coterie.workflows.core.messages import AmendInput, Control, RedirectInput
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import StateKey
from coterie.workflows.core.trail import note_control, note_refusal
from coterie.workflows.core.views import Paused

MAX_PATHS = 100
"""Maximum paths of one amendment."""

MAX_PATH_LENGTH = 300
MAX_PARTS = 50
_SHOWN = 60


def pause(state: RunState, asked: Control, now: datetime) -> None:
    """Pause the run: start nothing new; a second pause changes nothing."""
    if state.paused is None:
        since = now.isoformat(timespec="milliseconds")
        state.paused = Paused(by=asked.by, why=asked.why, since=since)
        note_control(state, now, PauseChanged("paused", asked.by, asked.why))


def resume(state: RunState, asked: Control, now: datetime) -> None:
    """Resume the run; deadlines move by as long as it was paused."""
    if state.paused is None:
        return
    for key, request in state.pending.items():
        away = now - datetime.fromisoformat(max(state.paused.since, request.since))
        moved = None if request.deadline is None else _moved_deadline_text(request.deadline, away)
        stood_still = request.stood_still + away.total_seconds()
        state.pending[key] = request.model_copy(
            update={"deadline": moved, "stood_still": stood_still}
        )
    state.paused = None
    note_control(state, now, PauseChanged("resumed", asked.by, asked.why))


def _moved_deadline_text(deadline: str, by: timedelta) -> str:
    return (datetime.fromisoformat(deadline) + by).isoformat(timespec="milliseconds")


def pause_refusal(state: RunState) -> SteeringRefusal | None:
    """Return why the run refuses a pause, or None: a cancelled run has its time limit."""
    return None if state.stop_by is None else RunUnable("RunCancelled")


def end_refusal(state: RunState, *, done: bool) -> SteeringRefusal | None:
    """Return why no next step exists to which a message could apply, or None."""
    if state.stop_by is not None:
        return RunUnable("RunCancelled")
    return RunUnable("RunHasEnded") if done else None


def amend_refusal(
    state: RunState, asked: AmendInput, declared: Declarations = UNDECLARED
) -> SteeringRefusal | None:
    """Return why the run refuses these changes of the context, or None."""
    if not asked.updates:
        return NothingToAmend()
    if len(asked.updates) > MAX_PATHS:
        return TooManyPaths(len(asked.updates), MAX_PATHS)
    for path in asked.updates:
        if len(path) > MAX_PATH_LENGTH or len(parse(path)) > MAX_PARTS:
            return PathTooLong(path[:_SHOWN], len(path), MAX_PATH_LENGTH, MAX_PARTS)
    try:
        contexts = _amended_contexts(state, asked, declared)
    except ContextConflict as error:
        return AmendConflicts(str(error))
    except InvalidContext as error:
        return AmendInvalid(str(error))
    what = f"the context with {', '.join(asked.updates)}"
    large = next(filter(None, (too_large(context, what) for context in contexts.values())), None)
    return None if large is None else MessageUnusable("TooLarge", large)


def _amended_contexts(
    state: RunState, amendment: AmendInput, declared: Declarations
) -> dict[str, Json]:
    """Return `{track: its context with the amendment}`; fan-out branches have their own contexts.

    Raises:
        ContextConflict: the path cannot be set, or a branch has set it and would again at the join.
        InvalidContext: it does not fit what the plan declares.
    """
    contexts: dict[str, Json] = {}
    amended = [parse(path) for path in amendment.updates]
    for name, track in state.tracks.items():
        for write in track.updates if track.end in ("running", "done") else ():
            if any(overlap(parse(write.path), path) for path in amended):
                branch = StateKey(name).branch_name
                raise ContextConflict(
                    f"the branch {branch!r} has set the context's {write.path!r}, which counts "
                    "where the branches meet; amend it after that"
                )
        contexts[name] = apply(track.context, replacing(amendment.updates), declared)
    for write in state.progress.unjoined():
        if any(overlap(parse(write.path), path) for path in amended):
            raise ContextConflict(
                f"steps in progress have set the context's {write.path!r}, which counts when they "
                "have ended; amend it after that"
            )
    return contexts


def amend(state: RunState, now: datetime, declared: Declarations = UNDECLARED) -> None:
    """Apply the waiting amendments to every open track, in the order of their arrival."""
    for amendment in state.amendments:
        amended = _amendment(amendment)
        try:
            contexts = _amended_contexts(state, amendment, declared)
        except (ContextConflict, InvalidContext) as error:
            note_refusal(state, now, AmendRefused("amend_refused", amended, str(error)))
            continue
        for name, context in contexts.items():
            state.tracks[name].context = context
        note_control(state, now, amended, updated=tuple(amendment.updates))
    state.amendments.clear()


def _amendment(amendment: AmendInput) -> Amended:
    return Amended("amended", tuple(amendment.updates), amendment.by, amendment.why)


def give_up(state: RunState, now: datetime) -> None:
    """Note in the trail which amendments and redirection the run's end left undone."""
    leftovers: list[Amended | SentOn] = [_amendment(amendment) for amendment in state.amendments]
    if state.redirect is not None:
        leftovers.append(sent_on(state.redirect))
    for leftover in leftovers:
        note_refusal(state, now, TooLate("too_late", leftover))
    state.amendments.clear()
    state.redirect = None


def redirect_refusal(
    plan: Plan | None, state: RunState, asked: RedirectInput
) -> SteeringRefusal | None:
    """Return why the run refuses to redirect to that team, or None."""
    if state.main.fan_out is not None:
        return RunUnable("FanOutInProgress")
    if plan is None or state.main.team is None:
        return RunUnable("BetweenTeams")
    if asked.team not in plan.teams:
        return TeamUnknown(asked.team, tuple(plan.teams))
    return None


def redirect(state: RunState, asked: RedirectInput, now: datetime) -> None:
    """Redirect to that team after the current one; a later redirection replaces an earlier one."""
    state.redirect = asked
    note_control(state, now, sent_on(asked))


def sent_on(asked: RedirectInput) -> SentOn:
    """Return the redirection as a cause."""
    return SentOn("redirected", asked.team, asked.by, asked.why)


def worker_blocked(state: RunState, asked: Control, now: datetime) -> None:
    """Record that a watchdog ended a worker because the run had blocked it."""
    cause = WorkerBlocked("worker_blocked", asked.by, asked.why)
    note_control(state, now, cause, status="blocked")
