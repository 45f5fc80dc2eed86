"""Format requests for a decision, and decisions."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from pydantic import JsonValue

from coterie.activities.changes.shown_changes import (
    AskedChange,
    asked_changes,
    cut_diff,
    request_diff,
)
from coterie.rendering.decision_commands import decision_commands, show_command
from coterie.text.durations import duration
from coterie.text.lines import one_entry, prompt_lines, text_of
from coterie.text.moments import day_and_clock
from coterie.text.problems import counted
from coterie.workflows.core.requests import Decision, Pending, RequestView

_MAX_SHOW_LENGTH = 4000
_MAX_DIFF_LINES = 120

_DIGITS = 12


@dataclass(frozen=True, slots=True)
class PendingOfRun:
    """A waiting request, and its run."""

    run: str
    request: Pending
    served: bool = True
    """Whether a worker can accept a decision now."""
    workspace: Path | None = None
    """Folder of the files that it would change; None if it is elsewhere."""


def decision_text(taken: Decision) -> str:
    """Describe the result of a decision."""
    why = f": {taken.comment}" if taken.comment else ""
    if taken.verdict == "counted":
        sentence = f"the approval of {taken.by} counts; more people must approve"
        return one_entry(f"{taken.id}: {sentence}{why}")
    return one_entry(f"{taken.id} {taken.verdict} by {taken.by}{why}")


def pending_text(requests: Iterable[PendingOfRun], login: str) -> str:
    """Format all waiting requests, with the commands by which the reader answers them."""
    return "\n\n".join(_request(one, login) for one in requests)


def _request(one: PendingOfRun, login: str) -> str:
    run, request = one.run, one.request
    whole = show_command(run, request.id)
    lines = [f"{run}  {request.id}", *prompt_lines(request.prompt)]
    lines += subject_lines(request, one.workspace, whole)
    if request.cut:
        lines.append(f"    [shortened; in full: {whole}]")
    lines += why_asked(request)
    lines.append(f"  since {day_and_clock(request.since)}{_deadline(request)}")
    if request.approvers:
        lines.append(f"  may decide: {', '.join(request.approvers)}")
    if request.quorum > 1:
        so_far = f": {', '.join(request.approved_by)}" if request.approved_by else ""
        lines.append(f"  approved by {len(request.approved_by)} of {request.quorum}{so_far}")
    if meanwhile := _meanwhile(request):
        lines.append(f"  meanwhile: {meanwhile}")
    if request.editable:
        lines.append("  editable: approve with --payload JSON to change what is shown")
    lines += () if one.served else (_no_worker(run),)
    return text_of([*lines, f"  {decision_commands(run, request, login)}"])


def _no_worker(run: str) -> str:
    return (
        f"  no worker serves this run; before you decide, start `coterie worker`, or run "
        f"`coterie run --resume {quote(run)}` in the project that started it"
    )


def request_text(
    run: str,
    view: RequestView,
    login: str,
    *,
    served: bool = True,
    workspace: Path | None = None,
) -> str:
    """Format one request in full: its subject, terms, history, and how to decide it."""
    request = view.pending
    if request is None:
        return text_of(_decision_lines(run, view.decision)) if view.decision is not None else run
    who = ", ".join(request.approvers) or "anyone"
    who += f"; {request.quorum} must approve" * (request.quorum > 1)
    facts = [
        ("call", _call_name(request)),
        ("because", request.asked_because),
        ("since", f"{day_and_clock(request.since)}{_deadline(request)}"),
        ("may decide", who),
        ("approved by", ", ".join(request.approved_by) if request.approved_by else "nobody yet"),
        ("changed", "; ".join(request.changes)),
        ("meanwhile", _meanwhile(request)),
        ("digest", short_digest(request.digest)),
    ]
    lines = [f"{run}  {request.id}", *prompt_lines(request.prompt)]
    lines += subject_lines(request, workspace)
    lines += [f"  {name:<12} {value}" for name, value in facts if value]
    if request.editable:
        lines.append("  editable: approve with --payload JSON to change what is shown")
    if request.payload_schema is not None:
        lines += ["  its JSON Schema:", *show_lines(request.payload_schema)]
    lines += () if served else (_no_worker(run),)
    return text_of([*lines, f"  {decision_commands(run, request, login, digest=True)}"])


def shown_text(run: str, request: Pending, workspace: Path | None) -> str:
    """Return what a person decides: the question, its whole subject, who changed what."""
    lines = [f"{run}  {request.id}", *prompt_lines(request.prompt)]
    lines += subject_lines(request, workspace)
    facts = (
        ("call", _call_name(request)),
        ("because", request.asked_because),
        ("changed", "; ".join(request.changes)),
        ("digest", short_digest(request.digest)),
    )
    return text_of([*lines, *(f"  {name:<12} {value}" for name, value in facts if value)])


def _call_name(request: Pending) -> str:
    return "" if request.call is None else request.call.name


def why_asked(request: Pending) -> Iterator[str]:
    """Yield the line that says what the condition of an approval found, if it has one."""
    if request.asked_because:
        yield f"  asked because {request.asked_because}"


def short_digest(digest: str) -> str:
    """Shorten a digest for display; a decision needs the whole digest."""
    return digest if len(digest) <= _DIGITS else f"{digest[:_DIGITS]}..."


def _meanwhile(request: Pending) -> str:
    parts: list[str] = []
    if request.reminders:
        parts.append(counted(request.reminders, "reminder"))
    if request.escalations:
        parts.append(counted(request.escalations, "escalation"))
    if request.stood_still:
        parts.append(f"the run was paused for {duration(request.stood_still)}")
    return ", ".join(parts)


def _decision_lines(run: str, decision: Decision) -> Iterator[str]:
    yield f"{run}  {decision_line(decision)}"
    if decision.changes:
        yield f"  changed      {'; '.join(decision.changes)}"
    if decision.digest:
        yield f"  digest       {short_digest(decision.digest)}"
    yield from show_lines(decision.payload)


def _deadline(request: Pending) -> str:
    if request.deadline is None:
        return ""
    return f", until {day_and_clock(request.deadline)}, then: {request.at_deadline}"


def asked_change(request: Pending) -> AskedChange:
    """Return what is known of the files that a request would change."""
    return AskedChange(request.show, request.given, request.changing_call, request.commit)


def subject_lines(
    request: Pending, workspace: Path | None, whole: str | None = None
) -> Iterator[str]:
    """Yield what a request shows, indented: changes of files as a diff, the rest as text.

    Args:
        request: The request.
        workspace: Folder of the files that it would change; None if it is elsewhere.
        whole: The command that shows all of it; None to shorten nothing here.
    """
    asked = asked_change(request)
    _, rest = asked_changes(asked)
    yield from show_lines(rest, whole)
    diff = request_diff(asked, workspace)
    for line in diff if whole is None else cut_diff(diff, _MAX_DIFF_LINES, whole):
        yield f"    {line}"


def show_lines(show: JsonValue, whole: str | None = None) -> Iterator[str]:
    """Yield a value, indented.

    Args:
        show: The value.
        whole: The command that shows all of it; None to shorten nothing here.
    """
    if show is None:
        return
    text = show if isinstance(show, str) else json.dumps(show, indent=2, ensure_ascii=False)
    if isinstance(show, Mapping):
        text = "\n".join(_field(key, value) for key, value in show.items())
    more = 0 if whole is None else max(len(text) - _MAX_SHOW_LENGTH, 0)
    for line in text[: len(text) - more].removesuffix("\n").split("\n"):
        yield f"    {line}"
    if more:
        yield f"    [{counted(more, 'character')} more: {whole}]"


def _field(key: str, value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return f"{key}:\n{_indent_text(text)}" if "\n" in text else f"{key}: {text}"


def _indent_text(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.removesuffix("\n").split("\n"))


def decision_line(decision: Decision) -> str:
    """Format a decision on one line."""
    comment = f": {decision.comment}" if decision.comment else ""
    return (
        f"{decision.id} {decision.verdict} by {decision.by} at {day_and_clock(decision.at)} "
        f"({decision.how}){comment}"
    )
