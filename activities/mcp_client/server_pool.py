"""The MCP servers of one worker: connections are opened by the first call, shared, and reopened."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, get_args

from coterie.activities.mcp_client.call_outcomes import (
    FoundServerTools,
    InputAsked,
    ResultInvalid,
    ServerUnreachable,
    SignInNeeded,
    TaskForgotten,
    ToolAnswer,
    ToolDrifted,
)
from coterie.activities.mcp_client.input_rounds import InputReply, call_with_input
from coterie.activities.mcp_client.server_settings import McpServer
from coterie.activities.mcp_client.tool_difference import differences
from coterie.dsl.errors import listed
from coterie.dsl.json_schema.schema_checker import UnusableSchema, mismatches
from coterie.dsl.model.capabilities import ServerListing, ServerTool
from coterie.dsl.model.sections.mcp_document import digest_of_tool
from coterie.dsl.model.tools.asked_input import AskedInput, GivenInput, ServerTask
from coterie.dsl.model.tools.offer_names import OfferKind, kind_of_offer
from coterie.dsl.strict_json import unsound_part
from coterie.dsl.values import Json

if TYPE_CHECKING:
    from coterie.activities.mcp_client.mcp_connection import McpConnection

MAX_LISTING_AGE = 60.0
"""Seconds for which a listing is trusted for calls that may be repeated; other calls always ask."""


_REOPEN_SECONDS = 5.0
"""Between two attempts to reach the server of a task."""
_MAX_SILENT = 10
"""Calls in a row without an answer about a task; then it counts as forgotten."""
_CANCEL_SECONDS = 5.0


class PinnedCall(NamedTuple):
    """A call of a tool as the plan knows it."""

    server: str
    """The name of a configured server."""
    tool: str
    """As the server names it."""
    arguments: Json
    """Checked against its schema."""
    digest: str | None
    """The digest of the tool at compile time; None accepts any version."""
    seconds: float
    """Time limit of the call itself."""
    once: bool
    """Whether the call may happen only once. Then the server always lists its tools before it."""
    given: GivenInput | None = None
    """A person's answers to what the tool has asked."""
    begin: Callable[[], Awaitable[None]] | None = None
    """Called immediately before the call is sent; it may raise."""

    @property
    def task(self) -> ServerTask | None:
        """The task to ask for instead of a call."""
        return None if self.given is None else self.given.asked.task


