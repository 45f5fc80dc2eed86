"""The world of a run in this process: models and tools, called directly.

Nothing survives the process. A failed call is retried as its contract says, like on a server. A
worker calls tools in child processes (`activities.user_code.child_pool`); a program has the
functions at hand, also lambdas, closures and functions of a notebook. The outcomes have the same
types, so a call is reported the same way.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TypeVar

from pydantic import JsonValue, ValidationError
from temporalio.exceptions import ApplicationError

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.agents.agent_base import ProviderAccess
from coterie.activities.agents.inner_calls import InnerCalls
from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FailureType,
    FunctionRequest,
    FunctionResult,
)
from coterie.activities.model_prices import Pricing
from coterie.activities.processes.child_loop import reason_for, said
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.scripts.script import ScriptedAnswer
from coterie.activities.providers.scripts.scripted_answers import ScriptedAnswers
from coterie.activities.providers.scripts.scripted_choice import choose, missing
from coterie.activities.providers.translation.request_checks import check_request
from coterie.activities.storage.blobs import MemoryBlobs
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.tool_functions.function_registry import (
    TOOL_FUNCTIONS,
    AnyFunction,
    contracts,
)
from coterie.activities.tool_functions.functions.python_functions import PythonFunction
from coterie.activities.user_code.child_messages import (
    CallContext,
    FunctionReturned,
    InvalidArguments,
    NoTool,
    PythonFunctionCall,
    Raised,
    ToolFailed,
    ToolOutcome,
    UserCodeTimeout,
    WrongResult,
)
from coterie.activities.user_code.child_pool import UserCode
from coterie.activities.user_code.plain_values import NotJson, as_json
from coterie.activities.user_code.python_tools import ToolContext, ToolError
from coterie.activities.user_code.tool_schemas import MismatchedValue, bound_arguments, plain_result
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.function_failures import validation_problems
from coterie.agents.tool_definitions import DefinedTool, ToolRegistry
from coterie.dsl.egress.channel_labels import open_commands
from coterie.dsl.json_schema.schema_checker import answer_mismatches
from coterie.dsl.model.capabilities import Reach
from coterie.dsl.values import Json
from coterie.runs.in_process.local_scope import LocalScope
from coterie.settings import Settings
from coterie.workflows.core.scope import Call, CallFailed

_FIRST_DELAY = 0.2
"""Seconds before a failed call is retried; doubles with each attempt."""

_MAX_DELAY = 10.0

Response = TypeVar("Response", AgentResponse, FunctionResult)


@dataclass(frozen=True, slots=True)
class AgentContext:
    """What surrounds the runs of a program."""

    tool_registry: ToolRegistry = field(default_factory=ToolRegistry)
    """The tools that agents may name."""
    folder: Path | None = None
    """The project: its `coterie.yml` says how to reach models and what functions may touch.
    Default: the current folder."""
    script: Sequence[Json] | None = None
    """Answers instead of a model's, for tests: `{task, turn, contains, answer, tool_calls}`."""
    answer: Callable[[str], JsonValue | Awaitable[JsonValue]] | None = None
    """Answers the questions of `Person.ask` and of MCP servers; gets the question. Default: the
    run waits, and `AgentRun.answer` continues it."""


class ScriptedModel(ScriptedAnswers):
    """Stands in for every provider, and answers from a list."""

    def __init__(self, script: Sequence[Json]) -> None:
        self._answers = tuple(_entry(number, entry) for number, entry in enumerate(script, 1))

    def get(self, name: str) -> "ScriptedModel":
        """Return itself, whatever the provider's name."""
        return self

    async def _take_time(self, seconds: float, request: ModelRequest) -> None:
        await asyncio.sleep(seconds)

    def _entry(self, request: ModelRequest) -> ScriptedAnswer:
        check_request(request)
        entry = choose(self._answers, request)
        if entry is None:
            raise ProviderFailure(
                FailureType.PROVIDER_REFUSED,
                f"the script has no answer for {request.label!r}: {missing(request)}",
                retryable=False,
            )
        return entry


def _entry(number: int, entry: Json) -> ScriptedAnswer:
    try:
        return ScriptedAnswer.model_validate(entry)
    except ValidationError as error:
        allowed = ", ".join(ScriptedAnswer.model_fields)
        raise ValueError(
            f"entry {number} of the script is invalid: {validation_problems(error)}; allowed: "
            f"{allowed}"
        ) from None


