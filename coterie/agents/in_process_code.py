"""Call the functions of a program's tools in the program itself.

A worker calls tools in child processes (`activities.user_code.child_pool`). A program that runs its
own agents has the functions at hand: also lambdas, closures and functions of a notebook. The
outcomes have the same types, so a call is reported the same way.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from threading import Event

from coterie.activities.answer_schema import schema_errors
from coterie.activities.processes.child_loop import reason_for, said
from coterie.activities.skills.functions.function_skills import FunctionSkill
from coterie.activities.user_code.child_failures import UserCodeTimeout
from coterie.activities.user_code.child_messages import (
    CallContext,
    FunctionReturned,
    InvalidArguments,
    NoTool,
    Raised,
    ToolFailed,
    ToolFunctionCall,
    ToolOutcome,
    WrongResult,
)
from coterie.activities.user_code.child_pool import UserCode
from coterie.activities.user_code.plain_values import NotJson, as_json
from coterie.activities.user_code.tool_functions import ToolContext, ToolError
from coterie.activities.user_code.tool_schemas import MismatchedValue, bound_arguments, plain_result
from coterie.agents.tool_definitions import ToolFunction
from coterie.dsl.values import JsonValue
from coterie.settings import Settings


class InProcessCode(UserCode):
    """Runs tools in this process instead of a child."""

    def __init__(self, tools: Iterable[ToolFunction]) -> None:
        super().__init__()
        self._tools = {tool.found.name: tool for tool in tools}

    async def call_tool(
        self,
        call: ToolFunctionCall,
        seconds: float,
        *,
        is_warned: bool = False,
        beat: Callable[[JsonValue], None] | None = None,
        begin: Callable[[], Awaitable[None]] | None = None,
    ) -> ToolOutcome:
        """Call a tool, and return the outcome.

        Raises:
            UserCodeTimeout: It took longer than `seconds`. A sync function continues in its thread,
                and may learn from its ToolContext that nobody waits.
        """
        tool = self._tools.get(call.tool)
        if tool is None:
            return NoTool(kind="no_tool", names=tuple(self._tools))
        stopped = Event()
        if begin is not None:
            await begin()
        try:
            async with asyncio.timeout(seconds):
                return await _outcome(tool, call, _context(call.context, beat, stopped))
        except TimeoutError:
            raise UserCodeTimeout(f"did not end within {seconds:g} s and was left") from None
        finally:
            stopped.set()


def in_process_skills(
    tools: Iterable[ToolFunction], settings: Settings
) -> dict[str, FunctionSkill]:
    """Return the tools as skills; each may read the variables that it names as secrets.

    Args:
        tools: Of the agents of one run.
        settings: The environment of the program.
    """
    known = tuple(tools)
    code = InProcessCode(known)
    return {tool.found.name: _skill(tool, code, settings) for tool in known}


def _skill(tool: ToolFunction, code: InProcessCode, settings: Settings) -> FunctionSkill:
    values = {name: settings.secret(name) for name in tool.found.secrets}
    secrets = {name: value for name, value in values.items() if value is not None}
    return FunctionSkill(tool.found, code, secrets)


def _context(
    call: CallContext, beat: Callable[[JsonValue], None] | None, stopped: Event
) -> ToolContext:
    def report(progress: object) -> None:
        plain = as_json(progress, "the progress")
        if beat is not None:
            beat(plain)

    return ToolContext(
        run=call.run,
        call=call.call,
        workspace=Path(call.workspace),
        secrets=call.secrets,
        progress=call.progress,
        _beat=report,
        _stopped=stopped,
    )


async def _outcome(tool: ToolFunction, call: ToolFunctionCall, context: ToolContext) -> ToolOutcome:
    given = _arguments(tool, call)
    if isinstance(given, InvalidArguments):
        return given
    if tool.typed is not None and tool.typed.context is not None:
        given[tool.typed.context] = context
    executor = tool.schema.executor
    try:
        if inspect.iscoroutinefunction(executor):
            result: object = await executor(**given)
        else:
            result = await asyncio.to_thread(executor, **given)
            if inspect.isawaitable(result):
                result = await result
    except ToolError as error:
        return ToolFailed(kind="failed", reason=str(error), retry=error.retry)
    except Exception as error:
        return Raised(kind="raised", reason=reason_for(error))
    try:
        return FunctionReturned(kind="returned", data=_data(tool, result))
    except (MismatchedValue, NotJson) as error:
        return WrongResult(kind="wrong_result", reason=str(error), said=said(result))
    except Exception as error:  # converting a result may run code of its class
        return WrongResult(kind="wrong_result", reason=reason_for(error), said=said(result))


def _arguments(tool: ToolFunction, call: ToolFunctionCall) -> dict[str, object] | InvalidArguments:
    """Return the arguments as the function takes them, or why it does not."""
    if tool.typed is None:
        errors = schema_errors(call.arguments, tool.found.input_schema)
        if errors or not isinstance(call.arguments, dict):
            return InvalidArguments(kind="invalid_arguments", reason="; ".join(errors))
        return dict(call.arguments)
    try:
        return bound_arguments(tool.typed, call.arguments)
    except MismatchedValue as error:
        return InvalidArguments(kind="invalid_arguments", reason=str(error))


def _data(tool: ToolFunction, result: object) -> JsonValue:
    if tool.typed is None:
        return as_json(result, "the result")
    return plain_result(tool.typed, result)
