"""The tools that code calls, as Python functions: what a model reads, their parameters. Pure."""

from collections.abc import Mapping

from coterie.dsl.model.tools.tool_contract import Tool
from coterie.dsl.model.traversal.code_mode import CodeMode
from coterie.dsl.tool_loop.function_stubs import function_stub, parameter_names
from coterie.dsl.values import Json

_HOW = (
    "The code may call the functions below. Each call is a coroutine: `await` it, and use "
    "`asyncio.gather` for calls that do not depend on each other. `asyncio` is there already. A "
    "call that fails raises an exception, whose text is the failure; a person may have to approve "
    "a call, which the code does not notice. Return only what you need."
)


def code_description(mode: CodeMode, tools: Mapping[str, Tool]) -> str:
    """Return what the model reads of the tool that runs the code."""
    stubs = (
        function_stub(name, tools[tool].description, _schema(tools[tool]), tools[tool].returns)
        for name, tool in mode.functions.items()
    )
    own = tools[mode.tool].description
    return "\n\n".join((f"{own} {_HOW}".strip(), *stubs))


def code_parameters(mode: CodeMode, tools: Mapping[str, Tool]) -> dict[str, tuple[str, ...]]:
    """Return `{name in the code: names of its parameters}`."""
    return {name: parameter_names(_schema(tools[tool])) for name, tool in mode.functions.items()}


def _schema(tool: Tool) -> Json:
    return tool.input_schema or {"type": "object"}
