"""An agent step says which agent it means: a type and a persona, or a legacy class."""

from dsl.errors import listed
from dsl.model.capabilities import Capabilities
from dsl.model.steps import AgentStep
from dsl.source.nodes import Node, Problems
from dsl.source.unknown_names import called, unknown
from dsl.values import NodePath


def check_agent_keys(
    step: AgentStep, path: NodePath, capabilities: Capabilities, tree: Node, problems: Problems
) -> bool:
    """Whether the step has an agent type and a persona; what is missing or unknown is noted."""
    missing = [key for key in ("agent_type", "persona_key") if getattr(step, key) is None]
    for key in missing:
        fix = (
            "add `persona_key:`"
            if key == "persona_key"
            else f"add `agent_type:` ({', '.join(capabilities.agent_types)})"
        )
        mark = tree.find(path).at
        problems.add("E102", mark, (*path, key), f"the key {key!r} is missing", fix=fix)
    _agent_type(step, path, capabilities, tree, problems)
    return not missing


def _agent_type(
    step: AgentStep, path: NodePath, capabilities: Capabilities, tree: Node, problems: Problems
) -> None:
    known = capabilities.agent_types
    if step.agent_type is None or step.agent_type in known:
        return
    place = (*path, "agent_type")
    mark = tree.find(place).mark
    if step.agent_type in capabilities.skills:
        problems.add(
            "E203",
            mark,
            place,
            f"{step.agent_type!r} is a skill, and a task needs an agent type",
            allowed=listed(known),
            fix="skills are called by execution plans",
        )
        return
    unknown(problems, mark, place, "E203", "agent type", step.agent_type, known)


def check_legacy(step: AgentStep, path: NodePath, tree: Node, problems: Problems) -> None:
    """Note what a step with an `agent_class` says besides, and cannot mean."""
    if step.agent_type is not None or step.persona_key is not None:
        problems.add(
            "E107",
            tree.find((*path, "agent_class")).at,
            path,
            f"{called(step.name, 'the task')} says both agent_class and agent_type or persona_key",
            fix="keep `agent_type` and `persona_key`; `agent_class` is the older form",
        )
    if step.config is not None:
        problems.add(
            "E108",
            tree.find((*path, "config")).at,
            (*path, "config"),
            "`config` is laid over a persona, and a legacy agent has none",
            fix=f"write it under llm_config.agents.{step.name}",
        )
