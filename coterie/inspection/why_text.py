"""Explain why a run took its path: every rule with the values it saw, and every change."""

import json
from collections.abc import Iterable, Iterator

from pydantic import TypeAdapter

from coterie.inspection.trace import LEFT, Trace
from coterie.rendering.run_text import trail_line
from coterie.replay.trace_events import TraceEvent, Visit
from coterie.runs.recorded_calls import RecordedCall
from coterie.text.lines import text_of
from coterie.text.moments import clock
from dsl.evaluate.context import PathChange
from dsl.evaluate.evidence import Examined, TriedAlternatives
from dsl.templates.jsonable import brief
from workflows.core.state_keys import StepKey
from workflows.core.views import TrailEntry

_MAX_VALUE_LENGTH = 200
_VISIT = TypeAdapter(Visit)
_TOLD = (
    "skipped",
    "chosen",
    "caught",
    "retried",
    "failure",
    "failed",
    "blocked",
    "cut_off",
    "cancelled",
    "turn",
    "refused",
    "repeated",
    "exited",
    "hook",
    "met",
    "cleared",
    "fallback",
    "batch",
    "compacted",
)
"""Kinds of steps that decided something, or led to a decision."""


def run_text(trace: Trace, source: str) -> str:
    """Summarise the run: one line per decision.

    Args:
        trace: The run.
        source: The run as the user named it.
    """
    lines = [trail_line(entry) for entry in trace.trail if _decides(entry)]
    for visit in trace.visits:
        if visit.ended is None and visit.visit:
            lines.append(f"      {visit.name} continues")
        elif visit.status == LEFT:
            lines.append(f"      {_head(visit)}")
    lines += map(_retried, trace.retried)
    if trace.visits:
        example = next((visit.name for visit in trace.visits if visit.visit), "TEAM#VISIT")
        lines.append(f"for every rule and what it found: coterie why {source} {example}")
    return text_of(lines)


def _decides(entry: TrailEntry) -> bool:
    return entry.kind != "team" and (entry.kind != "step" or entry.status in _TOLD)


def _retried(call: RecordedCall) -> str:
    """Say how many attempts a call took, and why the attempt before the last one failed."""
    step = StepKey(call.path)
    why = f", because attempt {call.attempts - 1} failed: {call.earlier_error}"
    return (
        f"      {clock(call.scheduled.isoformat())}  {step.team}#{call.visit}/{step.path} took "
        f"{call.attempts} attempts in {call.waited:.1f} s{why if call.earlier_error else ''}"
    )


def visits_text(visits: Iterable[Visit], retried: Iterable[RecordedCall] = ()) -> str:
    """Print each visit with everything that it examined, and the calls that were retried in it."""
    calls = tuple(retried)
    return "\n\n".join(text_of(_visit(visit, calls)) for visit in visits)


def _visit(visit: Visit, retried: tuple[RecordedCall, ...]) -> Iterator[str]:
    yield f"{_head(visit)}"
    if visit.came_because:
        yield f"  started at {clock(visit.began or '')} because {visit.came_because}"
    if visit.happened:
        yield "  happened"
        for one in visit.happened:
            yield from _happened(one)
    within = [call for call in retried if f"{StepKey(call.path).team}#{call.visit}" == visit.name]
    if within:
        yield "  retried"
        yield from map(_retried, within)
    if visit.rules:
        yield "  rules"
        for rule in visit.rules:
            yield from _asked(rule, "rule", "the end")
    if visit.rules is not None and not any(rule.taken for rule in visit.rules):
        yield f"  default -> {visit.default}" if visit.default else "  no default names a team"
    if visit.ended is not None and visit.visit:
        yield from _changes(visit.changes)


def _head(visit: Visit) -> str:
    name = visit.name
    if visit.ended is None:
        return f"{name} is in progress: nothing is decided yet"
    if visit.status == "success":
        return f"{name} -> {visit.next_team or 'the end'}, because {visit.because}"
    if visit.status == "failure":
        return f"{name} (failed) -> {visit.next_team or 'the end'}, because {visit.because}"
    if visit.status == LEFT:
        return f"{name} was left when {visit.because}"
    if visit.status == "stopped":
        why = visit.because or "enough other branches had finished, or its time was up"
        return f"{name} was stopped: {why}"
    where = f"at {name}" if visit.visit else f"before {visit.team or 'the end'}"
    return f"the run ended {where} with {visit.status}: {visit.because}"


def _happened(one: TraceEvent) -> Iterator[str]:
    yield f"  {trail_line(one.entry)}"
    for way in one.ways:
        yield from _asked(way, "branch", "nothing", "            ")
    if one.when is not None:
        yield from _condition(one.when, "            ")
    yield from (f"              {_difference(change)}" for change in one.changes)


def _asked(
    asked: TriedAlternatives, what: str, nowhere: str, margin: str = "    "
) -> Iterator[str]:
    to = asked.leads_to or nowhere
    if asked.taken is None:
        yield f"{margin}{what} {asked.number} -> {to}: not evaluated"
        return
    verdict = "holds" if asked.taken else "does not hold"
    if asked.condition is None:
        verdict = "always holds"
    yield f"{margin}{what} {asked.number} -> {to}: {verdict}"
    if asked.condition is not None:
        yield from _condition(asked.condition, f"{margin}  ")


def _condition(found: Examined, margin: str) -> Iterator[str]:
    mark = "yes" if found.holds else "no "
    if found.asked == "test":
        yield f"{margin}{mark} {found.finding}"
        return
    yield f"{margin}{mark} {found.asked}"
    for part in found.parts:
        yield from _condition(part, f"{margin}  ")


def _changes(changes: tuple[PathChange, ...]) -> Iterator[str]:
    if not changes:
        yield "  the context is unchanged"
        return
    yield "  context"
    yield from (f"    {_difference(change)}" for change in changes)


def _difference(change: PathChange) -> str:
    match change.change:
        case "added":
            return f"{change.path}: added {brief(change.after, _MAX_VALUE_LENGTH)}"
        case "removed":
            return f"{change.path}: removed {brief(change.before, _MAX_VALUE_LENGTH)}"
        case "changed":
            before = brief(change.before, _MAX_VALUE_LENGTH)
            return f"{change.path}: {before} -> {brief(change.after, _MAX_VALUE_LENGTH)}"


def json_text(trace: Trace, visits: Iterable[Visit]) -> str:
    """Format the visits as JSON, with whole values."""
    data = {
        "run": trace.run,
        "visits": [_VISIT.dump_python(visit, mode="json") for visit in visits],
        "retried": [
            {
                "step": call.path,
                "visit": call.visit,
                "attempts": call.attempts,
                "seconds": call.waited,
                "error": call.earlier_error,
            }
            for call in trace.retried
        ],
    }
    return json.dumps(data, indent=2, ensure_ascii=False)
