"""Keep warm child processes for the user's packages, several per package.

A call takes an idle child of its package, or a new one. A child that crashed, timed out, or left
processes behind is not reused.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import TypeAdapter, ValidationError

from coterie.activities.processes.child_process import (
    MAX_REPLY_BYTES,
    ChildEnded,
    ChildProcess,
    Notes,
    ReplyTooLarge,
    kill_child,
)
from coterie.activities.processes.child_reply import AnyOutcome, Reply
from coterie.activities.threads.run_shares import RunShares, run_of_call
from coterie.activities.user_code.child_messages import (
    AGENT_REPLY,
    PROGRESS,
    START_SECONDS,
    TOOL_REPLY,
    AgentCall,
    ModuleImport,
    Outcome,
    PythonFunctionCall,
    ToolOutcome,
    ToolsQuestion,
    UserCodeFailed,
    UserCodeTimeout,
)
from coterie.activities.user_code.extension_messages import (
    EXTENSION_REPLY,
    ExtensionOutcome,
    ExtensionRequest,
    ExtensionTurn,
)
from coterie.dsl.values import Frozen, JsonValue

_MARGIN_SECONDS = 1.0
"""Between the end of a call that had to wait, and the end of its activity."""


class CallTimeLimit:
    """The time limit of a call: for its wait, for its start, then for itself.

    The three together end within the time to start and the time of the call. A call that has waited
    longer for its process has what is left, at least half of its own time.
    """

    def __init__(self, to_start: float, seconds: float | None, *, patient: bool) -> None:
        """Count from now.

        Args:
            to_start: For a process to be free, and for it to start.
            seconds: For the code itself; None for no limit.
            patient: Wait for a process up to half of the code's own time, if that is longer.
        """
        self.wait = max(to_start, seconds / 2) if patient and seconds is not None else to_start
        """Seconds of the wait for a process."""
        self.timeout = asyncio.timeout(self.wait)
        self.waited = False
        """Whether it may have a process."""
        self.began = False
        self.own = 0.0
        """Seconds that the code has, once it has begun."""
        self._to_start = to_start
        self._seconds = seconds
        self._end = None if seconds is None else _now() + to_start + seconds

    def start(self) -> None:
        """Count the start of the process, which is free, from now."""
        self.waited = True
        self.timeout.reschedule(_now() + self._to_start)

    def begin(self) -> None:
        """Count the time of the code itself from now."""
        self.began = True
        if self._seconds is None or self._end is None:
            self.timeout.reschedule(None)
        else:
            now = _now()
            self.own = min(self._seconds, round(self._end - now - _MARGIN_SECONDS, 1))
            self.timeout.reschedule(now + self.own)


def _now() -> float:
    return asyncio.get_running_loop().time()


MAX_CHILDREN = 16
"""Concurrent calls of user code in one worker, of which one run has half at most."""

MAX_IDLE = 4
"""Idle children to keep per package."""

_CANCEL_SECONDS = 2.0
"""How long a call that can notice its cancellation may continue."""


Entry = Literal["agent_child", "tool_child", "extension_child", "provider_child"]
"""The module of this package that a child runs: for legacy agents, tools, agent types, providers.
"""


class _Line(NamedTuple):
    """A message, and which children may answer it."""

    entry: Entry
    package: str
    """The package whose code and secrets its children see; empty for a question about several."""
    message: Frozen
    module: str = ""
    """Imported before the time of the call counts."""
    is_warned: bool = False
    """Whether the code can notice that it is cancelled."""
    begin: Callable[[], Awaitable[None]] | None = None
    """Called immediately before the message is sent; it may raise."""

    @property
    def pool(self) -> tuple[str, str]:
        """Entry and package."""
        return self.entry, self.package


class UserCode:
    """Runs user code for one worker."""

    def __init__(
        self,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        import_path: Sequence[str] = (),
        *,
        max_children: int = MAX_CHILDREN,
        start_seconds: float = START_SECONDS,
    ) -> None:
        """Store how to start children.

        Args:
            folder: Their working directory; default: the worker's own.
            environment: Their complete environment.
            import_path: Where to find packages, after the worker's own path.
            max_children: How many calls may run at once.
            start_seconds: How long a call may wait for its process.
        """
        self.folder = folder or Path.cwd()
        self.environment: Mapping[str, str] = dict(environment or {})
        self.import_path = (*(part for part in sys.path if part), *import_path)
        self._idle: dict[tuple[str, str], list[ChildProcess]] = {}
        self._max_children = max_children
        self._start_seconds = start_seconds
        self._shares = RunShares(max_children, max(1, max_children // 2))

    async def run(self, call: AgentCall, seconds: float | None = None) -> Outcome:
        """Run one turn of an agent class, and return its outcome.

        Raises:
            UserCodeFailed: Its process ended, or replied with something invalid.
            UserCodeTimeout: It took longer than `seconds` and was killed, or found no free process.
        """
        return await self._answer(
            _Line("agent_child", call.path.partition(".")[0], call), AGENT_REPLY, seconds
        )

    async def ask_tools(self, message: ToolsQuestion, seconds: float | None = None) -> ToolOutcome:
        """Find the tools of packages, in a process that serves no call, and return the outcome.

        Raises:
            UserCodeFailed: Its process ended, or replied with something invalid.
            UserCodeTimeout: It took longer than `seconds` and was killed, or found no free process.
        """
        return await self._answer(_Line("tool_child", "", message), TOOL_REPLY, seconds)

    async def call_tool(
        self,
        call: PythonFunctionCall,
        seconds: float,
        *,
        is_warned: bool = False,
        beat: Callable[[JsonValue], None] | None = None,
        begin: Callable[[], Awaitable[None]] | None = None,
    ) -> ToolOutcome:
        """Call a tool, whose time counts from when its module is imported.

        While all processes are busy it waits up to half of its time, since nothing has begun yet;
        the function then has the rest.

        Args:
            call: The call.
            seconds: How long the function may take.
            is_warned: Tell it that it is cancelled, and give it a moment to end.
            beat: Takes the progress that it reports.
            begin: Called immediately before the function; it may raise.

        Raises:
            UserCodeFailed: Its process did not start, ended, or replied with something invalid.
            UserCodeTimeout: It took longer than `seconds` and was killed, or found no free process.
        """

        async def take(note: bytes) -> None:
            if beat is not None:
                beat(PROGRESS.validate_json(note).progress)

        package = call.module.partition(".")[0]
        line = _Line("tool_child", package, call, call.module, is_warned, begin)
        return await self._answer(line, TOOL_REPLY, seconds, take)

    def is_ready(self, module: str) -> bool:
        """Return whether an idle process of tools has imported the module."""
        idle = self._idle.get(("tool_child", module.partition(".")[0]), [])
        return any(child.alive and module in child.imported for child in idle[-1:])

    async def extend(
        self,
        message: ExtensionTurn | ExtensionRequest,
        path: str,
        seconds: float | None,
        notes: Notes,
    ) -> ExtensionOutcome:
        """Run a turn of an agent type, or a call of a provider.

        Args:
            message: The call.
            path: `package.module:name`; each package has its own processes.
            seconds: How long it may take.
            notes: Takes what it asks or tells meanwhile; may raise.

        Raises:
            UserCodeFailed: Its process ended, or replied with something invalid.
            UserCodeTimeout: It took longer than `seconds` and was killed, or found no free process.
        """
        entry: Entry = "extension_child" if isinstance(message, ExtensionTurn) else "provider_child"
        line = _Line(entry, path.partition(":")[0].partition(".")[0], message)
        return await self._answer(line, EXTENSION_REPLY, seconds, notes)

    async def _answer(
        self,
        line: "_Line",
        replies: TypeAdapter[Reply[AnyOutcome]],
        seconds: float | None,
        notes: Notes | None = None,
    ) -> AnyOutcome:
        limit = CallTimeLimit(self._start_seconds, seconds, patient=bool(line.module))
        try:
            async with limit.timeout, self._shares.place(run_of_call()):
                limit.start()
                if not line.module:
                    limit.begin()
                return await self._ask_child(line, replies, notes, limit)
        except TimeoutError:
            if not limit.waited:
                raise UserCodeTimeout(
                    f"did not start within {limit.wait:g} s: all {self._max_children} "
                    "processes for users' code are busy"
                ) from None
            if not limit.began:
                raise UserCodeFailed(
                    f"its process did not import {line.module} within {self._start_seconds:g} s"
                ) from None
            raise UserCodeTimeout(f"did not end within {limit.own:g} s and was stopped") from None

    async def _ask_child(
        self,
        line: "_Line",
        replies: TypeAdapter[Reply[AnyOutcome]],
        notes: Notes | None,
        limit: CallTimeLimit,
    ) -> AnyOutcome:
        child = await self._child(line)
        is_reusable = False
        try:
            if line.module and line.module not in child.imported:
                await child.call(_encode_message(ModuleImport(imports=line.module)))
                child.imported.add(line.module)  # or the call says why not
            if line.begin is not None:
                await line.begin()
            if line.module:
                limit.begin()
            reply = replies.validate_json(await child.call(_encode_message(line.message), notes))
            is_reusable = reply.processes == 0 and line.package != ""
            return reply.outcome
        except ChildEnded as end:
            raise UserCodeFailed(f"its process {end}") from None
        except ReplyTooLarge:
            raise UserCodeFailed(f"replied with more than {MAX_REPLY_BYTES:,} bytes") from None
        except ValidationError:
            raise UserCodeFailed("replied with something that is not a reply") from None
        except asyncio.CancelledError:
            if line.is_warned and limit.began and child.alive:
                await child.cancel(_CANCEL_SECONDS)
            raise
        finally:
            idle = self._idle.setdefault(line.pool, [])
            if is_reusable and child.alive and len(idle) < MAX_IDLE:
                idle.append(child)
            else:
                await kill_child(child)

    async def _child(self, line: "_Line") -> ChildProcess:
        idle = self._idle.get(line.pool, [])
        while idle:
            child = idle.pop()
            if child.alive:
                return child
            await kill_child(child)
        try:
            return await ChildProcess.start(
                f"coterie.activities.user_code.{line.entry}",
                self.import_path,
                self.environment,
                self.folder,
            )
        except OSError as error:
            raise UserCodeFailed(f"could not start a process: {error.strerror}") from None

    async def close(self) -> None:
        """Kill the idle children; busy ones end with their calls."""
        children = [child for idle in self._idle.values() for child in idle]
        self._idle.clear()
        for child in children:
            await kill_child(child)


def _encode_message(message: Frozen) -> bytes:
    return f"{message.model_dump_json()}\n".encode()
