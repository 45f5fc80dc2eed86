"""The steps whose answer is what people get, as it is: it may be shown while a model writes it."""

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from coterie.dsl.model.plan import Plan, Team
from coterie.dsl.model.step_kinds.agent_types import SINGLE_SHOT
from coterie.dsl.model.steps import PersonaStep, ReplyStep, Step
from coterie.dsl.model.traversal.step_paths import inside
from coterie.dsl.paths import Path
from coterie.dsl.templates.template import plain_path


def answering_steps(plan: Plan) -> frozenset[str]:
    """Return `team/path` of the steps whose streamed text becomes the reply or the result itself.

    Such a step streams, uses no tools, and nothing between it and the reply may replace its text:
    it has no hooks, no check and no condition behind it. In a session, an unconditional `reply`
    follows it and gives nothing else. Elsewhere it ends the only visit of the entry team, and the
    output is its text. A failed attempt can still replace what was shown.
    """
    if plan.hooks:
        return frozenset()
    answering = {
        f"{team.id}/{path}"
        for team in plan.teams.values()
        for path in _answers_of(team.steps, plan)
    }
    return frozenset(answering | set(_concluding(plan)))


def streaming_steps(plan: Plan) -> frozenset[str]:
    """Return `team/path` of the steps whose streamed text is their whole output."""
    return frozenset(
        f"{team.id}/{path}" for team in plan.teams.values() for path in _texts_of(team.steps, plan)
    )


def _texts_of(steps: Sequence[Step], plan: Plan) -> Iterator[str]:
    for step in steps:
        if _streams(step, plan):
            yield step.name
        for prefix, inner in inside(step, plan):
            yield from (f"{step.name}/{prefix}{path}" for path in _texts_of(inner, plan))


def _answers_of(steps: Sequence[Step], plan: Plan) -> Iterator[str]:
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        for prefix, inner in inside(step, plan):
            yield from (f"{step.name}/{prefix}{path}" for path in _answers_of(inner, plan))
        if not isinstance(after, ReplyStep) or after.when is not None:
            continue
        if _streams(step, plan) and _gives(after.value, step.name, ""):
            yield step.name


def _concluding(plan: Plan) -> Iterator[str]:
    team = plan.teams[plan.entry_team]
    if not team.steps or not _ends_there(team) or not _streams(team.steps[-1], plan):
        return
    name = team.steps[-1].name
    is_alone = plan.output is None and len(team.steps) == 1
    if is_alone or _gives(plan.output, name, team.id):
        yield f"{team.id}/{name}"


def _ends_there(team: Team) -> bool:
    routing = team.routing
    return routing is None or (not routing.rules and routing.default is None)


def _streams(step: Step, plan: Plan) -> bool:
    """Return whether a step shows its only model turn, which nothing may replace but a retry."""
    if not isinstance(step, PersonaStep) or step.agent_type != SINGLE_SHOT or step.personas:
        return False
    persona = plan.personas.get(step.persona_key)
    return (
        persona is not None
        and persona.stream
        and persona.output_schema is None
        and not persona.hooks
        and step.fail_when is None
        and step.approval is None
    )


def _gives(value: JsonValue, step: str, team: str) -> bool:
    """Return whether a template gives the text of a step, and nothing else."""
    match value:
        case str():
            path = plain_path(value)
        case dict() if len(value) == 1 and isinstance(only := next(iter(value.values())), str):
            path = plain_path(only)
        case _:
            return False
    own: Path = ("tasks", step, "data")
    places = [own, *([("teams", team, *own)] if team else [])]
    return path is not None and any(path in (place, (*place, "text")) for place in places)
