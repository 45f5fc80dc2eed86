"""The trail of a run by visits: what happened, why, which rules held, what changed. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from coterie.dsl.evaluate.context import PathChange
from coterie.dsl.evaluate.evidence import Examined, TriedAlternatives
from coterie.gateway.console.page_values import ShownValue, shown_brief, took
from coterie.inspection.trace import RefusedAnswer, Trace
from coterie.rendering.run_text import trail_event
from coterie.replay.trace_events import TraceEvent, Visit
from coterie.runs.ends.end_words import visit_end_line
from coterie.runs.histories.recorded_calls import RecordedCall
from coterie.runs.progress import END_STATES
from coterie.text.problems import counted
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.views import TrailEntry


@dataclass(frozen=True, slots=True)
class TestRow:
    """One test of a condition, with what it found."""

    depth: int
    holds: bool
    text: str


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule or branch that was tried."""

    number: int
    to: str
    verdict: str
    """`holds`, `does not hold`, `always holds`, `not evaluated`."""
    tests: tuple[TestRow, ...]


@dataclass(frozen=True, slots=True)
class PathChangeRow:
    """One change of the context."""

    path: str
    change: str
    before: ShownValue | None
    after: ShownValue | None


@dataclass(frozen=True, slots=True)
class EventRow:
    """One entry of the trail."""

    number: int
    at: str
    tone: str
    """`good`, `bad`, `waiting`, or empty."""
    subject: str
    """The step; empty for what is about the whole visit."""
    what: str
    facts: tuple[str, ...]
    """Duration, tokens, what it set."""
    because: str
    ran_because: str
    rules: tuple[RuleRow, ...]
    tests: tuple[TestRow, ...]
    changes: tuple[PathChangeRow, ...]


@dataclass(frozen=True, slots=True)
class VisitCard:
    """One visit of a team."""

    name: str
    anchor: str
    began: str
    came_because: str
    end: str
    """How it ended; empty while it is in progress."""
    tone: str
    seconds: float | None
    events: tuple[EventRow, ...]
    rules: tuple[RuleRow, ...] | None
    """None if no rule was evaluated."""
    default: str
    changes: tuple[PathChangeRow, ...] | None
    """None while the visit is in progress."""
    repeats: tuple[str, ...]
    """Calls that took more than one attempt, and answers that were refused."""


def visit_cards(trace: Trace) -> tuple[VisitCard, ...]:
    """Return the visits of a run, with everything that was decided in them."""
    return tuple(_card(number, visit, trace) for number, visit in enumerate(trace.visits, 1))


def _card(number: int, visit: Visit, trace: Trace) -> VisitCard:
    failures = trace.failures_in_visit(visit)
    repeats = (*map(_retry_line, failures.retried), *map(_refusal_line, failures.refused))
    end = "" if visit.ended is None else visit_end_line(visit.end)
    tone = "working"
    if visit.ended is not None:
        tone = "good" if visit.status == "success" else "bad"
    return VisitCard(
        name=visit.name if visit.visit else "between visits",
        anchor=f"visit-{number}",
        began=visit.began or "",
        came_because=visit.came_because,
        end=end,
        tone="waiting" if visit.status in ("stopped", "left") else tone,
        seconds=_seconds(visit),
        events=tuple(map(_event, visit.happened)),
        rules=None if visit.rules is None else tuple(map(_rule, visit.rules)),
        default=visit.default or "",
        changes=None if visit.ended is None else tuple(map(change_row, visit.changes)),
        repeats=repeats,
    )


def _seconds(visit: Visit) -> float | None:
    if visit.began is None or visit.ended is None:
        return None
    ended = datetime.fromisoformat(visit.ended)
    return (ended - datetime.fromisoformat(visit.began)).total_seconds()


def _event(event: TraceEvent) -> EventRow:
    entry = event.entry
    tones = {"success": "good", "failure": "bad", "partial": "waiting", "skipped": ""}
    tone = tones.get(END_STATES.get(entry.status or "", "skipped"), "")
    if entry.kind in ("approval", "control", "budget", "refused"):
        tone = "bad" if entry.status == "rejected" else "waiting"
    is_step = entry.kind == "step" and entry.step is not None
    return EventRow(
        number=entry.number,
        at=entry.at,
        tone=tone,
        subject=entry.step or "" if is_step else "",
        what=entry.status or "" if is_step else _entry_words(entry),
        facts=tuple(_facts(entry)),
        because=entry.because if is_step or entry.kind == "route" else "",
        ran_because=entry.ran_because,
        rules=tuple(map(_rule, event.alternatives)),
        tests=() if event.when is None else tuple(_tests(event.when, 0)),
        changes=tuple(map(change_row, event.changes)),
    )


def _entry_words(entry: TrailEntry) -> str:
    """Return what happened to the visit, the run or a request, in words."""
    if entry.kind == "route":
        return trail_event(entry, because=False)
    return entry.because or entry.status or entry.kind


def _facts(entry: TrailEntry) -> Iterator[str]:
    if entry.seconds is not None:
        yield took(entry.seconds)
    if entry.tokens:
        yield counted(entry.tokens, "token")
    if entry.updated:
        yield f"sets {', '.join(entry.updated)}"


def _rule(tried: TriedAlternatives) -> RuleRow:
    verdict = "not evaluated"
    if tried.taken is not None:
        verdict = "holds" if tried.taken else "does not hold"
        verdict = "always holds" if tried.condition is None else verdict
    tests = () if tried.condition is None else tuple(_tests(tried.condition, 0))
    return RuleRow(tried.number, tried.leads_to or "the end", verdict, tests)


def _tests(examined: Examined, depth: int) -> Iterator[TestRow]:
    text = examined.finding if examined.asked == "test" else examined.asked
    yield TestRow(depth, examined.holds, text)
    for part in examined.parts:
        yield from _tests(part, depth + 1)


def found_by(examined: Examined) -> Sequence[str]:
    """Return what the tests of a condition found, in order."""
    return [row.text for row in _tests(examined, 0) if row.text not in ("all of", "any of", "not")]


def change_row(change: PathChange) -> PathChangeRow:
    """Return a change of the context for a page."""
    before = None if change.change == "added" else shown_brief(change.before)
    after = None if change.change == "removed" else shown_brief(change.after)
    return PathChangeRow(change.path, change.change, before, after)


def _retry_line(call: RecordedCall) -> str:
    path = StepKey(call.path).path
    why = f": {call.earlier_error}" if call.earlier_error else ""
    return f"{path} took {counted(call.attempts, 'attempt')}{why}"


def _refusal_line(answer: RefusedAnswer) -> str:
    path = StepKey(answer.step).path
    then = "the model was not asked again"
    if answer.reask is not None:
        then = f"the model was asked again (re-ask {answer.reask})"
    return f"an answer of {path} was refused ({answer.type}: {answer.problem}); {then}"
