"""The pages of what waits for people, of runs, and of teams, as typed views. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from coterie.dsl.values import Json
from coterie.gateway.console.request_cards import RequestCard, request_card
from coterie.gateway.operations.request_decisions import WaitingRequest, WaitingRequests
from coterie.gateway.operations.run_listing import ListAsked, ListedRun, RunListing
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


def run_url(run: str) -> str:
    """Return the address of the page of a run."""
    return f"/runs/{quote(run, safe='')}"


@dataclass(frozen=True, slots=True)
class InboxCard:
    """One request that waits, with what a decision needs."""

    run: str
    url: str
    team: str
    card: RequestCard
    pick: str
    """Identifies the request as it was shown, for a form."""
    is_served: bool
    is_yours: bool
    is_editable: bool
    payload: str
    """The shown value as JSON, for an edit."""


@dataclass(frozen=True, slots=True)
class InboxPage:
    """Everything that waits for people."""

    mine: tuple[InboxCard, ...]
    """What the reader may decide."""
    others: tuple[InboxCard, ...]
    silent: tuple[str, ...]
    """Runs for which no worker answers."""
    more: bool


def inbox_page(found: WaitingRequests) -> InboxPage:
    """Return the page of the requests that wait."""
    cards = [inbox_card(waiting) for waiting in found.requests]
    return InboxPage(
        mine=tuple(card for card in cards if card.is_yours),
        others=tuple(card for card in cards if not card.is_yours),
        silent=found.silent,
        more=found.more,
    )


def inbox_card(waiting: WaitingRequest) -> InboxCard:
    """Return one request that waits."""
    request = waiting.request.model_copy(update={"commit": waiting.diff or waiting.request.commit})
    pick = {"run": waiting.run, "request": request.id, "digest": request.digest}
    return InboxCard(
        run=waiting.run,
        url=run_url(waiting.run),
        team=waiting.team,
        card=request_card(request, None, request.id),
        pick=json.dumps(pick, ensure_ascii=False),
        is_served=waiting.is_served,
        is_yours=waiting.is_yours,
        is_editable=request.editable,
        payload=json.dumps(request.show, indent=2, ensure_ascii=False),
    )


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


def runs_page(found: RunListing, asked: ListAsked) -> RunsPage:
    """Return the page of a list of runs."""
    chosen = asked.model_dump(exclude_none=True, exclude_defaults=True)
    states = [FilterLink("all", _list_url(chosen, None), is_chosen=asked.state is None)]
    states += [
        FilterLink(
            state.replace("_", " "), _list_url(chosen, state), is_chosen=state == asked.state
        )
        for state in STATES
    ]
    longer = {**chosen, "limit": min(500, asked.limit * 4)}
    return RunsPage(
        runs=tuple(map(_run_line, found.runs)),
        more=f"/runs?{urlencode(longer)}" if found.more and asked.limit < 500 else "",
        states=tuple(states),
        asked=asked,
        is_filtered=bool(set(chosen) - {"limit"}),
    )


def _list_url(chosen: Json, state: str | None) -> str:
    query = {key: value for key, value in chosen.items() if key not in ("state", "limit")}
    query |= {"state": state} if state is not None else {}
    return f"/runs?{urlencode(query)}" if query else "/runs"


def _run_line(run: ListedRun) -> RunLine:
    waits = f"waits for {', '.join(run.waiting_for[:3])}" if run.waiting_for else ""
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
    )


def _tone(run: ListedRun) -> Tone:
    if run.ended is None:
        return "working" if run.state == "running" else "waiting"
    return "good" if run.state == "completed" else "bad"


@dataclass(frozen=True, slots=True)
class ProblemPage:
    """A request that could not be answered, and what its sender may do."""

    title: str
    message: str
    fix: str
    code: str
    retry: str = ""
    """The address that may answer now; empty: none."""
    sign_in: str = ""
    """The address of sign-in, which leads back."""
    form_action: str = ""
    """Where to send the form again."""
    fields: Sequence[tuple[str, str]] = ()
    """What the person typed, which is kept."""
    hidden: Sequence[tuple[str, str]] = ()
    """What the form holds besides."""
    tone: Tone = "bad"
