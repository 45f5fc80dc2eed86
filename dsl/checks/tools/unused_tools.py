"""Warn of tools that nothing calls."""

from dsl.checks.document_steps import every_step
from dsl.checks.tools.tool_names import written_personas
from dsl.model.document import SystemDocument
from dsl.model.steps import ToolStep
from dsl.model.tools.tool_groups import tool_groups
from dsl.source.nodes import Node, Problems
from dsl.templates.template import is_template
from dsl.wording.tool_wording import unused_tool


def check_unused_tools(document: SystemDocument, tree: Node, problems: Problems) -> None:
    """Warn of each tool of the document's own file that no persona offers and no step calls.

    Tools of other files serve any document.
    """
    called = [step.tool for step, _ in every_step(document) if isinstance(step, ToolStep)]
    if any(map(is_template, called)):
        return  # any tool may be called
    used = set(called)
    for persona, _ in written_personas(document):
        used |= {*(persona.tools or ()), *(persona.subagents or ())}
    for group, members in tool_groups(document.tools).items():
        used |= {*members, group} if group in used or used & {*members} else {*members}
    file = tree.find(("orchestration", "entry_team")).mark.file
    for name in document.tools:
        place = ("tools", name)
        if name not in used and tree.find(place).at.file == file:
            problems.note("W520", tree.find(place).at, place, unused_tool(name))
