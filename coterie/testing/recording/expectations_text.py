"""Turn the result of a recorded run into the expectations of a test."""

import json
from collections.abc import Sequence

from pydantic import JsonValue
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHistory

from coterie.replay.endings import ending
from coterie.testing.files.test_document import Ending, ErrorCheck, ExpectDocument
from dsl.model.plan import Plan
from dsl.paths import MISSING, get, parse
from dsl.values import Json
from workflows.core.views import RunStatus, TeamResult, TrailEntry

_MAX_VALUE_LENGTH = 300
"""Characters of JSON; for a longer value a test only expects that it exists."""


def expected(
    parts: Sequence[WorkflowHistory], plan: Plan, trail: Sequence[TrailEntry], status: RunStatus
) -> ExpectDocument:
    """Collect the end, the path, what routes set in the context, and the number of calls."""
    last = parts[-1].events[-1]
    recorded = ending(last)
    result = recorded.result if recorded is not None else None
    fields: dict[str, object] = {"end": _end(last.event_type, result)}
    if result is not None and result.error is not None:
        error = result.error
        fields["error"] = ErrorCheck(type=error.type, message=error.message)
    path = [entry.team for entry in trail if entry.kind == "team"]
    if _fans_out(plan):
        fields["visits"] = {team: path.count(team) for team in dict.fromkeys(path)}
    else:
        fields["path"] = tuple(path)
    context = {} if result is None else _context(result.context, trail)
    if context:
        fields["context"] = context
    fields["model_calls"] = status.model_calls
    fields["skill_calls"] = status.skill_calls
    return ExpectDocument.model_validate(fields)


def _end(event: int, result: TeamResult | None) -> Ending:
    if event == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
        return "cancelled"
    return "failed" if result is None else result.end


def _fans_out(plan: Plan) -> bool:
    """Return whether branches may be concurrent, so that the order of visits varies."""
    rules = (rule for team in plan.teams.values() if team.routing for rule in team.routing.rules)
    return any(isinstance(rule.next_team, tuple) for rule in rules)


def _context(context: Json, trail: Sequence[TrailEntry]) -> dict[str, JsonValue]:
    """Return the final values that the routes set."""
    found: dict[str, JsonValue] = {}
    for path in dict.fromkeys(path for entry in trail for path in entry.updated):
        value = get(context, parse(path))
        if value is MISSING:
            continue
        if len(json.dumps(value)) > _MAX_VALUE_LENGTH:
            found[path] = {"exists": True}
        else:
            found[path] = {"equals": value} if isinstance(value, dict) else value
    return found