class InProcessWorld:
    """The activities of a worker, called directly, without a history to keep short."""

    def __init__(
        self,
        providers: ProviderAccess,
        workspace: Workspace,
        functions: Mapping[str, AnyFunction] = TOOL_FUNCTIONS,
        pricing: Pricing | None = None,
    ) -> None:
        """Take what the activities reach.

        Args:
            providers: Returns the model provider that a persona names.
            workspace: The project that tool functions may touch.
            functions: By name.
            pricing: Prices of model calls; without it, no call has a price.
        """
        blobs = MemoryBlobs()
        self._functions = FunctionActivities(workspace, functions, blobs)
        self._agents = AgentActivities(
            providers,
            call_function=self._functions.call_for_agent,
            inner_calls=InnerCalls(
                contracts(functions),
                Reach(
                    commands=open_commands(
                        workspace.commands, sandboxed=workspace.sandbox is not None
                    ),
                    offline_tools=("*",),
                    trusted_paths=workspace.trusted_paths,
                ),  # the program itself says what its functions do
            ),
            blobs=blobs,
            pricing=pricing,
        )

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        """Run one model turn."""
        return await self._agents.run_agent(request)

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        """Run one tool function. Its result comes back whole."""
        return await self._functions.call_function(request.model_copy(update={"keep": False}))


class InProcessScope(LocalScope):
    """Tries calls again as a server would, and counts those in progress."""

    busy = 0
    """Calls in progress."""
    call_ended: Callable[[], None] = staticmethod(lambda: None)
    """Called after each call."""

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        """Run one model turn, with its retries."""
        return await self._try_call(call, lambda: LocalScope.run_agent(self, request, call))

    async def call_function(self, request: FunctionRequest, call: Call) -> FunctionResult:
        """Run one tool function, with its retries."""
        return await self._try_call(call, lambda: LocalScope.call_function(self, request, call))

    async def _try_call(self, call: Call, attempt: Callable[[], Awaitable[Response]]) -> Response:
        remaining = 0 if call.options.effect == "once" else call.options.retries
        delay = _FIRST_DELAY
        self.busy += 1
        try:
            while True:
                try:
                    return await attempt()
                except CallFailed as failed:
                    cause = failed.__cause__
                    final = isinstance(cause, ApplicationError) and cause.non_retryable
                    if final or remaining == 0:
                        raise
                remaining -= 1
                await asyncio.sleep(delay)
                delay = min(2 * delay, _MAX_DELAY)
        finally:
            self.busy -= 1
            self.call_ended()


class InProcessCode(UserCode):
    """Runs tools in this process instead of a child."""

    def __init__(self, tools: Mapping[str, DefinedTool]) -> None:
        super().__init__()
        self._tools = tools

    async def call_tool(
        self,
        call: PythonFunctionCall,
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


def in_process_functions(
    tools: Iterable[DefinedTool], settings: Settings
) -> dict[str, PythonFunction]:
    """Return the tools of a run as tool functions; each may read the secrets that it names."""
    tools_by_name = {tool.contract.name: tool for tool in tools}
    code = InProcessCode(tools_by_name)
    functions: dict[str, PythonFunction] = {}
    for name, tool in tools_by_name.items():
        values = {key: settings.secret(key) for key in tool.contract.secrets}
        secrets = {key: value for key, value in values.items() if value is not None}
        functions[name] = PythonFunction(tool.contract, code, secrets)
    return functions


def _context(
    call: CallContext, beat: Callable[[JsonValue], None] | None, stopped: Event
) -> ToolContext:
    def report(progress: object) -> None:
        plain = as_json(progress, "the progress")
        if beat is not None:
            beat(plain)

    return ToolContext(
        call.run, call.call, Path(call.workspace), call.secrets, call.progress, report, stopped
    )


async def _outcome(
    tool: DefinedTool, call: PythonFunctionCall, context: ToolContext
) -> ToolOutcome:
    arguments = _arguments(tool, call)
    if isinstance(arguments, InvalidArguments):
        return arguments
    if tool.typed is not None and tool.typed.context is not None:
        arguments[tool.typed.context] = context
    executor = tool.schema.executor
    try:
        if inspect.iscoroutinefunction(executor):
            result: object = await executor(**arguments)
        else:
            result = await asyncio.to_thread(executor, **arguments)
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


def _arguments(tool: DefinedTool, call: PythonFunctionCall) -> dict[str, object] | InvalidArguments:
    """Return the arguments as the function takes them, or why it does not."""
    if tool.typed is None:
        errors = answer_mismatches(call.arguments, tool.contract.input_schema)
        if errors or not isinstance(call.arguments, dict):
            return InvalidArguments(kind="invalid_arguments", reason="; ".join(errors))
        return dict(call.arguments)
    try:
        return bound_arguments(tool.typed, call.arguments)
    except MismatchedValue as error:
        return InvalidArguments(kind="invalid_arguments", reason=str(error))


def _data(tool: DefinedTool, result: object) -> JsonValue:
    if tool.typed is None:
        return as_json(result, "the result")
    return plain_result(tool.typed, result)
