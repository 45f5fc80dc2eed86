"""Subagents: what a persona names there becomes a tool made of that persona."""

from collections.abc import Mapping

from dsl.checks.tools.tool_names import subagents_of
from dsl.model.document import SystemDocument
from dsl.model.tools.tool_section import ToolSection
from dsl.source.collected_problems import Problems
from dsl.source.nodes import Node
from dsl.values import NodePath
from dsl.wording.tools.tool_wording import subagent_named_like_tool


def with_subagents(
    document: SystemDocument, tree: Node, problems: Problems
) -> tuple[SystemDocument, Mapping[str, NodePath]]:
    """Return the document with a tool for each subagent, and `{tool: where it is written}`."""
    tools = dict(document.tools)
    paths: dict[str, NodePath] = {name: ("tools", name) for name in tools}
    for key, path in subagents_of(document):
        persona = document.llm_config.personas.get(key)
        written = document.tools.get(key)
        if written is not None and written.agent != key:
            details = subagent_named_like_tool(key)
            problems.note("E208", tree.find(path).mark, path, details)
        elif persona is not None and key not in tools:
            tools[key] = ToolSection(agent=key, description=persona.description or "")
            paths[key] = path
    return document.model_copy(update={"tools": tools}), paths
