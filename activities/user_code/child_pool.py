"""Keep warm child processes for the user's packages, several per package.

A call takes an idle child of its package, or a new one. A child that crashed, timed out, or left
processes behind is not reused.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from activities.user_code.child_messages import (
    AGENT_REPLY,
    TOOL_REPLY,
    AgentCall,
    AnyOutcome,
    Outcome,
    Reply,
    ToolFunctionCall,
    ToolOutcome,
    ToolsQuestion,
)
from activities.user_code.child_process import (
    MAX_REPLY_BYTES,
    ChildEnded,
    ChildProcess,
    Entry,
    ReplyTooLarge,
)
from dsl.values import Frozen

MAX_CHILDREN = 16
"""Concurrent calls of user code in one worker; further ones wait."""

MAX_IDLE = 4
"""Idle children to keep per package."""


class UserCodeFailed(Exception):
    """The child did not complete the call; the message says what happened."""


class UserCodeTimeout(Exception):
    """The code exceeded its time limit and was killed."""


class _Line(NamedTuple):
    """A message, and which children may answer it."""

    entry: Entry
    package: str
    """Empty for tools: a child serves those of all packages."""
    message: Frozen

    @property
    def pool(self) -> tuple[str, str]:
        """Entry and package."""
        return self.entry, self.package

    def encoded(self) -> bytes:
        """Return the line to send."""
        return f"{self.message.model_dump_json()}\n".encode()


class UserCode:
    """Runs user code for one worker."""

    def __init__(
        self,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        import_path: Sequence[str] = (),
    ) -> None:
        """Store how to start children.

        Args:
            folder: Their working directory; default: the worker's own.
            environment: Their complete environment.
            import_path: Where to find packages, after the worker's own path.
        """
        self._folder = folder or Path.cwd()
        self.environment: Mapping[str, str] = dict(environment or {})
        self._import_path = (*(part for part in sys.path if part), *import_path)
        self._idle: dict[tuple[str, str], list[ChildProcess]] = {}
        self._free = asyncio.Semaphore(MAX_CHILDREN)

    async def run(self, call: AgentCall, seconds: float | None = None) -> Outcome:
        """Run one turn of an agent class, and return its outcome.

        Raises:
            UserCodeFailed: Its process ended, or replied with something invalid.
            UserCodeTimeout: It took longer than `seconds` and was killed.
        """
        return await self._answer(
            _Line("child", call.path.partition(".")[0], call), AGENT_REPLY, seconds
        )

    async def ask_tools(
        self, message: ToolFunctionCall | ToolsQuestion, seconds: float | None = None
    ) -> ToolOutcome:
        """Call a tool, or find the tools of packages, and return the outcome.

        Raises:
            UserCodeFailed: Its process ended, or replied with something invalid.
            UserCodeTimeout: It took longer than `seconds` and was killed.
        """
        return await self._answer(_Line("tool_child", "", message), TOOL_REPLY, seconds)

    async def _answer(
        self, line: "_Line", replies: TypeAdapter[Reply[AnyOutcome]], seconds: float | None
    ) -> AnyOutcome:
        try:
            async with asyncio.timeout(seconds), self._free:
                return await self._asked(line, replies)
        except TimeoutError:
            raise UserCodeTimeout(f"did not end within {seconds:g} s and was stopped") from None

    async def _asked(self, line: "_Line", replies: TypeAdapter[Reply[AnyOutcome]]) -> AnyOutcome:
        child = await self._child(line)
        done = False
        try:
            reply = replies.validate_json(await child.call(line.encoded()))
            done = reply.processes == 0
            return reply.outcome
        except ChildEnded as end:
            raise UserCodeFailed(f"its process {end}") from None
        except ReplyTooLarge:
            raise UserCodeFailed(f"replied with more than {MAX_REPLY_BYTES:,} bytes") from None
        except ValidationError:
            raise UserCodeFailed("replied with something that is not a reply") from None
        finally:
            idle = self._idle.setdefault(line.pool, [])
            if done and child.alive and len(idle) < MAX_IDLE:
                idle.append(child)
            else:
                await _killed(child)

    async def _child(self, line: "_Line") -> ChildProcess:
        idle = self._idle.get(line.pool, [])
        while idle:
            child = idle.pop()
            if child.alive:
                return child
            await _killed(child)
        try:
            return await ChildProcess.start(
                line.entry, self._import_path, self.environment, self._folder
            )
        except OSError as error:
            raise UserCodeFailed(f"could not start a process: {error.strerror}") from None

    async def close(self) -> None:
        """Kill the idle children; busy ones end with their calls."""
        children = [child for idle in self._idle.values() for child in idle]
        self._idle.clear()
        for child in children:
            await _killed(child)


async def _killed(child: ChildProcess) -> None:
    """Kill a child, even if the call is cancelled meanwhile."""
    killing = asyncio.create_task(child.kill())
    try:
        await asyncio.shield(killing)
    except asyncio.CancelledError:
        while not killing.done():
            try:
                await asyncio.shield(killing)
            except asyncio.CancelledError:
                continue
        raise
