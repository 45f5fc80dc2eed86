"""The agent types of Coterie, and the one of a persona whose task names none."""

from collections.abc import Collection, Iterable
from typing import TypeVar

SINGLE_SHOT = "generic_single_shot"
"""The agent type that asks a model once."""
ORCHESTRATING = "generic_orchestrating"
"""The agent type that follows the execution plan of its persona."""
TOOL_CALLING = "generic_tool_calling"
"""The agent type whose model calls the tools of its persona, turn after turn."""


def default_agent_type(*, has_plan: bool, offers_tools: bool) -> str:
    """Return the agent type of a persona, where no `agent_type` is written.

    Args:
        has_plan: The persona has an `execution_plan`.
        offers_tools: Its model may call tools, or hand over to a team.
    """
    if has_plan:
        return ORCHESTRATING
    return TOOL_CALLING if offers_tools else SINGLE_SHOT


_Name = TypeVar("_Name")


def offered_tools(
    tools: Iterable[_Name], subagents: Iterable[_Name], excluded: Collection[_Name]
) -> list[_Name]:
    """Return what a persona offers its model: `tools` and `subagents` without `exclude_tools`."""
    return [name for name in (*tools, *subagents) if name not in excluded]
