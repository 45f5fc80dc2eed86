"""The calls that people decide on before they are made."""

from coterie.dsl.model.step_kinds.step_base import SkillTerms
from coterie.dsl.model.tools.tool_contract import OneCallTool, Tool
from coterie.workflows.core.requests import PlannedCall


def planned_call(name: str, terms: SkillTerms | None) -> PlannedCall | None:
    """Return the call of a skill, a function or a server's tool, if it may change something."""
    if terms is None or terms.effect == "read":
        return None
    return PlannedCall(name=name, effect=terms.effect)


def planned_tool_call(tool: Tool) -> PlannedCall | None:
    """Return the call of a tool, if it is one and may change something."""
    return planned_call(tool.made_of, tool.terms) if isinstance(tool, OneCallTool) else None