class McpServers:
    """The configured servers, and the connections to them."""

    def __init__(
        self,
        servers: Mapping[str, McpServer],
        recorded: Callable[[], Mapping[str, ServerListing]],
    ) -> None:
        """Store what is configured; nothing connects yet.

        Args:
            servers: By name.
            recorded: Returns the recorded listings, to show what has changed since.
        """
        self.servers = servers
        self._recorded = recorded
        self._open: dict[str, McpConnection] = {}
        self._locks = {name: asyncio.Lock() for name in servers}
        self._closing: dict[asyncio.Task[None], McpConnection] = {}

    async def call(self, call: PinnedCall) -> ToolAnswer:
        """Call a tool, if it is still the one that the plan was compiled with.

        A server that is found dead before the call was sent is reopened once.

        Raises:
            ServerUnreachable: The call was not sent.
            ToolDrifted: The server offers another tool under this name, or none.
            CallLost: The call was sent, and no answer came.
            McpCallRefused: The server refused the call.
            InputAsked: The tool asks a question.
            TaskForgotten: The server has forgotten the task of a call that may happen only once.
            ResultInvalid: The result does not match the tool's own schema.
        """
        if call.task is not None:
            try:
                return await self._follow_task(call, call.task)
            except TaskForgotten:
                if call.once:
                    raise
                call = call._replace(given=None)
        while True:
            connection, reused = await self._connection(call.server)
            try:
                return await self._call_on(connection, call)
            except ServerUnreachable:
                dropped = connection.is_retired  # because of another call
                self._drop(call.server, connection)
                if not reused and not dropped:
                    raise
            except InputAsked as asked:
                if asked.certain or call.once:
                    raise
                return await self._alone(call)

    async def list_tools(self, server: str) -> FoundServerTools:
        """Return what a server offers now: tools, resources and prompts.

        Raises:
            ServerUnreachable: It cannot be started or reached, or does not answer.
        """
        connection, _ = await self._connection(server)
        listings = [await connection.offers(kind, 0.0) for kind in get_args(OfferKind)]
        return FoundServerTools(
            tuple(tool for listing in listings for tool in listing.tools),
            tuple(unusable for listing in listings for unusable in listing.left_out),
        )

    async def close(self) -> None:
        """End all connections, and the servers that are commands."""
        closed = {*self._open.values(), *self._closing.values()}
        retiring = list(self._closing)
        self._open.clear()
        await asyncio.gather(*(connection.close() for connection in closed), *retiring)

    async def _call_on(self, connection: "McpConnection", call: PinnedCall) -> ToolAnswer:
        max_age = 0.0 if call.once else MAX_LISTING_AGE
        offered = await connection.offers(kind_of_offer(call.tool), max_age)
        current = self._current(call, {tool.name: tool for tool in offered.tools})

        async def send(reply: InputReply | None) -> ToolAnswer:
            if call.begin is not None:
                await call.begin()
            return await connection.call(current, call.arguments, call.seconds, reply)

        answer = await call_with_input(send, call.given, once=call.once)
        return _check_answer(answer, current)

    async def _follow_task(self, call: PinnedCall, task: ServerTask) -> ToolAnswer:
        """Ask for a task; a server that does not answer may be there again later."""
        from coterie.activities.mcp_client.task_polls import follow_task

        answers = {} if call.given is None else call.given.answers
        until = monotonic() + call.seconds
        while True:
            try:
                connection, _ = await self._connection(call.server)
                try:
                    answer = await follow_task(connection, task, answers, until)
                except ServerUnreachable:
                    self._drop(call.server, connection)
                    raise
                return await self._checked_result(connection, call, answer)
            except SignInNeeded:
                raise
            except ServerUnreachable as error:
                if monotonic() + _REOPEN_SECONDS >= until:
                    if task.silent >= _MAX_SILENT:
                        raise TaskForgotten(str(error)) from None
                    silent = task.model_copy(update={"silent": task.silent + 1})
                    raise InputAsked(str(error), AskedInput(task=silent)) from None
                await asyncio.sleep(_REOPEN_SECONDS)

    async def _checked_result(
        self, connection: "McpConnection", call: PinnedCall, answer: ToolAnswer
    ) -> ToolAnswer:
        """Check the result of a task against the schema of its tool, if that is still offered."""
        offered = await connection.offers(kind_of_offer(call.tool), MAX_LISTING_AGE)
        tool = next((offer for offer in offered.tools if offer.name == call.tool), None)
        return _check_answer(answer, tool)

    async def cancel_task(self, server: str, task: ServerTask) -> None:
        """Ask a server to end a task, and ignore its answer."""
        from coterie.activities.mcp_client.task_polls import cancel_task

        with suppress(ServerUnreachable, TaskForgotten, TimeoutError):
            async with asyncio.timeout(_CANCEL_SECONDS):
                connection, _ = await self._connection(server)
                await cancel_task(connection, task)

    async def _alone(self, call: PinnedCall) -> ToolAnswer:
        """Call on a connection of its own: a question in it then belongs to this call."""
        connection = await self._new_connection(call.server)
        try:
            return await self._call_on(connection, call)
        finally:
            self._retire(connection)

    def _current(self, call: PinnedCall, offered: Mapping[str, ServerTool]) -> ServerTool:
        """Return the tool as the server offers it, if it is the one of the plan."""
        server, tool, digest = call.server, call.tool, call.digest
        current = offered.get(tool)
        if current is None:
            raise ToolDrifted(
                f"the MCP server {server!r} has no {kind_of_offer(tool)} {tool!r} any more; it has "
                f"{listed(offered)}. Run `coterie tools refresh {server}` and start a new run"
            )
        if digest is None or digest_of_tool(current) == digest:
            return current
        listing = self._recorded().get(server)
        tools = () if listing is None else listing.tools
        before = next((offer for offer in tools if digest_of_tool(offer) == digest), None)
        what = (
            "the recorded listing has another version, too"
            if before is None
            else "; ".join(differences(before, current))
        )
        raise ToolDrifted(
            f"{server}/{tool} has changed since the plan was compiled and is not called: {what}. "
            f"Check the change with `coterie tools refresh {server}`, and start a new run"
        )

    async def _connection(self, server: str) -> "tuple[McpConnection, bool]":
        """Return the open connection, or a new one; and whether it was open already."""
        async with self._locks[server]:
            open_connection = self._open.get(server)
            if open_connection is not None and not open_connection.is_over:
                return open_connection, True
            if open_connection is not None:
                self._drop(server, open_connection)
            connection = self._open[server] = await self._new_connection(server)
            return connection, False

    async def _new_connection(self, server: str) -> "McpConnection":
        from coterie.activities.mcp_client.mcp_connection import McpConnection

        connection = McpConnection(self.servers[server])
        try:
            await connection.open()
        except BaseException:
            self._retire(connection)
            raise
        return connection

    def _drop(self, server: str, connection: "McpConnection") -> None:
        """Close a connection once its calls have ended; the next call opens another."""
        if self._open.get(server) is connection:
            del self._open[server]
            self._retire(connection)

    def _retire(self, connection: "McpConnection") -> None:
        task = asyncio.create_task(connection.retire())
        self._closing[task] = connection
        task.add_done_callback(self._closing.pop)


def _check_answer(answer: ToolAnswer, tool: ServerTool | None) -> ToolAnswer:
    """Check a result: that it is JSON, and in bounded time whether it matches its tool's schema."""
    unsound = unsound_part({"the result": answer.data})
    if unsound is not None:
        raise ResultInvalid(str(unsound), answer.data)
    if answer.failed or tool is None or tool.output_schema is None:
        return answer
    try:
        problems = mismatches(answer.data, tool.output_schema, "the result")
    except UnusableSchema:
        return answer  # such a schema checks nothing
    if problems:
        raise ResultInvalid("; ".join(problems), answer.data)
    return answer
