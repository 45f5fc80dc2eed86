"""Pause, resume, amend: what people may do to a run while it runs. Pure functions over RunState.

Paused means quiet: nothing new starts, running calls finish, queries answer, decisions are
taken, and no deadline runs (design 5).
"""

from datetime import datetime, timedelta

from dsl.context import apply
from dsl.errors import ContextConflict, listed
from dsl.plan import Plan
from dsl.sizes import too_large
from workflows.memory import Noted
from workflows.messages import AmendInput, Control, RedirectInput
from workflows.state import RunState
from workflows.views import Paused, TrailKind


def pause(state: RunState, asked: Control, now: datetime) -> None:
    """Start nothing new from here on; a second pause changes nothing."""
    if state.stop_by is not None:
        note(state, "refused", "the run is cancelled: what it still does has its time", now)
    elif state.paused is None:
        since = now.isoformat(timespec="milliseconds")
        state.paused = Paused(by=asked.by, why=asked.why, since=since)
        note(state, "control", _told("paused", asked.by, asked.why), now)


def resume(state: RunState, asked: Control, now: datetime) -> None:
    """Go on; deadlines move by as long as the run was paused."""
    if state.paused is None:
        return
    for key, request in state.pending.items():
        away = now - datetime.fromisoformat(max(state.paused.since, request.since))
        moved = None if request.deadline is None else _moved(request.deadline, away)
        stood_still = request.stood_still + away.total_seconds()
        state.pending[key] = request.model_copy(
            update={"deadline": moved, "stood_still": stood_still}
        )
    state.paused = None
    note(state, "control", _told("resumed", asked.by, asked.why), now)


def _moved(deadline: str, by: timedelta) -> str:
    return (datetime.fromisoformat(deadline) + by).isoformat(timespec="milliseconds")


def refusal(state: RunState, asked: AmendInput) -> str | None:
    """Why the context cannot be changed so, or None."""
    if not asked.updates:
        return "an amendment changes at least one path of the context"
    try:
        context = apply(state.main.context, asked.updates)
    except ContextConflict as error:
        return str(error)
    return too_large(context, f"the context with {', '.join(asked.updates)}")


def amend(state: RunState, now: datetime) -> None:
    """Apply the amendments that wait, in the order in which they came."""
    for asked in state.amendments:
        because = _told(f"amended {', '.join(asked.updates)}", asked.by, asked.why)
        try:
            state.main.context = apply(state.main.context, asked.updates)
        except ContextConflict as error:
            note(state, "refused", f"{because}: {error}", now)
            continue
        note(state, "control", because, now, tuple(asked.updates))
    state.amendments.clear()


def refused_redirect(plan: Plan | None, state: RunState, asked: RedirectInput) -> str | None:
    """Why the run cannot go to that team next, or None."""
    if plan is None or state.main.team is None:
        return "the run is not at a team"
    if state.main.fork is not None:
        return "branches of a fan-out are under way; they meet first"
    if asked.team not in plan.teams:
        return f"the plan has no team {asked.team!r}; it has: {listed(plan.teams)}"
    return None


def redirect(state: RunState, asked: RedirectInput, now: datetime) -> None:
    """Go to that team at the end of the current one; a later word replaces an earlier one."""
    state.redirect = asked
    note(state, "control", told_redirect(asked), now)


def told_redirect(asked: RedirectInput) -> str:
    """The redirection as the trail tells it."""
    return _told(f"redirected to {asked.team}", asked.by, asked.why)


def note(
    state: RunState,
    kind: TrailKind,
    because: str,
    now: datetime,
    updated: tuple[str, ...] = (),
    status: str | None = None,
) -> None:
    """Keep in the trail what people did to the run, where the run was."""
    main = state.main
    state.note(
        Noted(
            number=state.trail_length + 1,
            at=now.timestamp(),
            kind=kind,
            team=main.team or "",
            visit=main.visit,
            status=status,
            because=because,
            updated=updated,
        )
    )


def _told(what: str, by: str, why: str) -> str:
    return f"{what} by {by}: {why}" if why else f"{what} by {by}"
