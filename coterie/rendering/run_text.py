"""Format a run: where it is, what it waits for, what happened and why."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue

from activities.contracts import TokenUsage
from coterie.rendering.cost_tables import budget_lines, money_text
from coterie.runs.run_client import RunEnd
from coterie.text.durations import duration
from coterie.text.lines import one_entry, prompt_lines, text_of
from coterie.text.problems import counted
from workflows.core.requests import Decision, Pending, RequestView
from workflows.core.state_keys import StepKey
from workflows.core.views import RunStatus, TeamResult, TrailEntry

_MAX_LINE_LENGTH = 160
_MAX_SHOW_LENGTH = 4000
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class PendingOfRun:
    """A waiting request, and its run."""

    run: str
    request: Pending
    served: bool = True
    """Whether a worker can accept a decision now."""


def clock(moment: str) -> str:
    """Format an ISO 8601 time as the local time of day."""
    return datetime.fromisoformat(moment).astimezone().strftime("%H:%M:%S")


def day_and_clock(moment: str) -> str:
    """Format an ISO 8601 time as local date and time."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def usage_text(usage: TokenUsage) -> str:
    """Format token usage: `1,204 tokens (1,000 in, 204 out)`."""
    total = usage.input_tokens + usage.output_tokens
    cached = f", {usage.cached_tokens:,} of them cached" if usage.cached_tokens else ""
    parts = f"{usage.input_tokens:,} in{cached}, {usage.output_tokens:,} out"
    return f"{counted(total, 'token')} ({parts})"


def work_text(of: RunStatus | TeamResult) -> str:
    """Format the work so far on one line."""
    calls = f"{counted(of.model_calls, 'model call')}, {counted(of.skill_calls, 'skill call')}"
    money = f", {money_text(of.cost, unpriced=of.unpriced)}" if of.model_calls else ""
    return f"{calls}, {usage_text(of.usage)}{money}"


def status_text(run: str, status: RunStatus) -> str:
    """Format the answer of the query `status`."""
    lines = [f"{run}: {status.state}"]
    lines.append(f"  plan     {status.plan} (digest {status.digest})")
    if status.team is not None:
        visit = f", visit {status.visit}" if status.visit else ""
        lines.append(f"  team     {status.team}{visit}")
    lines += [f"  doing    {doing.step}, since {clock(doing.since)}" for doing in status.doing]
    lines += [f"  waits    for a person: {request}" for request in status.waiting_for]
    lines.append(
        f"  visits   {status.teams_run} of {status.max_total_teams}: {_visits(status.visits)}"
    )
    lines.append(f"  spent    {work_text(status)}")
    lines += budget_lines(status.budgets)
    if status.last_because:
        lines.append(f"  because  {status.last_because}")
    return text_of(lines)


def decision_text(taken: Decision) -> str:
    """Describe the result of a decision."""
    why = f": {taken.comment}" if taken.comment else ""
    if taken.verdict == "counted":
        sentence = f"the approval of {taken.by} counts; more people must approve"
        return one_entry(f"{taken.id}: {sentence}{why}")
    return one_entry(f"{taken.id} {taken.verdict} by {taken.by}{why}")


def pending_text(requests: Iterable[PendingOfRun]) -> str:
    """Format all waiting requests, with the commands that answer them."""
    return "\n\n".join(_request(one.run, one.request, one.served) for one in requests)


def _request(run: str, request: Pending, served: bool) -> str:
    lines = [f"{run}  {request.id}", *prompt_lines(request.prompt), *show_lines(request.show)]
    if request.cut:
        lines.append(f"    [shortened; in full: coterie show {run} '{request.id}']")
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
    lines += () if served else (_no_worker(run),)
    return text_of([*lines, f"  {words_for(run, request)}"])


def _no_worker(run: str) -> str:
    return (
        f"  no worker serves this run; before you decide, start `coterie worker`, or run "
        f"`coterie run --resume {run}` in the project that started it"
    )


def request_text(run: str, view: RequestView, *, served: bool = True) -> str:
    """Format one request in full: its subject, terms, history, and how to decide it."""
    request = view.pending
    if request is None:
        return text_of(_decided(run, view.decision)) if view.decision is not None else run
    who = ", ".join(request.approvers) or "anyone"
    facts = [
        ("since", f"{day_and_clock(request.since)}{_deadline(request)}"),
        ("may decide", who),
        ("approved by", ", ".join(request.approved_by) if request.approved_by else "nobody yet"),
        ("changed", "; ".join(request.changes)),
        ("meanwhile", _meanwhile(request)),
        ("digest", short_digest(request.digest)),
    ]
    if request.quorum > 1:
        facts[1] = ("may decide", f"{who}; {request.quorum} must approve")
    lines = [f"{run}  {request.id}", *prompt_lines(request.prompt)]
    lines += show_lines(request.show, cut=False)
    lines += [f"  {name:<12} {value}" for name, value in facts if value]
    if request.editable:
        lines.append("  editable: approve with --payload JSON to change what is shown")
    if request.payload_schema is not None:
        lines += ["  its JSON Schema:", *show_lines(request.payload_schema, cut=False)]
    lines += () if served else (_no_worker(run),)
    return text_of([*lines, f"  {words_for(run, request)}   with --digest {request.digest}"])


def shown_text(run: str, request: Pending) -> str:
    """Return what a person decides: the question, its whole subject, who changed what."""
    lines = [f"{run}  {request.id}", *prompt_lines(request.prompt)]
    lines += show_lines(request.show, cut=False)
    facts = (("changed", "; ".join(request.changes)), ("digest", short_digest(request.digest)))
    return text_of([*lines, *(f"  {name:<12} {value}" for name, value in facts if value)])


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


