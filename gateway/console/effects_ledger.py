"""What a run did to the world: each call with an effect, and how certain its outcome is. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from coterie.activities.contracts import FailureType, SkillRequest, SkillResult
from coterie.dsl.model.capabilities import Effect
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.retryability import may_have_happened
from coterie.dsl.model.steps import SkillStep
from coterie.dsl.model.tools.tool_contract import McpTool, SkillTool
from coterie.dsl.model.traversal.step_walk import walk
from coterie.gateway.console.page_values import ShownValue, shown_value
from coterie.runs.histories.recorded_calls import RecordedCall
from coterie.workflows.core.state_keys import StepKey

Certainty = Literal["done", "not done", "unknown", "in progress"]


@dataclass(frozen=True, slots=True)
class EffectRow:
    """One call that may change something."""

    at: datetime
    step: str
    """`work#1/act/charge@2.1`."""
    skill: str
    effect: Effect
    """What a repeated call does."""
    certainty: Certainty
    why: str
    input: ShownValue
    key: str
    """By which the skill recognises a repeat."""


def effects_of(
    plan: Plan, calls: Sequence[RecordedCall], *, has_ended: bool
) -> tuple[EffectRow, ...]:
    """Return the calls that are not only reads, in their order.

    A call that asks a person, or whose server continues it as a task, has several activities: the
    last one says what became of it.

    Args:
        plan: Of the run.
        calls: Of all its histories.
        has_ended: Whether the run has ended: then nobody learns what came of a call in progress.
    """
    effects = dict(_effects(plan))
    rows: dict[str, EffectRow] = {}
    for call in calls:
        request = call.request
        if isinstance(request, SkillRequest) and effects.get(request.skill, "once") != "read":
            row = _row(call, request, effects.get(request.skill, "once"))
            first = rows.get(row.key)
            rows[row.key or call.id] = row if first is None else replace(row, at=first.at)
    return tuple(map(_without_run, rows.values()) if has_ended else rows.values())


def _without_run(row: EffectRow) -> EffectRow:
    if row.certainty != "in progress":
        return row
    return replace(row, certainty="unknown", why="the run ended before the call did")


def _effects(plan: Plan) -> Iterator[tuple[str, Effect]]:
    """Yield each skill of a plan with its effect."""
    for tool in plan.tools.values():
        if isinstance(tool, SkillTool):
            yield tool.skill, tool.effect
        elif isinstance(tool, McpTool):
            yield tool.mcp, tool.effect
    own = (persona.execution_plan or () for persona in plan.personas.values())
    for steps in (*(team.steps for team in plan.teams.values()), *own):
        for step, _ in walk(steps, ()):
            if isinstance(step, SkillStep) and step.terms is not None:
                yield step.skill, step.terms.effect


def _row(call: RecordedCall, request: SkillRequest, effect: Effect) -> EffectRow:
    certainty, why = _certainty(call, effect)
    step = StepKey(call.path)
    name = f"{step.team}#{call.visit}/{step.path}"
    value = shown_value(request.input)
    return EffectRow(
        call.scheduled, name, request.skill, effect, certainty, why, value, request.key
    )


_BEFORE_ANY_EFFECT = (
    FailureType.SKILL_REFUSED,
    FailureType.TOOL_CHANGED,
    FailureType.STALE_ATTEMPT,
    FailureType.REQUEST_TOO_LARGE,
    FailureType.NOT_LOCAL,
)
"""Failures of one attempt that had not begun its work, whatever the effect. Others say so only of
a `once` call, whose worker reports what was cut off as unknown."""


def _certainty(call: RecordedCall, effect: Effect) -> tuple[Certainty, str]:
    attempts = f"after {call.attempts} attempts" if call.attempts > 1 else ""
    if call.end == "completed" and isinstance(call.answer, SkillResult):
        return "done", attempts
    if call.end is None or _continues(call):
        return "in progress", attempts
    error = "" if call.failure is None else call.failure.type
    if effect == "once":
        is_unknown = call.started is not None and may_have_happened(effect, error)
    else:
        is_unknown = call.attempts != 1 or error not in _BEFORE_ANY_EFFECT
    return "unknown" if is_unknown else "not done", call.error


def _continues(call: RecordedCall) -> bool:
    """Return whether a call waits for a person, or for the task of its server."""
    return call.failure is not None and call.failure.type == FailureType.INPUT_REQUIRED
