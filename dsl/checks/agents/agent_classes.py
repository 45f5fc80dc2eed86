"""Legacy agent classes: whether a worker imports them, and which of their sections are unread."""

from dsl.checks.document_steps import PlacedSteps
from dsl.model.capabilities import Capabilities
from dsl.model.document import SystemDocument
from dsl.model.steps import AgentStep
from dsl.source.nodes import Node, Problems
from dsl.source.unknown_names import unknown
from dsl.values import NodePath
from dsl.wording.document_wording import unimportable_class


def check_agent_classes(
    document: SystemDocument,
    steps: PlacedSteps,
    tree: Node,
    problems: Problems,
    capabilities: Capabilities,
) -> None:
    """Warn of a class whose package the worker does not allow; check the sections of `agents`."""
    _sections(document, tree, problems)
    own = None if document.worker is None else document.worker.agent_packages
    if capabilities.agent_packages is None and own is None:
        return  # the worker's packages are not known here
    allowed = (*(capabilities.agent_packages or ()), *(own or ()))
    for step, path in steps:
        name = step.agent_class if isinstance(step, AgentStep) else None
        if name is None or any(f"{name}.".startswith(f"{package}.") for package in allowed):
            continue
        place = (*path, "agent_class")
        problems.note("W514", tree.find(place).mark, place, unimportable_class(name, allowed))


def _sections(document: SystemDocument, tree: Node, problems: Problems) -> None:
    for name, section in document.llm_config.agents.items():
        key = section.get("persona_key") if isinstance(section, dict) else None
        if isinstance(key, str) and key not in document.llm_config.personas:
            place: NodePath = ("llm_config", "agents", name, "persona_key")
            unknown(
                problems,
                tree.find(place).mark,
                place,
                "E202",
                "persona",
                key,
                document.llm_config.personas,
            )
