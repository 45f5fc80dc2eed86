"""Checks that the names of personas fit into the keys of a plan."""

from coterie.dsl.model.document import SystemDocument
from coterie.dsl.model.plan_key import can_be_persona
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.wording.agent_wording import persona_name_refused


def check_persona_names(document: SystemDocument, tree: Node, problems: Problems) -> None:
    """Note each persona whose name would read as that of a persona with a task's `config`."""
    for name in document.llm_config.personas:
        if not can_be_persona(name):
            path = ("llm_config", "personas", name)
            problems.report(persona_name_refused(name), tree.key_at(path))
