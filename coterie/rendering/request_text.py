"""Format requests for a decision, as text and as a panel, and decisions."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
from coterie.rendering.progress_lines import ProgressLine, wrapped
from coterie.text.durations import duration
from coterie.text.lines import one_entry, prompt_lines, text_of
from coterie.text.moments import day_and_clock
from coterie.text.problems import counted
from coterie.workflows.core.requests import Decision, Pending, RequestView

_MAX_SHOW_LENGTH = 4000
_MAX_DIFF_LINES = 120
_MAX_PANEL_LINES = 120
_MIN_DIFF_LINES = 40

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
    return "\n\n".join(_request(pending, login) for pending in requests)


def _request(pending: PendingOfRun, login: str) -> str:
    run, request = pending.run, pending.request
    whole = show_command(run, request.id)
    lines = [f"{run}  {request.id}", *prompt_lines(request.prompt)]
    lines += subject_lines(request, pending.workspace, whole)
    if request.cut:
        lines.append(f"    [shortened; in full: {whole}]")
    lines += why_asked(request)
    lines.append(f"  since {_since(request)}")
    if request.approvers:
        lines.append(f"  may decide: {', '.join(request.approvers)}")
    if request.quorum > 1:
        so_far = f": {', '.join(request.approved_by)}" if request.approved_by else ""
        lines.append(f"  approved by {len(request.approved_by)} of {request.quorum}{so_far}")
    if meanwhile := _meanwhile(request):
        lines.append(f"  meanwhile: {meanwhile}")
    if request.editable:
        lines.append("  editable: approve with --payload JSON to change what is shown")
    lines += () if pending.served else (_no_worker(run),)
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
    lines = [f"{run}  {request.id}", *prompt_lines(request.prompt)]
    lines += subject_lines(request, workspace)
    lines += _fact_lines(request)
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
    return text_of([*lines, *_fact_lines(request, ("call", "because", "changed", "digest"))])


def _fact_lines(request: Pending, names: Collection[str] | None = None) -> Iterator[str]:
    """Yield the facts of a request that are known, by their names: all, or those shown."""
    facts = {
        "call": "" if request.call is None else request.call.name,
        "because": request.asked_because,
        "since": _since(request),
        "may decide": _deciders(request),
        "approved by": ", ".join(request.approved_by) or "nobody yet",
        "changed": "; ".join(request.changes),
        "meanwhile": _meanwhile(request),
        "digest": short_digest(request.digest),
    }
    for name, value in facts.items():
        if value and (names is None or name in names):
            yield f"  {name:<12} {value}"


def _deciders(request: Pending) -> str:
    quorum = f"; {request.quorum} must approve" if request.quorum > 1 else ""
    return f"{', '.join(request.approvers) or 'anyone'}{quorum}"


def _since(request: Pending) -> str:
    until = f", until {_until(request)}" if request.deadline else ""
    return f"{day_and_clock(request.since)}{until}"


def _until(request: Pending) -> str:
    return f"{day_and_clock(request.deadline or '')}, then: {request.at_deadline}"


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


def asked_change(request: Pending) -> AskedChange:
    """Return what is known of the files that a request would change."""
    return AskedChange(request.show, request.given, request.changing_call, request.commit)


def subject_of(request: Pending, workspace: Path | None) -> tuple[JsonValue, Sequence[str]]:
    """Return what a request shows beside changes of files, and these as a diff."""
    change = asked_change(request)
    _, rest = asked_changes(change)
    return rest, request_diff(change, workspace)


def subject_lines(
    request: Pending, workspace: Path | None, whole: str | None = None
) -> Iterator[str]:
    """Yield what a request shows, indented: changes of files as a diff, the rest as text.

    Args:
        request: The request.
        workspace: Folder of the files that it would change; None if it is elsewhere.
        whole: The command that shows all of it; None to shorten nothing here.
    """
    rest, diff = subject_of(request, workspace)
    yield from show_lines(rest, whole)
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
    text = _value_text(show)
    if isinstance(show, Mapping):
        text = "\n".join(_field(key, value) for key, value in show.items())
    more = 0 if whole is None else max(len(text) - _MAX_SHOW_LENGTH, 0)
    for line in text[: len(text) - more].removesuffix("\n").split("\n"):
        yield f"    {line}"
    if more:
        yield f"    [{counted(more, 'character')} more: {whole}]"


def _value_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _field(key: str, value: JsonValue) -> str:
    text = _value_text(value)
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


def panel_lines(
    run: str,
    request: Pending,
    width: int,
    workspace: Path | None,
    *,
    max_lines: int | None = _MAX_PANEL_LINES,
) -> list[ProgressLine]:
    """Return the lines inside the panel, wrapped at words with hanging indents.

    Args:
        run: Id of the run.
        request: The waiting request.
        width: Inner width of the panel, in cells.
        workspace: Folder of the files that it would change; None if it is elsewhere.
        max_lines: Of the question and its subject; None for all.
    """
    rest, diff = subject_of(request, workspace)
    whole = show_command(run, request.id)
    lines = [ProgressLine(line, "bold") for line in wrapped(request.prompt, width, "")]
    value_lines = list(_value_lines(rest, width))
    if value_lines:
        lines += [ProgressLine(""), *(ProgressLine(line) for line in value_lines)]
    if diff:
        lines.append(ProgressLine(""))
        room = len(diff) if max_lines is None else max(max_lines - len(lines), _MIN_DIFF_LINES)
        for line in cut_diff(diff, room, whole):
            style = _style(line)
            lines += [ProgressLine(part, style) for part in wrapped(line, width, "", "    ")]
    if max_lines is not None and not diff and len(lines) > max_lines:
        more = len(lines) - max_lines
        more_lines = f"... {more} more lines: {whole}"
        lines = [*lines[:max_lines], ProgressLine(more_lines, "dim")]
    return [
        *lines,
        ProgressLine(""),
        *(ProgressLine(line, "dim") for line in _terms(request, width)),
    ]


def plain_lines(run: str, request: Pending, workspace: Path | None) -> Iterator[str]:
    """Yield the subject without a panel, and why a person is asked; file changes as a diff.

    Args:
        run: Id of the run.
        request: The waiting request.
        workspace: Folder of the files that it would change; None if it is elsewhere.
    """
    yield from subject_lines(request, workspace, show_command(run, request.id))
    yield from why_asked(request)


def _style(line: str) -> str:
    if line.startswith(("+++", "---", "@@")):
        return "cyan"
    return {"+": "green", "-": "red"}.get(line[:1], "")


def _value_lines(value: JsonValue, width: int) -> Iterator[str]:
    if value is None:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            margin = f"{key}: "
            yield from wrapped(
                f"{margin}{_value_text(inner)}", width, "", " " * min(len(margin), 12)
            )
    else:
        yield from wrapped(_value_text(value), width, "")


def _terms(request: Pending, width: int) -> Iterator[str]:
    for why in why_asked(request):
        yield from wrapped(why.strip(), width, "", "  ")
    yield from wrapped(f"may decide: {_deciders(request)}", width, "", "  ")
    if request.deadline:
        yield from wrapped(f"until: {_until(request)}", width, "", "  ")
