"""What a run did to the world: each call with an effect, and how certain its outcome is. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from coterie.activities.contracts import FailureType, FunctionRequest, FunctionResult
from coterie.dsl.model.capabilities import Effect
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.retryability import may_have_happened
from coterie.dsl.model.step_kinds.try_step import Catch
from coterie.dsl.model.steps import FunctionStep, Step, TryStep
from coterie.dsl.model.tools.tool_contract import OneCallTool, TemporalTool
from coterie.dsl.model.traversal.step_walk import walk
from coterie.runs.histories.recorded_calls import RecordedCall
from coterie.workflows.core.causes.people_causes import RequestDecided
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.views import TrailEntry

Certainty = Literal["done", "not done", "unknown", "in progress", "verified", "answered"]
"""Of a call whose outcome was unknown: `verified` by a later call, `answered` by a person, where
the document handles that failure. What they found decides the path of the run."""


@dataclass(frozen=True, slots=True)
class LedgerEffect:
    """One call that may change something."""

    call: str
    """Its activity id."""
    at: datetime
    ended: datetime | None
    path: str
    """`team/path of the step`."""
    visit: int
    step: str
    """`work#1/act/charge@2.1`."""
    skill: str
    effect: Effect
    """What a repeated call does."""
    certainty: Certainty
    why: str
    input: JsonValue
    key: str
    """By which the tool function recognises a repeat."""


def effects_of(
    plan: Plan,
    calls: Sequence[RecordedCall],
    trail: Sequence[TrailEntry] = (),
    *,
    has_ended: bool,
) -> tuple[LedgerEffect, ...]:
    """Return the calls that are not only reads, in their order.

    A call that asks a person, or whose server continues it as a task, has several activities: the
    last one says what became of it.

    Args:
        plan: Of the run.
        calls: Of all its histories.
        trail: Of the run, for the decisions of people.
        has_ended: Whether the run has ended: then nobody learns what came of a call in progress.
    """
    effects, harmless = dict(_effects(plan)), dict(_failures_without_effect(plan))
    rows: dict[str, LedgerEffect] = {}
    for call in calls:
        request = call.request
        if isinstance(request, FunctionRequest) and effects.get(request.skill, "once") != "read":
            effect = effects.get(request.skill, "once")
            row = _row(call, request, effect, harmless.get(request.skill, ()))
            first = rows.get(row.key)
            rows[row.key or call.id] = row if first is None else replace(row, at=first.at)
    known = map(_without_run, rows.values()) if has_ended else rows.values()
    settling = _Settling(plan, calls, trail)
    return tuple(settling.settled(row) if row.certainty == "unknown" else row for row in known)


def _without_run(row: LedgerEffect) -> LedgerEffect:
    if row.certainty != "in progress":
        return row
    return replace(row, certainty="unknown", why="the run ended before the call did")


def _effects(plan: Plan) -> Iterator[tuple[str, Effect]]:
    """Yield each tool function of a plan with its effect."""
    for tool in plan.tools.values():
        if isinstance(tool, OneCallTool):
            yield tool.made_of, tool.effect
    for step in _steps(plan):
        if isinstance(step, FunctionStep) and step.terms is not None:
            yield step.skill, step.terms.effect


def _failures_without_effect(plan: Plan) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what runs on Temporal, with the failures after which nothing has happened."""
    for tool in plan.tools.values():
        if isinstance(tool, TemporalTool):
            yield tool.made_of, tool.target.failures_without_effect


def _steps(plan: Plan) -> Iterator[Step]:
    own = (persona.execution_plan or () for persona in plan.personas.values())
    for steps in (*(team.steps for team in plan.teams.values()), *own):
        for step, _ in walk(steps, ()):
            yield step


def _row(
    call: RecordedCall, request: FunctionRequest, effect: Effect, harmless: Sequence[str]
) -> LedgerEffect:
    certainty, why = _certainty(call, effect, harmless)
    step = StepKey(call.path)
    name = f"{step.team}#{call.visit}/{step.path}"
    return LedgerEffect(
        call.id,
        call.scheduled,
        call.ended,
        call.path,
        call.visit,
        name,
        request.skill,
        effect,
        certainty,
        why,
        request.input,
        request.key,
    )


