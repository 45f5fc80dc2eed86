"""`CommandRunner.run`: the project's tests and the like, by the names that the worker gave them.

A document names a command and cannot define or extend one. The command sees few environment
variables, so that no key of the worker can reach its output and from there a model.
"""

import os
import sys

from pydantic import Field, TypeAdapter

from activities.skills.base import (
    LONGEST_COMMAND,
    Command,
    Skill,
    SkillContext,
    SkillFailure,
    SkillRefusal,
    Workspace,
)
from activities.skills.bounded_output import BoundedOutput
from activities.skills.process_group import NotStarted, run_group
from dsl.errors import listed, nearest
from dsl.values import Frozen

PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV")
"""Environment variables that every command sees, besides all `LC_*`."""


class CommandInput(Frozen):
    """Which command to run; it takes no arguments."""

    command: str = Field(min_length=1)
    """A name of the worker's configuration."""


class CommandResult(Frozen):
    """How it ended. A command that fails is a result, not a failure of the skill."""

    command: str
    argv: list[str]
    """As configured."""
    exit_code: int | None
    """128 + N when signal N ended it; None when it had to be killed."""
    passed: bool
    """It ended by itself, with exit code 0."""
    seconds: float
    timed_out: bool
    output: str
    """Standard output and standard error in the order they were written, its middle cut."""
    output_bytes: int
    """Of the whole output."""
    cut: bool


async def run(value: CommandInput, context: SkillContext) -> CommandResult:
    """Run a named command.

    Raises:
        SkillRefusal: there is no such command, or it is set to run outside the project.
        SkillFailure: it cannot be started.
    """
    workspace = context.workspace
    command = _command(workspace, value.command)
    cwd = workspace.inside(command.cwd)
    if not cwd.is_dir():
        raise SkillFailure(
            f"command {command.name!r} runs in {command.cwd!r}, which is no directory"
        )
    output = BoundedOutput()
    try:
        ended = await run_group(
            _argv(command, sys.executable),
            cwd=cwd,
            environment=_environment(command, workspace),
            seconds=command.timeout,
            output=output,
        )
    except NotStarted as error:
        raise SkillFailure(
            f"command {command.name!r} cannot be started: {command.run[0]}: {error}"
        ) from None
    return CommandResult(
        command=command.name,
        argv=list(_argv(command, "python")),
        exit_code=ended.exit_code,
        passed=ended.exit_code == 0 and not ended.timed_out,
        seconds=ended.seconds,
        timed_out=ended.timed_out,
        output=output.text(),
        output_bytes=output.total,
        cut=output.cut,
    )


def _command(workspace: Workspace, name: str) -> Command:
    command = workspace.commands.get(name)
    if command is None:
        hint = nearest(name, workspace.commands)
        raise SkillRefusal(
            f"unknown command {name!r}; the worker's commands: {listed(workspace.commands)}"
            + (f"; {hint}" if hint else "")
        )
    return command


def _argv(command: Command, python: str) -> tuple[str, ...]:
    return tuple(part.replace("{python}", python) for part in command.run)


def _environment(command: Command, workspace: Workspace) -> dict[str, str]:
    names = {*PASSED_ON, *command.env}
    seen = {
        name: value
        for name, value in workspace.environment.items()
        if name in names or name.startswith("LC_")
    }
    return {"PATH": os.defpath, **seen}


RUN = Skill[CommandInput, CommandResult](
    name="CommandRunner.run",
    description="Runs a command that the worker's configuration names, in the project.",
    effect="idempotent",
    input=TypeAdapter(CommandInput),
    output=TypeAdapter(CommandResult),
    run=run,
    timeout=LONGEST_COMMAND + 60,
)
