"""`CommandRunner`: run the project's tests and other commands, by the names in the worker's config.

A document names a command and fills its parameters; it cannot define or extend one. The command
sees few environment variables, so that no key of the worker can reach its output and from there a
model. A lost worker makes Temporal retry `run`; `run_once` is never retried, for effects that must
not happen twice.
"""

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field, JsonValue, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.os_errors import reason_of
from coterie.activities.processes.bounded_output import BoundedOutput
from coterie.activities.processes.process_group import CommandEnd, Limit, NotStarted, run_group
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.workspace.call_effects import shown
from coterie.activities.workspace.command_lock import alone
from coterie.activities.workspace.command_parameters import ParameterProblem, checked_values, filled
from coterie.activities.workspace.command_start import Prepared, prepare, why_not_started
from coterie.activities.workspace.function_base import (
    Command,
    FunctionContext,
    ToolFunction,
    Workspace,
)
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.activities.workspace.trusted_entries import set_aside
from coterie.dsl.errors import listed, nearest
from coterie.dsl.values import MAX_COMMAND_TIMEOUT, Documented

Values = Mapping[str, tuple[str, ...]]
"""The arguments for each parameter of a command."""

CALL = "COTERIE_CALL"
"""The environment variable that identifies the call to the command."""

ASIDE = Path(".coterie/set-aside")
"""Where files go that a command wrote and the worker would trust."""


class CommandInput(Documented):
    """Which command to run, and the values of its parameters."""

    command: str = Field(min_length=1)
    """The name of a command from the worker's configuration (`worker.commands`)."""
    arguments: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """The values of the command's parameters, as its configuration declares them. Each becomes an
    argument as it is; there is no shell."""
    key: str | None = Field(default=None, pattern=r"^[\w.:/@+-]{1,200}$")
    """What the command works on, for example an order number. The command reads
    `RUN/EXECUTION/KEY` from its environment as `COTERIE_CALL`. Calls of a run with the same key
    share this name and never overlap on one machine. Without a key, the name of the call."""


class CommandResult(Documented):
    """How it ended. A command that fails is a result, not a failure of the tool function."""

    command: str
    """Its name."""
    argv: list[str]
    """Program and arguments."""
    exit_code: int | None
    """128 + N if signal N ended the command; null if the worker killed it."""
    passed: bool
    """Whether the command ended by itself with exit code 0."""
    seconds: float
    """How long it ran."""
    timed_out: bool
    """Whether it exceeded the `timeout` of its configuration; the worker then kills it."""
    limit: Limit | None = None
    """The limit that it exceeded; the worker then kills it."""
    output: str
    """Standard output and standard error, in the order written; long output lacks its middle."""
    output_bytes: int
    """Size of the whole output."""
    cut: bool
    """Whether `output` lacks its middle."""


async def run(value: CommandInput, context: FunctionContext) -> CommandResult:
    """Run a named command that may run again.

    Raises:
        FunctionRefusal: The command does not exist, may run only once, or has a working directory
            outside the project.
        FunctionFailure: It cannot start.
    """
    command = _command(context.workspace, value.command)
    if command.once:
        raise FunctionRefusal(
            f"command {command.name!r} may run only once, and CommandRunner.run is retried "
            "when its worker is lost; use CommandRunner.run_once"
        )
    values = _values(command, value.arguments, context.workspace)
    if value.key is None:
        return await _run(command, values, context, context.key)
    return await _run_alone(command, values, context, value.key)


async def run_once(value: CommandInput, context: FunctionContext) -> CommandResult:
    """Run a named command at most once, whether or not it is marked `once`.

    Raises:
        FunctionRefusal: The command does not exist, or has a working directory outside the project.
        FunctionFailure: It cannot start, so nothing has happened; or it was stopped at its timeout
            or a limit, so what it did is not known.
    """
    command = _command(context.workspace, value.command)
    values = _values(command, value.arguments, context.workspace)
    result = await _run_alone(command, values, context, value.key)
    if result.timed_out:
        raise FunctionFailure(
            f"command {command.name!r} did not end within {command.timeout:g} s and was stopped"
        )
    if result.limit is not None:
        raise FunctionFailure(
            f"command {command.name!r} exceeded its {result.limit} limit and was stopped"
        )
    return result


async def _run_alone(
    command: Command, values: Values, context: FunctionContext, key: str | None
) -> CommandResult:
    """Run it after all commands with the same key have ended."""
    call, name = context.key, context.key
    if key is not None:
        execution = call.removeprefix(f"{context.run}/").partition("/")[0]
        # An earlier run with the same id may have left a command behind: that one excludes it, too.
        call, name = f"{context.run}/{execution}/{key}", f"{context.run}/{key}"
    async with alone(context.workspace.state_dir / "calls", name) as lock:
        return await _run(command, values, context, call, (lock,))


