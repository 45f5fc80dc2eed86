"""The list of runs as a typed view: its filter, its rows, and what to do with many. Pure."""

import json
from dataclasses import dataclass
from urllib.parse import urlencode

from coterie.dsl.values import Json
from coterie.gateway.identity.console_address import run_url
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.run_listing import ListAsked, ListedRun, RunListing
from coterie.gateway.operations.run_search import MAX_READ
from coterie.rendering.cost_tables import money_text
from coterie.runs.progress import Tone

STATES = (
    "open",
    "waiting",
    "running",
    "paused",
    "no_worker",
    "completed",
    "failed",
    "cancelled",
    "closed",
)
"""The filters of the list of runs, in their order."""


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run of the list."""

    run: str
    url: str
    team: str
    state: str
    tone: Tone
    began: str
    ended: str
    doing: str
    """What it does, or whom it waits for."""
    cost: str = ""
    """If the filter reads it."""
    chosen: str = ""
    """Identifies the run as it was shown, for an action on many."""


@dataclass(frozen=True, slots=True)
class FilterLink:
    """A filter of the list of runs, as a link that can be shared."""

    name: str
    url: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class RunsPage:
    """The list of runs."""

    runs: tuple[RunLine, ...]
    more: str
    """The address of a longer list; empty if all are shown."""
    states: tuple[FilterLink, ...]
    asked: ListAsked
    is_filtered: bool
    has_costs: bool = False
    may_steer: bool = False
    """Whether the reader may act on runs of some team."""
    read: int | None = None
    """How many runs were read, for a filter that no list answers."""
    is_bounded: bool = False
    """Whether there may be runs that were not read."""
    query: str = ""
    """The filter, as in the address."""
    fields: tuple[tuple[str, str], ...] = ()
    """The filter, for a form."""


def runs_page(found: RunListing, asked: ListAsked, identity: Identity | None = None) -> RunsPage:
    """Return the page of a list of runs."""
    chosen = asked.model_dump(exclude_none=True, exclude_defaults=True)
    states = [FilterLink("all", _list_url(chosen, None), is_chosen=asked.state is None)]
    states += [
        FilterLink(
            state.replace("_", " "), _list_url(chosen, state), is_chosen=state == asked.state
        )
        for state in STATES
    ]
    kept = {name: value for name, value in chosen.items() if name != "limit"}
    longer = {**chosen, "limit": min(500, asked.limit * 4)}
    return RunsPage(
        runs=tuple(map(_run_line, found.runs)),
        more=f"/runs?{urlencode(longer)}" if found.more and asked.limit < 500 else "",
        states=tuple(states),
        asked=asked,
        is_filtered=bool(kept),
        has_costs=found.read is not None,
        may_steer=identity is not None
        and isinstance(may(identity, (Role.OPERATOR,), None), Allowed),
        read=found.read,
        is_bounded=found.read is not None and found.read >= MAX_READ,
        query=urlencode(kept),
        fields=tuple((name, str(value)) for name, value in kept.items()),
    )


def _list_url(chosen: Json, state: str | None) -> str:
    query = {key: value for key, value in chosen.items() if key not in ("state", "limit")}
    query |= {"state": state} if state is not None else {}
    return f"/runs?{urlencode(query)}" if query else "/runs"


def _run_line(run: ListedRun) -> RunLine:
    waits = f"waits for {', '.join(run.waiting_for[:3])}" if run.waiting_for else ""
    chosen: Json = {
        "run": run.run,
        "run_id": run.run_id,
        "is_open": run.ended is None,
        "team": run.team,
        "state": run.state,
    }
    doing = waits or ", ".join(run.doing[-2:]) or ", ".join(run.at)
    return RunLine(
        run.run,
        run_url(run.run),
        run.team,
        run.state,
        _tone(run),
        run.began,
        run.ended or "",
        doing,
        "" if run.cost is None else money_text(run.cost, unpriced=False),
        json.dumps(chosen, ensure_ascii=False),
    )


def _tone(run: ListedRun) -> Tone:
    return state_tone(run.state, is_open=run.ended is None)


def state_tone(state: str, *, is_open: bool) -> Tone:
    """Return how a list colours a state."""
    if is_open:
        return "working" if state == "running" else "waiting"
    return "good" if state == "completed" else "bad"
