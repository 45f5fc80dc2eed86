"""Call a user's functions as tool functions: each call runs in a child process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from pydantic import JsonValue

from coterie.activities.user_code.child_messages import (
    START_SECONDS,
    CallContext,
    FoundTool,
    FoundTools,
    FunctionReturned,
    InvalidArguments,
    ModuleReady,
    NotImported,
    NoTool,
    PythonFunctionCall,
    Raised,
    ToolFailed,
    ToolOutcome,
    ToolsQuestion,
    Unfit,
    UserCodeFailed,
    UserCodeTimeout,
    WrongResult,
)
from coterie.activities.user_code.child_pool import UserCode
from coterie.activities.workspace.call_effects import shown
from coterie.activities.workspace.function_base import FunctionContext
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.dsl.errors import listed, nearest
from coterie.dsl.model.capabilities import Effect, FunctionContract

_IMPORT_SECONDS = 60.0


class ToolsUnusable(Exception):
    """Packages of tools cannot be used; each line of the message is one sentence about one part."""


@dataclass(frozen=True)
class PythonFunction:
    """A tool that is a function of a user's package, as a tool function."""

    found: FoundTool
    user_code: UserCode = field(repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The values of the variables that the worker lets tools read."""

    @property
    def name(self) -> str:
        """`package.module:name`."""
        return self.found.name

    @property
    def effect(self) -> Effect:
        """What a repeated call does."""
        return self.found.effect

    @property
    def is_ready(self) -> bool:
        """Whether a process has imported its module, and waits for a call."""
        return self.user_code.is_ready(self.name.partition(":")[0])

    def contract(self) -> FunctionContract:
        """Return the contract as data."""
        return self.found

    async def call(self, value: JsonValue, context: FunctionContext) -> JsonValue:
        """Call the function with checked arguments; cancellation kills its process.

        Raises:
            FunctionRefusal: The arguments are invalid, a secret is missing, or there is no
                function.
            FunctionFailure: The function failed, was stopped, or returned something else than it
                declares.
        """
        message = PythonFunctionCall(
            tool=self.name,
            arguments=value,
            context=CallContext(
                run=context.run,
                call=context.key,
                workspace=str(context.workspace.root),
                secrets=self._secrets(),
                progress=context.progress,
            ),
        )
        try:
            outcome = await self.user_code.call_tool(
                message,
                self.seconds(context),
                is_warned=self.found.takes_context,
                beat=context.beat,
                begin=context.effect.begin,
            )
        except UserCodeTimeout as late:
            raise FunctionFailure(f"{self.name} {late}", may_pass=True) from None
        except UserCodeFailed as failure:
            raise FunctionFailure(f"{self.name}: {failure}", may_pass=True) from None
        return self._data(outcome)

    def seconds(self, context: FunctionContext) -> float:
        """Return how long the function itself may take, which a plan may have changed."""
        if context.timeout is None or context.timeout <= START_SECONDS:
            return self.found.timeout
        return context.timeout - START_SECONDS

    def _secrets(self) -> dict[str, str]:
        missing = [name for name in self.found.secrets if name not in self.secrets]
        if missing:
            raise FunctionRefusal(
                f"{self.name} needs the secrets {listed(missing)}; name them in `worker.tool_env` "
                "of the worker's configuration and set them in its environment"
            )
        return {name: self.secrets[name] for name in self.found.secrets}

    def _data(self, outcome: ToolOutcome) -> JsonValue:
        match outcome:
            case FunctionReturned(data=data):
                return data
            case InvalidArguments(reason=reason):
                raise FunctionRefusal(f"invalid input for {self.name}: {reason}")
            case NotImported(reason=reason):
                raise FunctionRefusal(f"{self.name} cannot be imported: {reason}")
            case NoTool(names=names):
                hint = nearest(self.name, names)
                raise FunctionRefusal(
                    f"{self.name} is not a function with `@tool`" + (f"; {hint}" if hint else "")
                )
            case ToolFailed(reason=reason, retry=retry):
                why = reason or f"{self.name} failed"
                raise FunctionFailure(why, may_pass=retry, happened="no")
            case Unfit(reason=reason):
                raise FunctionFailure(f"{self.name} cannot be a tool: it {reason}", happened="no")
            case Raised(reason=reason):
                raise FunctionFailure(f"{self.name} raised {reason}", may_pass=True)
            case WrongResult(reason=reason, said=result):
                raise FunctionFailure(
                    f"{self.name} returned a result that violates its contract: {reason}",
                    happened="yes",
                    said=shown(result),
                )
            case FoundTools() | ModuleReady():
                raise FunctionFailure(f"{self.name} answered a question that was not asked")
            case _:
                assert_never(outcome)


async def find_tools(user_code: UserCode, packages: Sequence[str]) -> tuple[FoundTool, ...]:
    """Find the functions with `@tool` in packages, which a child process imports.

    Raises:
        ToolsUnusable: A module cannot be imported, or a function cannot be a tool.
    """
    if not packages:
        return ()
    try:
        outcome = await user_code.ask_tools(ToolsQuestion(modules=tuple(packages)), _IMPORT_SECONDS)
    except (UserCodeFailed, UserCodeTimeout) as error:
        raise ToolsUnusable(f"importing {listed(packages)}: {error}") from None
    match outcome:
        case FoundTools(tools=tools, problems=()):
            return tools
        case FoundTools(problems=problems):
            raise ToolsUnusable("\n".join(problems))
        case Raised(reason=reason):
            raise ToolsUnusable(f"importing {listed(packages)} raised {reason}")
        case _:
            raise ToolsUnusable(f"importing {listed(packages)} gave no list of tools")
