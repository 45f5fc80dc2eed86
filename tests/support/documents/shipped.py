"""The shipped teams, compiled as the command line compiles them, and the steps within them."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from coterie.documents.catalog import shipped_root
from coterie.documents.compilation import CompiledDocument, compile_target
from coterie.dsl.model.plan import Persona, Plan
from coterie.dsl.model.steps import PersonaStep, Step
from coterie.dsl.model.traversal.step_walk import walk
from coterie.settings import load
from tests.support.places import ROOT

ORCHESTRATING = "generic_orchestrating"
SAMPLE = ROOT / "examples" / "invoicing"
TEAMS = sorted(file.stem for file in (shipped_root() / "teams").glob("*.yml"))


def team_file(name: str) -> Path:
    """Where a shipped team is written."""
    return shipped_root() / "teams" / f"{name}.yml"


def script_file(name: str) -> Path:
    """Where a shipped team's scripted answers are."""
    return shipped_root() / "scripted" / f"{name}.yml"


@cache
def compiled(name: str, project: Path = SAMPLE) -> CompiledDocument:
    """A shipped team, compiled in a project's folder, with nothing in the environment."""
    return compile_target(load({}, project), name)


def model_calls(plan: Plan) -> Iterator[tuple[str, PersonaStep, Persona]]:
    """Every step of a plan that asks a model: its team, itself, its persona."""
    for team in plan.teams.values():
        for step in all_steps(team.steps, plan):
            if isinstance(step, PersonaStep) and step.agent_type != ORCHESTRATING:
                yield team.id, step, plan.personas[step.persona_key]


def all_steps(steps: tuple[Step, ...], plan: Plan) -> Iterator[Step]:
    """Steps and the steps of the plans that they follow."""
    for step, _ in walk(steps, ()):
        yield step
        if isinstance(step, PersonaStep) and step.agent_type == ORCHESTRATING:
            persona = plan.personas[step.persona_key]
            yield from all_steps(persona.execution_plan or (), plan)