_BEFORE_ANY_EFFECT = (
    FailureType.FUNCTION_REFUSED,
    FailureType.TOOL_CHANGED,
    FailureType.STALE_ATTEMPT,
    FailureType.REQUEST_TOO_LARGE,
    FailureType.NOT_LOCAL,
)
"""Failures of one attempt that had not begun its work, whatever the effect. Others say so only of
a `once` call, whose worker reports what was cut off as unknown."""


def _certainty(
    call: RecordedCall, effect: Effect, harmless: Sequence[str]
) -> tuple[Certainty, str]:
    attempts = f"after {call.attempts} attempts" if call.attempts > 1 else ""
    if call.end == "completed" and isinstance(call.answer, FunctionResult):
        return "done", attempts
    if call.end is None or _continues(call):
        return "in progress", attempts
    error = "" if call.failure is None else call.failure.type
    if call.is_foreign:
        is_unknown = call.started is not None and error not in harmless
    elif effect == "once":
        is_unknown = call.started is not None and may_have_happened(effect, error)
    else:
        is_unknown = call.attempts != 1 or error not in _BEFORE_ANY_EFFECT
    return "unknown" if is_unknown else "not done", call.error


def _continues(call: RecordedCall) -> bool:
    """Return whether a call waits for a person, or for the task of its server."""
    return call.failure is not None and call.failure.type == FailureType.INPUT_REQUIRED


class _Settling:
    """Finds what a document did about calls whose outcome was unknown."""

    def __init__(
        self, plan: Plan, calls: Sequence[RecordedCall], trail: Sequence[TrailEntry]
    ) -> None:
        self._calls = [call for call in calls if isinstance(call.answer, FunctionResult)]
        self._decided = [
            (entry, entry.cause) for entry in trail if isinstance(entry.cause, RequestDecided)
        ]
        self._handlers = {
            step.name: frozenset(inner.name for clause in _takers(step) for inner in clause.steps)
            for step in _steps(plan)
            if isinstance(step, TryStep)
        }
        """`{a try step: the steps that follow an unknown outcome within it}`."""

    def settled(self, row: LedgerEffect) -> LedgerEffect:
        """Return a call as a person answered it, or else as a later call verified it."""
        if row.ended is None:
            return row
        places = tuple(_handling_steps(row.path, self._handlers))
        end = self._next_call(row)
        for entry, cause in self._decided:
            at = datetime.fromisoformat(entry.at)
            path, is_here = f"{entry.team}/{entry.step}", entry.visit == row.visit
            is_about = path == row.path or _is_in(path, places)
            if is_here and is_about and row.ended <= at and (end is None or at <= end):
                why = f"{row.why}; {cause.verdict} by {cause.by}: {cause.request}"
                return replace(row, certainty="answered", why=why)
        for call in self._calls:
            is_next = row.ended <= call.scheduled and (end is None or call.scheduled <= end)
            if call.visit == row.visit and is_next and _is_in(call.path, places):
                return replace(row, certainty="verified", why=f"{row.why}; by {call.path}")
        return row

    def _next_call(self, row: LedgerEffect) -> datetime | None:
        """Return when the step made its next call."""
        later = (
            call.scheduled
            for call in self._calls
            if (call.path, call.visit) == (row.path, row.visit) and call.scheduled > row.at
        )
        return min(later, default=None)


def _takers(step: TryStep) -> Iterator[Catch]:
    for clause in step.catch:
        if clause.takes_all or FailureType.OUTCOME_UNKNOWN in clause.errors:
            yield clause


def _handling_steps(path: str, handlers: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Yield the paths of the steps that handle the failure of a step."""
    names = path.split("/")
    for number, name in enumerate(names[:-1]):
        handling = handlers.get(name, frozenset())
        if names[number + 1] not in handling:
            yield from ("/".join((*names[: number + 1], inner)) for inner in handling)


def _is_in(path: str, places: Sequence[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)
