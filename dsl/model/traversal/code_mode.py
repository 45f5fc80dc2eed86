"""Code mode: the tools of a persona that its code calls. Pure.

The model sees them as Python functions in the description of the tool that runs the code, and not
as tools of their own.
"""

import builtins
import keyword
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from coterie.dsl.model.agent_skills import USE_SKILL
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.tools.tool_contract import Tool
from coterie.dsl.model.tools.tool_section import ToolBase
from coterie.dsl.model.tools.tool_use import NamedTool

RUNS_CODE = "Python.run"
"""The tool function that runs code."""

MODULES_OF_CODE = (
    *("asyncio", "base64", "collections", "datetime", "decimal", "functools", "hashlib"),
    *("itertools", "json", "math", "random", "re"),
)
"""Modules that the code has already."""

_TAKEN = frozenset((*dir(builtins), *MODULES_OF_CODE))
"""Names that mean something else in code."""
_OWN_PREFIX = "coterie_"
_NOT_IN_A_NAME = re.compile(r"\W", re.ASCII)


class CodeMode(NamedTuple):
    """Which tools the code of a persona calls."""

    tool: str
    """The tool that runs the code."""
    functions: Mapping[str, str]
    """`{name in the code: tool}`."""


def code_mode_of(persona: Persona, tools: Mapping[str, Tool]) -> CodeMode | None:
    """Return which tools the code of a persona calls; None if it calls none.

    A tool that ends the agent, or that the model must call first, remains a tool of its own.
    """
    runners = code_runners(persona.tools, tools)
    if not persona.code_mode or not runners:
        return None
    named = persona.tools if persona.code_mode is True else persona.code_mode
    own = {*runners, *own_tools(persona)}
    called = [name for name in named if name in persona.tools and name not in own]
    return CodeMode(runners[0], {name_in_code(name): name for name in called})


def code_runners(names: Iterable[str], tools: Mapping[str, ToolBase]) -> list[str]:
    """Return the tools among the names that run code."""
    return [name for name in names if runs_code(tools.get(name))]


def runs_code(tool: ToolBase | None) -> bool:
    """Return whether a tool runs code."""
    return tool is not None and tool.kind == "skill" and tool.made_of == RUNS_CODE


def own_tools(persona: Persona) -> set[str]:
    """Return the tools that code never calls: they end the agent, or the model must name them.

    The model reads agent skills itself: they say what its code shall do.
    """
    ending = {policy.tool for policy in persona.tool_policy if policy.exit_on_success}
    if persona.agent_skills:
        ending.add(USE_SKILL)
    choice = persona.tool_choice
    return {*ending, choice.tool} if isinstance(choice, NamedTool) else ending


def direct_tools(persona: Persona, tools: Mapping[str, Tool]) -> tuple[str, ...]:
    """Return the tools that a persona offers its model as tools of their own."""
    mode = code_mode_of(persona, tools)
    if mode is None:
        return persona.tools
    by_code = set(mode.functions.values())
    return tuple(name for name in persona.tools if name not in by_code)


def name_in_code(tool: str) -> str:
    """Return the name of a tool in code: `list_orders` of `list-orders`, `tool_list` of `list`."""
    name = _NOT_IN_A_NAME.sub("_", tool)
    is_taken = name in _TAKEN or keyword.iskeyword(name) or name.startswith(_OWN_PREFIX)
    if is_taken or not name.isidentifier():
        name = f"tool_{name}"
    return name