def _decided(run: str, decision: Decision) -> Iterator[str]:
    yield f"{run}  {decision_line(decision)}"
    if decision.changes:
        yield f"  changed      {'; '.join(decision.changes)}"
    yield from show_lines(decision.payload, cut=False)


def words_for(run: str, request: Pending) -> str:
    """Return the commands that answer a request."""
    if not request.choices:
        return f"coterie approve {run} '{request.id}'   or   coterie reject {run} '{request.id}'"
    task = StepKey.of_failed(request.id)
    return (
        f"coterie retry {run} {task}   or   coterie skip {run} {task}   or, to let it fail,   "
        f"coterie reject {run} '{request.id}'"
    )


def _deadline(request: Pending) -> str:
    if request.deadline is None:
        return ""
    return f", until {day_and_clock(request.deadline)}, then: {request.on_timeout}"


def show_lines(show: JsonValue, *, cut: bool = True) -> Iterator[str]:
    """Yield the subject of a request, indented; mark the cut if `cut` shortens it."""
    if show is None:
        return
    text = show if isinstance(show, str) else json.dumps(show, indent=2, ensure_ascii=False)
    if isinstance(show, Mapping):
        text = "\n".join(_field(key, value) for key, value in show.items())
    more = len(text) - _MAX_SHOW_LENGTH if cut else 0
    for line in (text[:_MAX_SHOW_LENGTH] if cut else text).removesuffix("\n").split("\n"):
        yield f"    {line}"
    if more > 0:
        yield f"    [{counted(more, 'character')} more: coterie show RUN REQUEST]"


def _field(key: str, value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return f"{key}:\n{_indented(text)}" if "\n" in text else f"{key}: {text}"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.removesuffix("\n").split("\n"))


def trail_text(entries: Iterable[TrailEntry]) -> str:
    """Format the whole trail, one entry per line."""
    return "\n".join(trail_line(entry) for entry in entries)


def trail_line(entry: TrailEntry, *, because: bool = True) -> str:
    """Format one entry, with or without its reason."""
    event = trail_event(entry, because=because)
    line = one_entry(f"{entry.number:>4}  {clock(entry.at)}  {event}")
    if because or len(line) <= _MAX_LINE_LENGTH:
        return line
    return f"{line[: _MAX_LINE_LENGTH - 3]}..."


def trail_event(entry: TrailEntry, *, because: bool = True) -> str:
    """Describe what happened, without number and time."""
    where = f"{entry.team}#{entry.visit}" if entry.team else "run"
    why = f", because {entry.because}" if entry.because and because else ""
    match entry.kind:
        case "team":
            return f"{where} starts{why}"
        case "step":
            return f"  {where}/{entry.step}: {entry.status}{_cost(entry)}{why}"
        case "approval":
            return f"  {entry.because}{_cost(entry)}"
        case "budget":
            return f"  {where}: {entry.because}"
        case "control":
            return f"  {where}: {entry.because or entry.status}"
        case "notice":
            return f"  {entry.because}"
        case "refused":
            return f"  a decision was refused, because {entry.because}"
        case "route" if entry.status not in (None, "success", "failure"):
            place = f"at {where}" if entry.visit else f"before {entry.team or 'the end'}"
            return f"the run ends {place} with {entry.status}{why}"
        case "route":
            failed = f" ({entry.status})" if entry.status not in (None, "success") else ""
            sets = f", sets {', '.join(entry.updated)}" if entry.updated else ""
            return f"{where}{failed} -> {entry.next_team or 'the end'}{sets}{why}"


def _cost(entry: TrailEntry) -> str:
    parts: list[str] = []
    if entry.seconds is not None:
        parts.append(duration(entry.seconds))
    if entry.tokens:
        parts.append(counted(entry.tokens, "token"))
    return f" ({', '.join(parts)})" if parts else ""


def end_text(run: str, end: RunEnd) -> str:
    """Format how a run ended, its decisions and its cost."""
    result = end.result
    if result is None:
        return one_entry(f"{run}: {end.message}")
    lines = [f"{run}: {_how(result)}"]
    if result.error is not None:
        lines.append(f"  error      {result.error.type}: {result.error.message}")
    lines.append(
        f"  visits     {counted(result.teams_run, 'team visit')}: {_visits(result.visits)}"
    )
    lines += [f"  decision   {decision_line(decision)}" for decision in result.decisions]
    lines.append(f"  spent      {work_text(result)}")
    lines.append(
        f"  trail      {counted(result.trail_length, 'event')}, digest {result.trail_digest}"
    )
    for name, data in outputs(result):
        lines.append(f"  {name}:")
        lines += show_lines(data)
    return text_of(lines)


def outputs(result: TeamResult) -> Iterable[tuple[str, JsonValue]]:
    """Return the parts of what a run returns, each with its name."""
    match result.output:
        case dict() as parts:
            return parts.items()
        case whole:
            return (("output", whole),)


def end_line(run: str, end: RunEnd) -> str:
    """Describe how a run ended, in a sentence."""
    return f"{run}: {end.message if end.result is None else _how(end.result)}"


def _how(result: TeamResult) -> str:
    match result.end:
        case "cancelled":
            return result.because
        case "completed":
            return f"completed, because {result.because}"
        case end:
            return f"ended with {end}, because {result.because}"


def decision_line(decision: Decision) -> str:
    """Format a decision on one line."""
    comment = f": {decision.comment}" if decision.comment else ""
    return (
        f"{decision.id} {decision.verdict} by {decision.by} at {day_and_clock(decision.at)} "
        f"({decision.how}){comment}"
    )


def _visits(visits: Mapping[str, int]) -> str:
    return ", ".join(f"{team} {count}" for team, count in visits.items()) or "none"
