"""How the run of a trial ended, and the names that graders find it under."""

from typing import Literal

from pydantic import Field, JsonValue

from coterie.activities.contracts import WORKER_STOPPED, FailureType
from coterie.dsl.model.outcomes import Failure
from coterie.dsl.values import Frozen, Json
from coterie.evals.suite import Trial
from coterie.runs.ends.end_facts import ClosedState, RunEnd
from coterie.runs.ends.end_words import incomplete_reason

Stop = Literal["ended", "timeout", "request"]
"""Why a trial was over: its run ended, it took too long, or it asked what nobody decides."""

FACTS = (
    "output",
    "context",
    "completed",
    "error",
    "reply",
    "replies",
    "visits",
    "teams_run",
    "model_calls",
    "function_calls",
    "tokens",
    "cost",
    "seconds",
    "expected",
    "case",
    "variant",
    "repeat",
)
"""The names of templates in graders."""


AUTHORED = ("expected", "case", "variant", "repeat")
"""Those of them that the suite's author wrote; a rubric uses no others."""


class TrialEnd(Frozen):
    """The end of a run, as far as graders and reports need it."""

    stop: Stop = "ended"
    completed: bool
    """It completed; a session: it answered all messages."""
    message: str = ""
    """Why it did not."""
    error: Failure | None = None
    root: str = ""
    """The type of the failure that made it fail."""
    state: ClosedState = "completed"
    """What became of its run."""
    output: JsonValue = None
    context: Json = Field(default_factory=dict[str, JsonValue])
    replies: tuple[JsonValue, ...] = ()
    visits: dict[str, int] = Field(default_factory=dict[str, int])
    teams_run: int = 0
    model_calls: int = 0
    function_calls: int = 0
    tokens: int = 0
    cost: float | None = None
    """US dollars; None when no call has a price."""
    seconds: float = 0.0
    """From the start of the run to its end."""


def trial_end(
    end: RunEnd,
    seconds: float,
    *,
    stop: Stop = "ended",
    message: str = "",
    replies: tuple[JsonValue, ...] | None = None,
) -> TrialEnd:
    """Return the end of a trial.

    Args:
        end: The end of its run.
        seconds: How long the run took.
        stop: Why the trial is over.
        message: Why the trial stopped its run; empty if it did not.
        replies: Of a session, all replies in order; None if it did not answer everything.
    """
    result = end.result
    completed = stop == "ended" and (end.completed or replies is not None)
    ending = TrialEnd(
        stop=stop,
        completed=completed,
        message="" if completed else message or incomplete_reason(end),
        replies=replies or (),
        error=end.failure,
        root=end.failure.type if end.failure is not None else "",
        state=end.state,
        seconds=seconds,
    )
    if result is None:
        return ending
    return ending.model_copy(
        update={
            "error": end.failure or result.error,
            "root": result.root
            or ending.root
            or ("" if result.error is None else result.error.type),
            "output": result.output,
            "context": result.context,
            "visits": result.visits,
            "teams_run": result.teams_run,
            "model_calls": result.model_calls,
            "function_calls": result.function_calls,
            "tokens": result.usage.total,
            "cost": result.cost,
        }
    )


_NOT_THE_TEAMS: frozenset[str] = frozenset(
    {
        *(FailureType.PROVIDER_UNAVAILABLE, FailureType.RATE_LIMITED),
        *(FailureType.PROVIDER_REFUSED, FailureType.ANSWER_UNREADABLE, FailureType.MISSING_SECRET),
        *(FailureType.STORAGE_UNUSABLE, FailureType.STALE_ATTEMPT, WORKER_STOPPED),
    }
)
"""Failures of a provider, of the worker or of its machine."""


def void_reason(end: TrialEnd) -> str:
    """Return why a trial says nothing about its team; empty if it does."""
    if end.completed or end.stop != "ended":
        return ""
    if end.root in _NOT_THE_TEAMS:
        return f"its run failed by {end.root}, which is not the team's: {end.message}"
    if end.state in ("terminated", "timed out"):
        return f"its run was {end.state}: {end.message}"
    return ""


def facts_of(trial: Trial, end: TrialEnd) -> Json:
    """Return what the templates of graders may use: `FACTS`."""
    error: Json | None = None
    if end.error is not None:
        error = {"type": end.error.type, "message": end.error.message}
    facts: Json = {
        "output": end.output,
        "context": end.context,
        "completed": end.completed,
        "error": error,
        "reply": end.replies[-1] if end.replies else None,
        "replies": list(end.replies),
        "visits": dict(end.visits),
        "teams_run": end.teams_run,
        "model_calls": end.model_calls,
        "function_calls": end.function_calls,
        "tokens": end.tokens,
        "cost": end.cost,
        "seconds": end.seconds,
        "expected": trial.case.expected,
        "case": trial.case.name,
        "variant": trial.variant.name,
        "repeat": trial.repeat,
    }
    assert facts.keys() == set(FACTS)
    return facts
