"""Where an answer may not be shown while it is written: what may still reject it."""

from dsl.model.plan import Persona
from dsl.model.steps import ORCHESTRATING, AgentStep
from dsl.model.terms import consent
from dsl.source.nodes import Node, Problems
from dsl.values import Json, NodePath
from dsl.wording.agent_wording import (
    streamed_before_approval,
    streamed_before_check,
    streamed_before_reask,
)


def check_streaming(
    step: AgentStep, persona: Persona, place: NodePath, tree: Node, problems: Problems
) -> None:
    """Note a task whose answer would be seen before it is accepted.

    Args:
        step: The task.
        persona: Its merged persona.
        place: Where `stream` is written.
        tree: The document.
        problems: Receives the problem.
    """
    if not persona.stream or step.agent_type == ORCHESTRATING:
        return
    check_reasks(persona.output_schema, persona.max_reasks, place, tree, problems)
    asked = consent(step.requires_approval)
    if asked is not None and asked.at == "after":
        details = streamed_before_approval(step.name)
        problems.note("E506", tree.find(place).at, place, details)
    elif step.fail_when is not None:
        details = streamed_before_check(step.name)
        problems.note("E506", tree.find(place).at, place, details)


def check_reasks(
    schema: Json | None, reasks: int, place: NodePath, tree: Node, problems: Problems
) -> None:
    """Note a schema that a streamed answer may violate, so that the model is asked again."""
    if schema is not None and reasks and not problems.has("E506", place):
        problems.note("E506", tree.find(place).at, place, streamed_before_reask(reasks))
