"""One connection to an MCP server, owned by a task of its own.

The SDK cancels the task that entered its client when an HTTP server goes away, which looks like the
cancellation of an activity. So one task owns the connection, and any other task may call; it then
gets an ordinary error. All types of the SDK stay in this folder.
"""

import asyncio
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager
from time import monotonic
from typing import Any, NamedTuple, TypeVar, cast

import mcp_types as types
from mcp import Client, MCPError
from pydantic import ValidationError

from coterie.activities.mcp_client.call_outcomes import (
    CallLost,
    FoundServerTools,
    McpCallRefused,
    ServerUnreachable,
    SignInNeeded,
    TaskForgotten,
    ToolAnswer,
)
from coterie.activities.mcp_client.input_requests import (
    accepted_input,
    asked_within,
    input_asked,
    question_key,
)
from coterie.activities.mcp_client.input_rounds import InputReply
from coterie.activities.mcp_client.server_requests import answer_of, list_kind, request_of
from coterie.activities.mcp_client.server_settings import McpServer
from coterie.activities.mcp_client.task_polls import task_asked
from coterie.activities.mcp_client.task_protocol import CreatedTask, FollowsTasks
from coterie.activities.mcp_client.transport.call_progress import CURRENT_CALL, CallInProgress
from coterie.activities.mcp_client.transport.error_output import ErrorOutput
from coterie.activities.mcp_client.transport.message_relay import MessageRelay
from coterie.activities.mcp_client.transport.server_auth import ServerAuth, server_auth
from coterie.activities.mcp_client.transport.server_transport import server_transport
from coterie.dsl.model.capabilities import ServerTool
from coterie.dsl.model.sections.mcp_auth import LoginAuth
from coterie.dsl.model.tools.offer_names import OfferKind
from coterie.dsl.values import Json
from coterie.dsl.visible import one_line, shortened_text

_MAX_MESSAGE_LENGTH = 2_000
_NO_RESOURCE = -32002
"""The code of servers before 2026-07-28 for a resource that is not there."""


class ConnectionFailures:
    """The failures of one connection."""

    def __init__(self, server: str, errors: ErrorOutput) -> None:
        self._server = server
        self._errors = errors
        self._broken = ""

    def note_broken(self, why: str) -> None:
        """Note why the connection ended."""
        self._broken = why

    def of_call(self, error: MCPError, call: CallInProgress) -> Exception:
        """Return what an error says of a call: only some rule out that it happened."""
        if call.question is not None:
            return call.question
        match call.acceptance:
            case "unreached":
                return ServerUnreachable(self.message("did not take the call", error, call.status))
            case "refused":
                return McpCallRefused(self.message("refused the call", error, call.status))
            case "unknown":
                pass
        if error.code in (types.METHOD_NOT_FOUND, types.INVALID_PARAMS, _NO_RESOURCE):
            return McpCallRefused(self.message("refused the call", error))
        closed = error.code in (types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT)
        what = "ended during the call" if closed else "failed during the call"
        return CallLost(self.message(what, error))

    def message(self, what: str, error: BaseException, status: int | None = None) -> str:
        """Say what happened, with the reason that the server or the system gives."""
        plain = _plain(error)
        reason = one_line(str(plain)).strip() or type(plain).__name__
        if isinstance(plain, TimeoutError | asyncio.CancelledError):
            reason = ""
        last_words = self._errors.last_line
        parts = (
            f"HTTP status {status}" if status is not None else "",
            self._broken or shortened_text(reason, _MAX_MESSAGE_LENGTH),
            f"its last words: {last_words}" if last_words else "",
        )
        why = "; ".join(part for part in parts if part)
        return f"the MCP server {self._server!r} {what}" + (f": {why}" if why else "")


def _plain(error: BaseException) -> BaseException:
    """Return the first cause in nested groups of exceptions."""
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return _plain(group.exceptions[0])
    return error


_CLOSE_TIMEOUT = 10.0


R = TypeVar("R", bound=types.Result)


