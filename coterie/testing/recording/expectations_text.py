"""Turn the result of a recorded run into the expectations of a test."""

import json
from collections.abc import Sequence

from pydantic import JsonValue
from temporalio.client import WorkflowHistory

from coterie.dsl.model.plan import Plan
from coterie.dsl.paths import MISSING, get, parse
from coterie.dsl.values import Json
from coterie.runs.histories.history_events import closed
from coterie.testing.files.case_document import ErrorCheck, ExpectDocument
from coterie.workflows.core.views import RunStatus, TrailEntry

_MAX_VALUE_LENGTH = 300
"""Characters of JSON; for a longer value a test only expects that it exists."""


def expected(
    parts: Sequence[WorkflowHistory], plan: Plan, trail: Sequence[TrailEntry], status: RunStatus
) -> ExpectDocument:
    """Collect the end, the path, what routes set in the context, and the number of calls."""
    closing = closed(parts[-1])
    end = None if closing is None else closing.end
    result = None if end is None else end.result
    fields: dict[str, object] = {"end": "failed" if end is None else end.outcome}
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
