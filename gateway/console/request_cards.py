"""The requests of a run as pages show them: what was asked, why, and how it was decided. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from coterie.gateway.console.page_values import ShownValue, shown_value
from coterie.rendering.request_text import subject_of
from coterie.text.problems import counted
from coterie.workflows.core.requests import Decision, Pending, RequestView

_MAX_DIFF_LINES = 2_000


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a unified diff."""

    kind: str
    """`head`, `added`, `removed`, `same`."""
    text: str


@dataclass(frozen=True, slots=True)
class RequestCard:
    """One request."""

    id: str
    prompt: str
    shown: ShownValue | None
    diff: tuple[DiffLine, ...]
    left_out: int
    """Lines of the diff that the page lacks; it says so."""
    call: str
    """The call that would run."""
    because: str
    """Why a person was asked: what the condition found."""
    met: tuple[str, ...]
    """What the run has met, if the call sends data out."""
    approvers: str
    quorum: str
    since: str
    deadline: str
    on_timeout: str
    changes: tuple[str, ...]
    digest: str
    is_open: bool
    verdict: str = ""
    by: str = ""
    at: str = ""
    how: str = ""
    comment: str = ""
    sign_in: str = ""
    """The MCP server at which a person must sign in."""


def request_cards(
    requests: Mapping[str, RequestView], seen: Iterable[Pending], workspace: Path | None = None
) -> tuple[RequestCard, ...]:
    """Return every request: those that wait first.

    Args:
        requests: Of the run.
        seen: Requests before their decisions, as far as the history has them.
        workspace: Folder of the files that a call would change; None if it is elsewhere.
    """
    asked = {request.id: request for request in seen}
    cards = [
        request_card(view.pending or asked.get(id), view.decision, id, workspace)
        for id, view in requests.items()
    ]
    return tuple(sorted(cards, key=lambda card: not card.is_open))


def request_card(
    request: Pending | None, decision: Decision | None, id: str, workspace: Path | None = None
) -> RequestCard:
    """Return one request, waiting or decided."""
    rest, diff = (None, ()) if request is None else subject_of(request, workspace)
    latest = decision or request
    lines = tuple(_diff_line(line) for line in diff[:_MAX_DIFF_LINES])
    return RequestCard(
        id=id,
        prompt="" if request is None else request.prompt,
        shown=_optional_value(rest),
        diff=lines,
        left_out=max(0, len(diff) - _MAX_DIFF_LINES),
        call="" if request is None or request.call is None else request.call.name,
        because="" if request is None else request.asked_because,
        met=() if request is None else tuple(label.label for label in request.met),
        approvers="" if request is None else ", ".join(request.approvers) or "anyone",
        quorum="" if request is None else _quorum(request),
        since="" if request is None else request.since,
        deadline="" if request is None else request.deadline or "",
        on_timeout="" if request is None else request.at_deadline or "",
        changes=() if latest is None else latest.changes,
        digest="" if latest is None else latest.digest,
        is_open=decision is None,
        verdict="" if decision is None else decision.verdict,
        by="" if decision is None else decision.by,
        at="" if decision is None else decision.at,
        how="" if decision is None else decision.how,
        comment="" if decision is None else decision.comment,
        sign_in="" if request is None or decision is not None else request.sign_in or "",
    )


def _optional_value(value: JsonValue) -> ShownValue | None:
    return None if value is None else shown_value(value)


def _quorum(request: Pending) -> str:
    if request.quorum < 2:
        return ""
    names = f" ({', '.join(request.approved_by)})" if request.approved_by else ""
    people = counted(request.quorum, "person", "people")
    return f"{len(request.approved_by)} of {people}{names}"


def _diff_line(line: str) -> DiffLine:
    if line.startswith(("+++", "---", "@@")):
        return DiffLine("head", line)
    return DiffLine({"+": "added", "-": "removed"}.get(line[:1], "same"), line)
