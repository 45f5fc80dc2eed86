"""Keys without effect where they are written, like prompts of an agent that asks no model."""

from dsl.checks.document_steps import PlacedSteps
from dsl.model.document import SystemDocument
from dsl.model.steps import ORCHESTRATING, AgentStep, PersonaDocument
from dsl.source.nodes import Node, Problems
from dsl.values import NodePath
from dsl.wording.agent_wording import without_effect
from dsl.wording.tool_wording import without_tools

_PERSONAS: NodePath = ("llm_config", "personas")

OF_ANSWERS = (
    "prompts",
    "prompt",
    "prompt_syntax",
    "output_schema",
    "max_reasks",
    "flags",
    "stream",
    "fallback",
    "context_window",
    "compaction",
)
"""Keys of a persona that form a question or read its answer."""


def check_without_effect(
    document: SystemDocument, steps: PlacedSteps, tree: Node, problems: Problems
) -> None:
    """Note keys for questions and answers where no model is asked."""
    _steps(steps, tree, problems)
    asked = _asked_personas(steps)
    followed = {
        key
        for step, _ in steps
        if isinstance(step, AgentStep) and step.agent_type == ORCHESTRATING
        for key in step.persona_names
    }
    for key, persona in document.llm_config.personas.items():
        if key in followed and key not in asked and persona.execution_plan is not None:
            _persona(problems, tree, persona, (*_PERSONAS, key))


def _steps(steps: PlacedSteps, tree: Node, problems: Problems) -> None:
    for step, path in steps:
        match step:
            case AgentStep(agent_class=str()):
                _refuse(problems, tree, (*path, "prompt"), step.prompt, is_legacy=True)
                _turns(problems, tree, step, path)
            case AgentStep(agent_type=agent_type) if agent_type == ORCHESTRATING:
                _refuse(problems, tree, (*path, "prompt"), step.prompt)
                _turns(problems, tree, step, path)
                if step.config is not None:
                    _persona(problems, tree, step.config, (*path, "config"))
            case _:
                pass


def _turns(problems: Problems, tree: Node, step: AgentStep, path: NodePath) -> None:
    if step.max_turns is not None:
        place = (*path, "max_turns")
        problems.note("E503", tree.find(place).at, place, without_tools("max_turns"))


def _persona(problems: Problems, tree: Node, persona: PersonaDocument, path: NodePath) -> None:
    for key in OF_ANSWERS:
        _refuse(problems, tree, (*path, key), getattr(persona, key))


def _refuse(
    problems: Problems, tree: Node, place: NodePath, value: object, *, is_legacy: bool = False
) -> None:
    if value is not None and value != {}:
        details = without_effect(str(place[-1]), is_legacy=is_legacy)
        problems.note("E503", tree.find(place).at, place, details)


def _asked_personas(steps: PlacedSteps) -> set[str]:
    """Return the personas with which some task, or an agent class of the worker, asks a model."""
    return {
        key
        for step, _ in steps
        if isinstance(step, AgentStep) and step.agent_type != ORCHESTRATING
        for key in step.persona_names
    }
