"""Collected files: how much a skill has found for prompts, and which models may read it. Pure."""

from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import SkillStep, Step, ToolStep
from coterie.workflows.core.views import CollectedFiles

_MAX_MODELS = 8
"""Maximum models that one trail entry names; a run carries its entries along."""


def found_by(step: Step, outcome: Outcome, plan: Plan) -> CollectedFiles | None:
    """Return how much a skill has collected, if its result has `files` and `estimated_tokens`."""
    match step, outcome.data:
        case SkillStep() | ToolStep(), {"files": list() as files, "estimated_tokens": tokens}:
            if type(tokens) is not int:
                return None
        case _:
            return None
    asked = {
        f"{persona.provider}/{persona.model}": None
        for persona in plan.personas.values()
        if persona.provider
    }
    return CollectedFiles(
        files=len(files), estimated_tokens=tokens, models=tuple(asked)[:_MAX_MODELS]
    )
