"""Format a run: where it is, what happened and why, and how it ended."""

from collections.abc import Iterable, Mapping
from shlex import quote

from pydantic import JsonValue

from coterie.activities.contracts import TokenUsage
from coterie.rendering.cost_tables import budget_lines, estimated_text, money_text
from coterie.rendering.request_text import decision_line, show_lines
from coterie.runs.ends.end_facts import ClosedState, RunEnd, VisitEnd
from coterie.runs.ends.end_words import run_end_line, visit_end_line
from coterie.text.durations import duration
from coterie.text.lines import one_entry, text_of
from coterie.text.moments import clock
from coterie.text.problems import counted
from coterie.text.round_counts import rounds_text, steps_shown
from coterie.text.task_signs import graph_line, task_lines
from coterie.workflows.core.views import Paused, RunStatus, TeamResult, TrailEntry

_MAX_LINE_LENGTH = 160


def usage_text(usage: TokenUsage) -> str:
    """Format token usage: `1,204 tokens (1,000 in, 204 out)`."""
    total = usage.total
    cache_text = f", {usage.cached_tokens:,} of them cached" if usage.cached_tokens else ""
    parts = f"{usage.input_tokens:,} in{cache_text}, {usage.output_tokens:,} out"
    return f"{counted(total, 'token')} ({parts})"


def work_text(of: RunStatus | TeamResult) -> str:
    """Format the work so far on one line."""
    calls = (
        f"{counted(of.model_calls, 'model call')}, {counted(of.function_calls, 'function call')}"
    )
    money = f", {money_text(of.cost, unpriced=of.unpriced)}" if of.model_calls else ""
    suffix = estimated_text(of.estimated, of.model_calls)
    return f"{calls}, {usage_text(of.usage)}{money}{suffix}"


def paused_text(paused: Paused) -> str:
    """Say who has paused a run, and why."""
    return f"paused by {paused.by}{f': {paused.why}' if paused.why else ''}"


def status_text(run: str, status: RunStatus, became: ClosedState | None = None) -> str:
    """Format the answer of the query `status`.

    Args:
        run: The run's id.
        status: The answer.
        became: What became of a run that is closed; the workflow itself does not know.
    """
    lines = [f"{run}: {became or status.state}"]
    lines.append(f"  plan     {status.version or status.plan} (digest {status.digest})")
    if status.team is not None:
        visit = f", visit {status.visit}" if status.visit else ""
        lines.append(f"  team     {status.team}{visit}")
    lines += [f"  rounds   {rounds_text(loop)}" for loop in status.loops]
    selection = steps_shown(status.doing, status.loops)
    lines += [
        f"  doing    {doing.step}{'' if doing.turn is None else f', turn {doing.turn}'}, "
        f"since {clock(doing.since)}"
        for doing in selection.steps
    ]
    lines += [f"           and {counted(selection.more, 'more step')}"] if selection.more else ()
    for graph in status.graphs:
        lines.append(f"  tasks    {graph_line(graph)}")
        lines += [f"           {line}" for line in task_lines(graph)]
    lines += [f"  waits    for a person: {request}" for request in status.waiting_for]
    lines.append(
        f"  visits   {status.visits_toward_limit} of {status.max_total_teams}: "
        f"{_visits(status.visits)}"
    )
    lines.append(f"  spent    {work_text(status)}")
    lines += budget_lines(status.budgets)
    if status.last_because:
        lines.append(f"  because  {status.last_because}")
    return text_of(lines)


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
            sets = f", sets {', '.join(entry.updated)}" if entry.updated else ""
            ran = f"; ran because {entry.ran_because}" if entry.ran_because and because else ""
            return f"  {where}/{entry.step}: {entry.status}{_cost(entry)}{sets}{why}{ran}"
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
        case "route":
            return visit_end_line(_visit_end(entry), because=because)


def _visit_end(entry: TrailEntry) -> VisitEnd:
    return VisitEnd(
        entry.team, entry.visit, entry.status, entry.because, entry.next_team, entry.updated
    )


def _cost(entry: TrailEntry) -> str:
    parts: list[str] = []
    if entry.seconds is not None:
        parts.append(duration(entry.seconds))
    if entry.tokens:
        parts.append(counted(entry.tokens, "token"))
    return f" ({', '.join(parts)})" if parts else ""


def end_text(run: str, end: RunEnd, version: str | None = None) -> str:
    """Format how a run ended, its decisions and its cost.

    Args:
        run: The run's id.
        end: How it ended.
        version: The deployed version that it was started from, if it is known.
    """
    result = end.result
    if result is None:
        return one_entry(run_end_line(run, end))
    lines = [run_end_line(run, end)]
    if version is not None:
        lines.append(f"  version    {version}")
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
        lines += show_lines(data, f"coterie result {quote(run)} --json")
    return text_of(lines)


def outputs(result: TeamResult) -> Iterable[tuple[str, JsonValue]]:
    """Return the parts of what a run returns, each with its name."""
    match result.output:
        case dict() as parts:
            return parts.items()
        case whole:
            return (("output", whole),)


def _visits(visits: Mapping[str, int]) -> str:
    return ", ".join(f"{team} {count}" for team, count in visits.items()) or "none"