async def _run(
    command: Command,
    values: Values,
    context: FunctionContext,
    call: str,
    keeping: tuple[int, ...] = (),
) -> CommandResult:
    output = BoundedOutput()
    workspace = context.workspace
    cwd = _folder(command, workspace)
    try:
        prepared = await FUNCTION_THREADS.run(prepare, command, workspace, cwd, values)
        await context.effect.begin()
        try:
            ended = await run_group(
                prepared.argv,
                cwd=cwd,
                environment={**prepared.environment, CALL: call},
                seconds=command.timeout,
                output=output,
                keeping=keeping,
                limits=workspace.limits,
                apart=prepared.apart,
            )
        finally:
            aside = _set_aside(prepared, workspace)
    except NotStarted as error:
        raise FunctionFailure(
            f"could not start command {command.name!r}: {command.run[0]}: {error}", happened="no"
        ) from None
    if aside:
        raise FunctionFailure(
            f"command {command.name!r} wrote {listed(aside)}, which the worker trusts; Coterie "
            f"moved it to {ASIDE.as_posix()}; only a person may create it",
            happened="yes",
            said=shown(output.text()),
        )
    why = why_not_started(command, prepared, ended, output.text())
    if why is not None:
        raise FunctionFailure(f"could not start command {command.name!r}: {why}", happened="no")
    return _result(command, values, ended, output)


def _set_aside(prepared: Prepared, workspace: Workspace) -> tuple[str, ...]:
    """Undo what a sandboxed command did to names that the worker trusts; return the names.

    It takes a millisecond, and must happen even if the call is cancelled.
    """
    if prepared.trusted is None:
        return ()
    try:
        return set_aside(prepared.trusted, workspace.state_dir / ASIDE.name)
    except OSError as error:
        raise FunctionFailure(
            "could not move files that a command wrote and the worker trusts: "
            f"{reason_of(error)}; look at {listed(map(str, prepared.trusted.absent))}"
        ) from None


def _values(command: Command, arguments: dict[str, JsonValue], workspace: Workspace) -> Values:
    """Check the arguments, before anything starts."""
    try:
        for name, parameter in command.parameters.items():
            if parameter.type == "path":
                _refuse_outside(arguments.get(name), workspace)
        values = checked_values(
            command.parameters, arguments, workspace.root, _folder(command, workspace)
        )
        filled(command.run, values)
    except ParameterProblem as problem:
        raise FunctionRefusal(f"command {command.name!r} cannot run so: {problem}") from None
    return values


def _refuse_outside(value: JsonValue, workspace: Workspace) -> None:
    """Refuse paths outside the project; what is not a path is refused by its type."""
    match value:
        case str():
            workspace.inside(value)
        case list():
            for item in value:
                _refuse_outside(item, workspace)
        case _:
            return


def _result(
    command: Command, values: Values, ended: CommandEnd, output: BoundedOutput
) -> CommandResult:
    run = tuple(part.replace("{python}", "python") for part in command.run)
    return CommandResult(
        command=command.name,
        argv=list(filled(run, values)),
        exit_code=ended.exit_code,
        passed=ended.exit_code == 0 and not ended.timed_out and ended.limit is None,
        seconds=ended.seconds,
        timed_out=ended.timed_out,
        limit=ended.limit,
        output=output.text(),
        output_bytes=output.total,
        cut=output.cut,
    )


def _folder(command: Command, workspace: Workspace) -> Path:
    cwd = workspace.inside(command.cwd)
    if not cwd.is_dir():
        raise FunctionFailure(
            f"the `cwd` of command {command.name!r}, {command.cwd!r}, is not a directory"
        )
    return cwd


def _command(workspace: Workspace, name: str) -> Command:
    command = workspace.commands.get(name)
    if command is None:
        define = "define it under `worker.commands` of its configuration"
        hint = nearest(name, workspace.commands) or define
        raise FunctionRefusal(
            f"unknown command {name!r}; the worker's commands: {listed(workspace.commands)}; {hint}"
        )
    return command


_NOT_STARTED = "the command cannot start; a command that runs and fails is a result"

RUN = ToolFunction[CommandInput, CommandResult](
    name="CommandRunner.run",
    description="Runs a command from the worker's configuration in the workspace.",
    effect="idempotent",
    input=TypeAdapter(CommandInput),
    output=TypeAdapter(CommandResult),
    run=run,
    timeout=MAX_COMMAND_TIMEOUT + 60,
    labels=("private",),
    errors={
        FailureType.FUNCTION_REFUSED: "the worker has no such command, it is marked `once: true`, "
        "or an argument does not fit its parameter",
        FailureType.FUNCTION_FAILED: _NOT_STARTED,
    },
    begins_itself=True,
)

RUN_ONCE = ToolFunction[CommandInput, CommandResult](
    name="CommandRunner.run_once",
    description="Runs a command from the worker's configuration in the workspace, at most "
    "once. If the attempt is lost, the outcome is unknown.",
    effect="once",
    input=TypeAdapter(CommandInput),
    output=TypeAdapter(CommandResult),
    run=run_once,
    timeout=MAX_COMMAND_TIMEOUT + 60,
    labels=("private",),
    retries=0,
    errors={
        FailureType.FUNCTION_REFUSED: "the worker has no such command, or an argument does not fit "
        "its parameter",
        FailureType.FUNCTION_FAILED: _NOT_STARTED,
        FailureType.OUTCOME_UNKNOWN: "the attempt was lost, or the command was killed after its "
        "timeout or at a limit; what it did is unknown",
    },
    begins_itself=True,
)

COMMANDS = {function.name: function for function in (RUN, RUN_ONCE)}
"""The tool functions that run a command."""
