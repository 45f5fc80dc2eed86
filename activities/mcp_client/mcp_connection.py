"""One connection to an MCP server, owned by a task of its own.

The SDK cancels the task that entered its client when an HTTP server goes away, which looks like the
cancellation of an activity. So one task owns the connection, and any other task may call; it then
gets an ordinary error. All types of the SDK stay in this module and in `server_answers.py`.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from time import monotonic
from typing import Any, cast

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from pydantic import TypeAdapter, ValidationError

from activities.mcp_client.bounded_http import BoundedTransport
from activities.mcp_client.call_outcomes import (
    CallLost,
    InputAsked,
    McpCallRefused,
    ServerUnreachable,
    ToolAnswer,
    UnusableTool,
)
from activities.mcp_client.error_output import ErrorOutput
from activities.mcp_client.server_answers import server_tool, tool_answer
from activities.mcp_client.server_settings import McpServer
from dsl.model.capabilities import ServerTool
from dsl.values import Json
from dsl.visible import one_line

MAX_TOOLS = 1_000
"""Tools of one server; further ones are not read."""

_MAX_PAGES = 100
_MAX_MESSAGE_LENGTH = 2_000
_CLOSE_TIMEOUT = 10.0

_RESULT: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)


class McpConnection:
    """A connection that `open` makes; any task may use it until `is_over`."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._errors = ErrorOutput()
        self._over = asyncio.Event()
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._owner: asyncio.Task[None] | None = None
        self._tools: dict[str, ServerTool] = {}
        self._listed = 0.0
        """When the listing began, or 0 if there is none or it has changed since."""
        self.left_out: tuple[UnusableTool, ...] = ()
        """The tools that cannot be offered, of the latest listing."""
        self._questions: list[str] = []

    @property
    def is_over(self) -> bool:
        """Whether the server has ended or hung up."""
        return self._over.is_set()

    async def open(self) -> None:
        """Start or reach the server, and agree on a version of the protocol.

        Raises:
            ServerUnreachable: It cannot be started or reached, or does not speak the protocol.
        """
        missing = self._server.missing
        if missing:
            raise ServerUnreachable(
                f"the MCP server {self._server.name!r} needs the environment variable "
                f"{missing[0]}, which this worker does not have"
            )
        self._owner = asyncio.create_task(self._own())
        await asyncio.shield(self._ready)

    async def close(self) -> None:
        """End the connection, and the server if it is a command."""
        self._stop.set()
        if self._owner is not None:
            await asyncio.wait([self._owner], timeout=_CLOSE_TIMEOUT)

    async def tools(self, max_age: float) -> dict[str, ServerTool]:
        """Return the tools that the server offers, from a listing that is not older.

        Raises:
            ServerUnreachable: It does not answer.
        """
        if not self._listed or monotonic() - self._listed >= max_age:
            try:
                async with asyncio.timeout(self._server.section.start_timeout):
                    await self._list()
            except (MCPError, ValidationError, TimeoutError) as error:
                raise ServerUnreachable(self._message("does not list its tools", error)) from None
        return self._tools

    async def call(self, tool: str, arguments: Json, seconds: float) -> ToolAnswer:
        """Call a tool; cancelling the task cancels the call on the server.

        Args:
            tool: As the server names it.
            arguments: Checked by the caller.
            seconds: Time limit.

        Raises:
            ServerUnreachable: The server did not accept the call.
            CallLost: No answer came, or none that can be understood.
            McpCallRefused: The server refused the call.
            InputAsked: The tool asks a question.
        """
        asked = len(self._questions)
        client = await asyncio.shield(self._ready)
        params = types.CallToolRequestParams(name=tool, arguments=arguments)
        try:
            async with asyncio.timeout(seconds):
                request = types.CallToolRequest(params=params)
                result = await client.session.send_request(request, _RESULT)
        except TimeoutError as error:
            raise CallLost(self._message(f"did not answer within {seconds:g} s", error)) from None
        except ValidationError as error:
            raise CallLost(self._message("broke the protocol", error)) from None
        except MCPError as error:
            raise self._failure(error) from None
        if isinstance(result, types.InputRequiredResult):
            raise InputAsked(_question_of(result))
        answer = tool_answer(result)
        if answer.failed and len(self._questions) > asked:
            raise InputAsked(self._questions[-1])
        return answer

    def _failure(self, error: MCPError) -> Exception:
        match error.code:
            case types.CONNECTION_CLOSED | types.REQUEST_TIMEOUT:
                return CallLost(self._message("ended during the call", error))
            case types.INVALID_REQUEST:  # such as a session that the server forgot
                return ServerUnreachable(self._message("refuses requests", error))
            case _:
                return McpCallRefused(self._message("refused the call", error))

    async def _list(self) -> None:
        client = await asyncio.shield(self._ready)
        found: dict[str, ServerTool] = {}
        left_out: list[UnusableTool] = []
        cursor: str | None = None
        self._listed = monotonic()
        for _ in range(_MAX_PAGES):
            params = types.PaginatedRequestParams(cursor=cursor)
            page = await client.session.list_tools(params=params)
            for tool in page.tools:
                match server_tool(tool):
                    case ServerTool() as known if len(found) < MAX_TOOLS:
                        found[known.name] = known
                    case ServerTool(name=name):
                        left_out.append(UnusableTool(name, f"the server has more than {MAX_TOOLS}"))
                    case UnusableTool() as unusable:
                        left_out.append(unusable)
            cursor = page.next_cursor
            if cursor is None:
                break
        self._tools, self.left_out = found, tuple(left_out)

    async def _own(self) -> None:
        """Hold the connection open until it is over or stopped."""
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self._server.section.start_timeout):
                    client = await stack.enter_async_context(await self._client(stack))
                self._ready.set_result(client)
                ends = [asyncio.create_task(one.wait()) for one in (self._stop, self._over)]
                try:
                    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for end in ends:
                        end.cancel()
        except BaseException as error:  # the SDK raises groups, and cancels this task
            if not self._ready.done():
                why = self._message("cannot be reached", error)
                self._ready.set_exception(ServerUnreachable(why))
        finally:
            self._over.set()

    async def _client(self, stack: AsyncExitStack) -> Client:
        return Client(
            _watched(await self._transport(stack), self._over),
            elicitation_callback=self._asked,
            message_handler=self._noticed,
        )

    async def _transport(self, stack: AsyncExitStack) -> Transport:
        section = self._server.section
        if section.url is None:
            parameters = StdioServerParameters(
                command=section.command[0],
                args=[*section.command[1:]],
                env={**self._server.environment, **self._server.values},
                cwd=self._server.folder,
                encoding_error_handler="replace",
            )
            return stdio_client(parameters, errlog=stack.enter_context(self._errors.taken()))
        http = httpx2.AsyncClient(
            headers=self._server.headers,
            timeout=httpx2.Timeout(section.start_timeout, read=None),
            transport=BoundedTransport(),
            trust_env=False,
        )
        return streamable_http_client(
            section.url, http_client=await stack.enter_async_context(http)
        )

    async def _asked(
        self, context: object, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """Note a question that a server of an older protocol asks within a call."""
        self._questions.append(one_line(params.message)[:_MAX_MESSAGE_LENGTH])
        return types.ErrorData(
            code=types.INVALID_REQUEST, message="nobody can answer during the call"
        )

    async def _noticed(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._listed = 0.0

    def _message(self, what: str, error: BaseException) -> str:
        """Say what happened, with the reason that the server or the system gives."""
        plain = _plain(error)
        reason = one_line(str(plain)).strip() or type(plain).__name__
        if isinstance(plain, TimeoutError | asyncio.CancelledError):
            reason = ""
        said = self._errors.last_line
        parts = (reason[:_MAX_MESSAGE_LENGTH], f"its last words: {said}" if said else "")
        why = "; ".join(part for part in parts if part)
        return f"the MCP server {self._server.name!r} {what}" + (f": {why}" if why else "")


@asynccontextmanager
async def _watched(transport: Transport, over: asyncio.Event) -> AsyncGenerator[tuple[Any, Any]]:
    """Relay the messages of a transport, and note its end: the SDK does not report it."""
    async with transport as (read, write), anyio.create_task_group() as group:
        send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)

        async def relay() -> None:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for message in read:
                    await send.send(message)
            send.close()
            over.set()

        with send, receive:
            group.start_soon(relay)
            try:
                yield receive, write
            finally:
                group.cancel_scope.cancel()


def _question_of(result: types.InputRequiredResult) -> str:
    requests = result.input_requests or {}
    asked = [
        one.params.message for one in requests.values() if isinstance(one, types.ElicitRequest)
    ]
    return one_line("; ".join(asked))[:_MAX_MESSAGE_LENGTH] or "the tool gives no question"


def _plain(error: BaseException) -> BaseException:
    """Return the first cause in nested groups of exceptions."""
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return _plain(group.exceptions[0])
    return error
