"""One connection to an MCP server, owned by a task of its own.

The SDK cancels the task that entered its client when an HTTP server goes away, which looks like the
cancellation of an activity. So one task owns the connection, and any other task may call; it then
gets an ordinary error. All types of the SDK stay in this folder.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from time import monotonic
from typing import Any, NamedTuple, cast

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from activities.mcp_client.bounded_http import BoundedTransport
from activities.mcp_client.call_outcomes import (
    CallLost,
    FoundServerTools,
    McpCallRefused,
    ServerUnreachable,
    ToolAnswer,
)
from activities.mcp_client.call_progress import CURRENT_CALL, CallInProgress
from activities.mcp_client.error_output import ErrorOutput
from activities.mcp_client.input_requests import (
    accepted_input,
    asked_within,
    input_asked,
    question_key,
)
from activities.mcp_client.input_rounds import InputReply
from activities.mcp_client.server_requests import answer_of, list_kind, request_of
from activities.mcp_client.server_settings import McpServer
from dsl.model.capabilities import ServerTool
from dsl.model.tools.offer_names import OfferKind
from dsl.values import Json
from dsl.visible import one_line

_MAX_MESSAGE_LENGTH = 2_000
_CLOSE_TIMEOUT = 10.0
_NO_RESOURCE = -32002
"""The code of servers before 2026-07-28 for a resource that is not there."""


class _Listing(NamedTuple):
    """What a server offers of a kind at a time."""

    begun: float
    offers: FoundServerTools


class McpConnection:
    """A connection that `open` makes; any task may use it until `is_over`."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._errors = ErrorOutput()
        self._over = asyncio.Event()
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._owner: asyncio.Task[None] | None = None
        self._listings: dict[OfferKind, _Listing] = {}
        self._changed: set[OfferKind] = set()
        """What the server lists differently since the last listing."""
        self._one_listing = asyncio.Lock()
        self._retired = False
        self._calls: set[CallInProgress] = set()
        self._abandoned = False
        """Whether a call has ended without an answer: the server may still be busy with it."""
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def is_over(self) -> bool:
        """Whether the server has ended or hung up."""
        return self._over.is_set()

    @property
    def is_retired(self) -> bool:
        """Whether it takes no further calls."""
        return self._retired

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

    async def retire(self) -> None:
        """Take no further calls, and close once those in progress have ended."""
        self._retired = True
        await self._idle.wait()
        await self.close()

    async def close(self) -> None:
        """End the connection, and the server if it is a command."""
        self._retired = True
        self._stop.set()
        if self._owner is not None:
            await asyncio.wait([self._owner], timeout=_CLOSE_TIMEOUT)

    async def offers(self, kind: OfferKind, max_age: float) -> FoundServerTools:
        """Return what the server offers of a kind, from a listing that is not older.

        Raises:
            ServerUnreachable: It does not answer.
        """
        oldest = monotonic() - max_age
        async with self._one_listing:
            known = self._listings.get(kind)
            if known is not None and known.begun >= oldest and kind not in self._changed:
                return known.offers
            self._check_use()
            try:
                async with asyncio.timeout(self._server.section.start_timeout):
                    self._listings[kind] = await self._listed(kind)
            except (MCPError, ValidationError, TimeoutError) as error:
                did = f"does not list its {kind}s"
                raise ServerUnreachable(self._message(did, error)) from None
            return self._listings[kind].offers

    async def call(
        self, offer: ServerTool, arguments: Json, seconds: float, reply: InputReply | None = None
    ) -> ToolAnswer:
        """Call a tool, or read what it stands for; cancelling the task cancels it on the server.

        Args:
            offer: As the server lists it.
            arguments: Checked by the caller.
            seconds: Time limit.
            reply: What the server has asked for when it was called so before.

        Raises:
            ServerUnreachable: The server did not accept the call.
            CallLost: No answer came, or none that can be understood.
            McpCallRefused: The server refused the call.
            InputAsked: The tool asks a question.
        """
        client = await asyncio.shield(self._ready)
        self._check_use()
        within = reply is not None and reply.within_call
        request, form = request_of(offer, arguments, None if within else reply)
        with self._in_progress() as call:
            call.answers = reply.answers if reply is not None and within else {}
            try:
                async with asyncio.timeout(seconds):
                    result = await client.session.send_request(request, form)
            except TimeoutError as error:
                did = f"did not answer within {seconds:g} s"
                raise CallLost(self._message(did, error)) from None
            except ValidationError as error:
                raise CallLost(self._message("broke the protocol", error)) from None
            except MCPError as error:
                raise self._failure(error, call) from None
        if isinstance(result, types.InputRequiredResult):
            raise input_asked(result)
        answer = answer_of(result)
        if answer.failed and call.question is not None:
            raise call.question
        return answer

    @contextmanager
    def _in_progress(self) -> Generator[CallInProgress]:
        """Count a call, and let the transport note what becomes of it."""
        call = CallInProgress()
        before = CURRENT_CALL.set(call)
        self._calls.add(call)
        self._idle.clear()
        try:
            yield call
        except (asyncio.CancelledError, TimeoutError, CallLost):
            self._abandoned = True
            raise
        finally:
            CURRENT_CALL.reset(before)
            self._calls.remove(call)
            if not self._calls:
                self._idle.set()

    def _check_use(self) -> None:
        if self._retired or self.is_over:
            name = self._server.name
            raise ServerUnreachable(f"the connection to the MCP server {name!r} was closed")

    def _failure(self, error: MCPError, call: CallInProgress) -> Exception:
        """Return what an error says of the call: only some rule out that it happened."""
        if call.question is not None:
            return call.question
        match call.acceptance:
            case "unreached":
                return ServerUnreachable(self._message("did not take the call", error, call.status))
            case "refused":
                return McpCallRefused(self._message("refused the call", error, call.status))
            case "unknown":
                pass
        if error.code in (types.METHOD_NOT_FOUND, types.INVALID_PARAMS, _NO_RESOURCE):
            return McpCallRefused(self._message("refused the call", error))
        closed = error.code in (types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT)
        what = "ended during the call" if closed else "failed during the call"
        return CallLost(self._message(what, error))

    async def _listed(self, kind: OfferKind) -> "_Listing":
        client = await asyncio.shield(self._ready)
        begun = monotonic()
        self._changed.discard(kind)  # a change that is announced from here on counts
        try:
            return _Listing(
                begun, await list_kind(client.session, client.server_capabilities, kind)
            )
        except BaseException:
            self._changed.add(kind)
            raise

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
        """Answer a question that a server of an older protocol asks within a call, or note it.

        It does not say within which, so each call in progress has it, should it fail.
        """
        calls = tuple(self._calls)
        certain = len(calls) == 1 and not self._abandoned
        for call in calls:
            key = question_key(params, call.asked)
            answer = call.answers.get(key) if certain else None
            if answer is not None:
                return accepted_input(answer)
            call.question = asked_within(params, key, certain=certain)
        return types.ErrorData(
            code=types.INVALID_REQUEST, message="nobody can answer during the call"
        )

    async def _noticed(self, message: object) -> None:
        match message:
            case types.ToolListChangedNotification():
                self._changed.add("tool")
            case types.ResourceListChangedNotification():
                self._changed.add("resource")
            case types.PromptListChangedNotification():
                self._changed.add("prompt")
            case _:
                pass

    def _message(self, what: str, error: BaseException, status: int | None = None) -> str:
        """Say what happened, with the reason that the server or the system gives."""
        plain = _plain(error)
        reason = one_line(str(plain)).strip() or type(plain).__name__
        if isinstance(plain, TimeoutError | asyncio.CancelledError):
            reason = ""
        said = self._errors.last_line
        parts = (
            f"HTTP status {status}" if status is not None else "",
            reason[:_MAX_MESSAGE_LENGTH],
            f"its last words: {said}" if said else "",
        )
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


def _plain(error: BaseException) -> BaseException:
    """Return the first cause in nested groups of exceptions."""
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return _plain(group.exceptions[0])
    return error
