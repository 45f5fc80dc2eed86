"""Word how runs and visits end. Every surface takes these words from here."""

from coterie.dsl.model.outcomes import End
from coterie.runs.ends.end_facts import ClosedState, RunEnd, VisitEnd


def closed_words(state: ClosedState) -> str:
    """Word what became of a run, after its name: `was cancelled`."""
    match state:
        case "completed" | "failed" | "timed out":
            return state
        case "cancelled" | "terminated":
            return f"was {state}"


def result_words(end: End) -> str:
    """Word the end that a result states, after a run's name: `ended with max_total_teams`."""
    match end:
        case "completed" | "failed":
            return end
        case "cancelled":
            return "was cancelled"
        case limit:
            return f"ended with {limit}"


def run_end_line(run: str, end: RunEnd) -> str:
    """Describe how a run ended, in a sentence that begins with its id."""
    result = end.result
    if result is None:
        return f"{run}: {incomplete_reason(end) or closed_words(end.state)}"
    if result.end == "cancelled":
        return f"{run}: {result.because}"
    return f"{run}: {result_words(result.end)}, because {result.because}"


def incomplete_reason(end: RunEnd) -> str:
    """Say why a run did not complete, in a sentence without its id; empty if it did."""
    if end.completed:
        return ""
    if end.failure is not None:
        return f"{end.failure.type}: {end.failure.message}"
    if end.result is not None:
        return end.result.because
    match end.state:
        case "cancelled" if end.details:
            return f"it was cancelled; its result is unknown: {end.details}"
        case "cancelled":
            return "it was cancelled before it started"
        case state:
            details = f": {end.details}" if end.details else ""
            return f"it {closed_words(state)}{details}"


def visit_end_line(end: VisitEnd, *, because: bool = True) -> str:
    """Describe how a visit ended, in a sentence: `review#2 (failed) -> write, because ...`.

    Args:
        end: Of the visit.
        because: Whether to add the reason.
    """
    name = f"{end.team}#{end.visit}" if end.team else "run"
    why = f", because {end.because}" if end.because and because else ""
    if end.run is not None:
        return f"{name} was left when the run {closed_words(end.run)}"
    match end.status:
        case None | "success" | "failure":
            suffix = " (failed)" if end.status == "failure" else ""
            sets = f", sets {', '.join(end.updated)}" if end.updated else ""
            return f"{name}{suffix} -> {end.next_team or 'the end'}{sets}{why}"
        case "stopped":
            others = "enough other branches had finished, or its time was up"
            return f"{name} was stopped: {end.because or others}"
        case error:
            where = f"at {name}" if end.visit else f"before {end.team or 'the end'}"
            return f"the run ends {where} with {error}{why}"