class _Listing(NamedTuple):
    """What a server offers of a kind at a time."""

    begun: float
    offers: FoundServerTools


class McpConnection:
    """A connection that `open` makes; any task may use it until `is_over`."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._errors = ErrorOutput()
        self._auth: ServerAuth | None = None
        self._failures = ConnectionFailures(server.name, self._errors)
        self._over = asyncio.Event()
        self._relay = MessageRelay(self._over, self._failures.note_broken)
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
            listing = self._listings.get(kind)
            if listing is not None and listing.begun >= oldest and kind not in self._changed:
                return listing.offers
            self._check_use()
            try:
                async with asyncio.timeout(self._server.section.start_timeout):
                    self._listings[kind] = await self._listing_of(kind)
            except (MCPError, ValidationError, TimeoutError) as error:
                did = f"does not list its {kind}s"
                self._check_sign_in()
                raise ServerUnreachable(self._failures.message(did, error)) from None
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
                raise CallLost(self._failures.message(did, error)) from None
            except ValidationError as error:
                raise CallLost(self._failures.message("broke the protocol", error)) from None
            except MCPError as error:
                self._check_sign_in()
                raise self._failures.of_call(error, call) from None
        if isinstance(result, types.InputRequiredResult):
            raise input_asked(result)
        if isinstance(result, CreatedTask):
            raise task_asked(result)
        answer = answer_of(result)
        if answer.failed and call.question is not None:
            raise call.question
        return answer

    async def request(self, request: types.Request[Any, Any], form: type[R]) -> R:
        """Send a request about a task, which may be repeated.

        Raises:
            TaskForgotten: The server knows no such task.
            ServerUnreachable: It does not answer.
        """
        client = await asyncio.shield(self._ready)
        self._check_use()
        try:
            with self._in_progress():
                async with asyncio.timeout(self._server.section.start_timeout):
                    return await client.session.send_request(request, form)
        except (MCPError, ValidationError, TimeoutError) as error:
            did = "does not say what became of its task"
            self._check_sign_in()
            text = self._failures.message(did, error)
            if isinstance(error, MCPError) and error.code == types.INVALID_PARAMS:
                raise TaskForgotten(text) from None
            raise ServerUnreachable(text) from None

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

    async def _listing_of(self, kind: OfferKind) -> "_Listing":
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
                self._relay.version = client.protocol_version
                self._ready.set_result(client)
                ends = [asyncio.create_task(event.wait()) for event in (self._stop, self._over)]
                try:
                    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for end in ends:
                        end.cancel()
        except BaseException as error:  # the SDK raises groups, and cancels this task
            if not self._ready.done():
                why = self._failures.message("cannot be reached", error)
                self._ready.set_exception(self._sign_in_needed() or ServerUnreachable(why))
        finally:
            self._over.set()

    def _check_sign_in(self) -> None:
        needed = self._sign_in_needed()
        if needed is not None:
            raise needed from None

    def _sign_in_needed(self) -> SignInNeeded | None:
        if self._auth is None or not self._auth.is_refused:
            return None
        if not isinstance(self._server.section.auth, LoginAuth):
            return None
        name = self._server.name
        return SignInNeeded(
            f"the MCP server {name!r} wants a person to sign in: run `coterie mcp login {name}` in "
            "the project of the worker"
        )

    async def _client(self, stack: AsyncExitStack) -> Client:
        self._auth = server_auth(self._server)
        return Client(
            await server_transport(
                self._server,
                stack,
                self._errors,
                self._relay,
                self._failures.note_broken,
                self._auth,
            ),
            elicitation_callback=self._answer_elicitation,
            extensions=[FollowsTasks()],
            message_handler=self._take_notice,
        )

    async def _answer_elicitation(
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

    async def _take_notice(self, message: object) -> None:
        match message:
            case types.ToolListChangedNotification():
                self._changed.add("tool")
            case types.ResourceListChangedNotification():
                self._changed.add("resource")
            case types.PromptListChangedNotification():
                self._changed.add("prompt")
            case _:
                pass
