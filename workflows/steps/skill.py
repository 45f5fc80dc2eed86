"""A skill: one activity, run as its contract says."""

from dsl.outcomes import Outcome
from dsl.steps import SkillStep
from dsl.templates import fill
from workflows.place import Place
from workflows.scope import Scope
from workflows.skill_calls import call_skill


async def execute(step: SkillStep, place: Place, scope: Scope) -> Outcome:
    """Call the skill with its filled input."""
    given = fill(step.input, place.facts(scope).names())
    return await call_skill(step.skill, given, step.terms, place, scope, step.timeout)
