"""Checks that the names of personas fit into the keys of a plan."""

from coterie.dsl.model.document import SystemDocument
from coterie.dsl.model.plan_key import can_be_persona
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node


@rule("E105")
def persona_name_refused(name: str) -> ProblemText:
    return ProblemText(
        f"no persona can be called {name!r}",
        "a name without @, which separates a persona from the task whose `config` it has",
        f"write {name.replace('@', '_')!r}, also where it is used",
    )


def check_persona_names(document: SystemDocument, tree: Node, problems: Problems) -> None:
    """Note each persona whose name would read as that of a persona with a task's `config`."""
    for name in document.llm_config.personas:
        if not can_be_persona(name):
            path = ("llm_config", "personas", name)
            problems.report(persona_name_refused(name), tree.key_at(path))
