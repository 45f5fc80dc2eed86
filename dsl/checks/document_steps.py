"""The steps of a document as written: of teams, of plans, and of plans in a `config`."""

from collections.abc import Iterator, Sequence

from coterie.dsl.model.document import SystemDocument
from coterie.dsl.model.steps import AgentStep, Step
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.values import NodePath

PlacedSteps = Sequence[tuple[Step, NodePath]]
"""Steps, each with the place where it is written."""


def every_step(document: SystemDocument) -> Iterator[tuple[Step, NodePath]]:
    """Yield every step with the place where it is written."""
    for steps, path in _written_lists(document):
        yield from _with_configs(steps, path)


def _written_lists(document: SystemDocument) -> Iterator[tuple[Sequence[Step], NodePath]]:
    teams = {} if document.orchestration is None else document.orchestration.teams
    for key, team in teams.items():
        yield team.tasks, ("orchestration", "teams", key, "tasks")
    for key, persona in document.llm_config.personas.items():
        yield persona.execution_plan or (), ("llm_config", "personas", key, "execution_plan")


def _with_configs(steps: Sequence[Step], path: NodePath) -> Iterator[tuple[Step, NodePath]]:
    for step, inner_path in walk(steps, path):
        yield step, inner_path
        if isinstance(step, AgentStep) and step.config is not None:
            below = (*inner_path, "config", "execution_plan")
            yield from _with_configs(step.config.execution_plan or (), below)
