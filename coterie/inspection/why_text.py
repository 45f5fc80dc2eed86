"""Explain why a run took its path: every rule with the values it saw, and every change."""

import json
from collections.abc import Iterable, Iterator
from shlex import quote

from pydantic import JsonValue, TypeAdapter

from coterie.dsl.evaluate.context import PathChange
from coterie.dsl.evaluate.evidence import Examined, TriedAlternatives
from coterie.dsl.templates.jsonable import brief
from coterie.dsl.values import Json
from coterie.inspection.step_trace import StepTrace
from coterie.inspection.trace import CallFailures, RefusedAnswer, Trace
from coterie.rendering.run_text import trail_line
from coterie.replay.trace_events import TraceEvent, Visit
from coterie.runs.ends.end_words import visit_end_line
from coterie.runs.histories.recorded_calls import RecordedCall
from coterie.text.lines import text_of
from coterie.text.moments import clock
from coterie.workflows.core.causes.agent_causes import ToolsSearched
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.views import TrailEntry

_MAX_VALUE_LENGTH = 200
_WITHOUT_CALLS = Trace("", (), ())
_VISIT = TypeAdapter(Visit)
_STEP = TypeAdapter(StepTrace)
_REFUSED = TypeAdapter(RefusedAnswer)
_SHOWN_STATUSES = (
    "skipped",
    "chosen",
    "caught",
    "retried",
    "not_retried",
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
    "told",
    "unread",
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
        elif visit.status == "left":
            lines.append(f"      {_head(visit)}")
    lines += map(_retried_line, trace.retried)
    lines += map(_refused_line, trace.refused)
    example = next((visit.name for visit in trace.visits if visit.visit), None)
    if example is not None:
        more = f"coterie why {quote(source)} {quote(example)}"
        lines.append(f"for every rule and what it found: {more}")
    return text_of(lines)


def _decides(entry: TrailEntry) -> bool:
    if entry.kind == "step":
        is_search = isinstance(entry.cause, ToolsSearched)
        return entry.status in _SHOWN_STATUSES or entry.when is not None or is_search
    return entry.kind != "team"


def _retried_line(call: RecordedCall) -> str:
    """Say how many attempts a call took, and why the attempt before the last one failed."""
    step = StepKey(call.path)
    why = f", because attempt {call.attempts - 1} failed: {call.earlier_error}"
    return (
        f"      {clock(call.scheduled.isoformat())}  {step.team}#{call.visit}/{step.path} took "
        f"{call.attempts} attempts in {call.waited:.1f} s{why if call.earlier_error else ''}"
    )


def _refused_line(answer: RefusedAnswer) -> str:
    """Say why an answer was refused, and what happened then."""
    step, then = StepKey(answer.step), "the model was not asked again"
    if answer.reask is not None:
        then = f"the model was asked again (re-ask {answer.reask})"
    return (
        f"      {clock(answer.at.isoformat())}  {step.team}#{answer.visit}/{step.path} gave an "
        f"answer that was refused, because {answer.type}: {answer.problem}; {then}"
    )


def visits_text(visits: Iterable[Visit], trace: Trace = _WITHOUT_CALLS) -> str:
    """Print each visit with everything that it examined, and its calls that needed another one.

    Args:
        visits: Of the run.
        trace: Of the run, with its calls.
    """
    return "\n\n".join(text_of(_visit(visit, trace)) for visit in visits)


def steps_text(steps: Iterable[StepTrace], trace: Trace) -> str:
    """Print what happened to each of these steps or calls, and why."""
    return "\n\n".join(text_of(_step(step, trace)) for step in steps)


def _step(step: StepTrace, trace: Trace) -> Iterator[str]:
    yield step.name
    for event in step.happened:
        yield from _event_lines(event)
    failures = trace.failures_in_step(step)
    yield from map(_retried_line, failures.retried)
    yield from map(_refused_line, failures.refused)


def _visit(visit: Visit, trace: Trace) -> Iterator[str]:
    yield f"{_head(visit)}"
    if visit.came_because:
        yield f"  started at {clock(visit.began or '')} because {visit.came_because}"
    if visit.happened:
        yield "  happened"
        for event in visit.happened:
            yield from _event_lines(event)
    failures = trace.failures_in_visit(visit)
    if failures.retried:
        yield "  retried"
        yield from map(_retried_line, failures.retried)
    if failures.refused:
        yield "  refused"
        yield from map(_refused_line, failures.refused)
    if visit.rules:
        yield "  rules"
        for rule in visit.rules:
            yield from _alternative_lines(rule, "rule", "the end")
    if visit.rules is not None and not any(rule.taken for rule in visit.rules):
        yield f"  default -> {visit.default}" if visit.default else "  no default names a team"
    if visit.ended is not None and visit.visit:
        yield from _changes(visit.changes)


def _head(visit: Visit) -> str:
    if visit.ended is None:
        return f"{visit.name} is in progress: nothing is decided yet"
    return visit_end_line(visit.end)


def _event_lines(event: TraceEvent) -> Iterator[str]:
    yield f"  {trail_line(event.entry)}"
    for alternative in event.alternatives:
        yield from _alternative_lines(alternative, "branch", "nothing", "            ")
    if event.when is not None:
        yield from _condition(event.when, "            ")
    yield from (f"              {_difference(change)}" for change in event.changes)


def _alternative_lines(
    alternative: TriedAlternatives, what: str, nowhere: str, margin: str = "    "
) -> Iterator[str]:
    to = alternative.leads_to or nowhere
    if alternative.taken is None:
        yield f"{margin}{what} {alternative.number} -> {to}: not evaluated"
        return
    verdict = "holds" if alternative.taken else "does not hold"
    if alternative.condition is None:
        verdict = "always holds"
    yield f"{margin}{what} {alternative.number} -> {to}: {verdict}"
    if alternative.condition is not None:
        yield from _condition(alternative.condition, f"{margin}  ")


def _condition(examination: Examined, margin: str) -> Iterator[str]:
    mark = "yes" if examination.holds else "no "
    if examination.asked == "test":
        yield f"{margin}{mark} {examination.finding}"
        return
    yield f"{margin}{mark} {examination.asked}"
    for part in examination.parts:
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


def steps_json(steps: Iterable[StepTrace], trace: Trace) -> str:
    """Format what happened to steps or calls as JSON."""
    data: list[JsonValue] = []
    for step in steps:
        whole = _STEP.dump_python(step, mode="json")
        data.append({**whole, **_failures_data(trace.failures_in_step(step))})
    return json.dumps({"run": trace.run, "steps": data}, indent=2, ensure_ascii=False)


def json_text(trace: Trace, visits: Iterable[Visit]) -> str:
    """Format the visits as JSON, with whole values."""
    data = {
        "run": trace.run,
        "visits": [_VISIT.dump_python(visit, mode="json") for visit in visits],
        **_failures_data(CallFailures(trace.retried, trace.refused)),
    }
    return json.dumps(data, indent=2, ensure_ascii=False)


def _failures_data(failures: CallFailures) -> Json:
    return {
        "retried": [_retried_data(call) for call in failures.retried],
        "refused": [_REFUSED.dump_python(answer, mode="json") for answer in failures.refused],
    }


def _retried_data(call: RecordedCall) -> JsonValue:
    return {
        "step": call.path,
        "visit": call.visit,
        "attempts": call.attempts,
        "seconds": call.waited,
        "error": call.earlier_error,
    }
