"""Checks that an agent step and its persona agree on whether there is an execution plan."""

from dsl.model.plan import Persona
from dsl.model.steps import ORCHESTRATING, SINGLE_SHOT, AgentStep
from dsl.source.nodes import Node, Problems
from dsl.values import NodePath
from dsl.wording.agent_wording import plan_missing, plan_not_followed, plan_within_itself


def plan_fits(
    step: AgentStep,
    persona: Persona,
    path: NodePath,
    named_at: NodePath,
    is_open: bool,
    tree: Node,
    problems: Problems,
) -> bool:
    """Return whether the agent follows the plan of its persona; note a problem if they disagree.

    Args:
        step: the agent step.
        persona: with the step's `config` merged in.
        path: where the step is written.
        named_at: where it names the persona.
        is_open: whether an enclosing step is already resolving this plan.
        tree: the document.
        problems: collects the findings.
    """
    key = str(step.persona_key)
    if step.agent_type != ORCHESTRATING:
        if not persona.execution_plan or step.agent_type != SINGLE_SHOT:
            return True
        where = (*path, "agent_type")
        problems.note("E503", tree.find(where).mark, where, plan_not_followed(key))
        return False
    if persona.execution_plan is None:
        spot: NodePath = ("llm_config", "personas", key)
        problems.note("E503", tree.find(spot).at, spot, plan_missing(key, step.name))
        return False
    if is_open:
        problems.note("E503", tree.find(named_at).mark, named_at, plan_within_itself(key))
    return not is_open
