"""Call a tool of an MCP server as a tool function, by the terms of the worker's configuration."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote

from pydantic import JsonValue

from coterie.activities.attempts import is_unwanted
from coterie.activities.contracts import FailureType
from coterie.activities.mcp_client.bounded_text import cut_text
from coterie.activities.mcp_client.call_outcomes import (
    CallLost,
    InputAsked,
    McpCallRefused,
    ResultInvalid,
    ServerUnreachable,
    SignInNeeded,
    TaskForgotten,
    ToolDrifted,
)
from coterie.activities.mcp_client.server_pool import McpServers, PinnedCall
from coterie.activities.tool_functions.missing_packages import needing
from coterie.activities.workspace.call_effects import shown
from coterie.activities.workspace.function_base import FunctionContext
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.dsl.errors import listed, nearest
from coterie.dsl.json_values import describe_kind
from coterie.dsl.model.capabilities import Effect
from coterie.dsl.model.tools.asked_input import AskedForm, AskedInput, GivenInput, ServerTask
from coterie.dsl.values import MAX_CALL_SECONDS, Json

_POLLED_SHARE = 0.8
"""Of the time limit of an activity that asks for a task: it returns before it is cut off."""
_MAX_POLLED_SECONDS = 240.0


_FAILURES = (
    *(CallLost, TaskForgotten, ServerUnreachable),
    *(ResultInvalid, McpCallRefused, ToolDrifted),
)


_SIGN_IN = "coterie/sign-in"
"""The key of our own question in what a call asks."""

_MAX_TEXT = 20_000
"""Bytes of what a tool says beside its data that a run keeps; models get all of it if they alone
read it."""


class SaidBeside(NamedTuple):
    """A result with what the tool says beside its structured content."""

    data: JsonValue
    text: str

    @property
    def whole(self) -> str:
        """Both, as a model reads them."""
        words = json.dumps(self.data, ensure_ascii=False, separators=(",", ":"))
        return f"{words}\n{self.text}"


def data_and_text(result: JsonValue | SaidBeside, *, whole: bool) -> tuple[JsonValue, str]:
    """Return the data of a result, with `whole` in one text with what is said beside it, and that.

    What is said beside the data is cut off to what fits in a run.
    """
    if not isinstance(result, SaidBeside):
        return result, ""
    return result.whole if whole else result.data, cut_text(result.text, _MAX_TEXT)


@dataclass(frozen=True)
class McpFunction:
    """A tool of a configured server."""

    server: str
    tool: str
    servers: McpServers = field(repr=False)
    listing: str | None = None
    """Digest of the tool that the plan was compiled with; None calls whatever it is now."""

    @property
    def name(self) -> str:
        """`server/tool`."""
        return f"{self.server}/{self.tool}"

    @property
    def effect(self) -> Effect:
        """What a repeated call does, by the worker's configuration; its server has no say."""
        return self.servers.servers[self.server].section.effect_of(self.tool)

    async def call(self, value: JsonValue, context: FunctionContext) -> JsonValue | SaidBeside:
        """Call the tool, if it has not changed since the plan was compiled.

        Raises:
            FunctionRefusal: It has changed, it asks a person, or its server refuses the call.
            FunctionFailure: It failed, its server cannot be reached, or no answer came.
        """
        value = {} if value is None else value
        if not isinstance(value, dict):
            raise FunctionRefusal(f"{self.name} takes a mapping, not {describe_kind(value)}")
        call = self._pinned_call(value, context)
        if call.task is not None and call.task.unwanted:
            await self.servers.cancel_task(self.server, call.task)
            return None
        try:
            with needing("mcp", self.name):
                answer = await self.servers.call(call)
        except asyncio.CancelledError:
            if call.task is not None and is_unwanted():
                await asyncio.shield(self.servers.cancel_task(self.server, call.task))
            raise
        except InputAsked as asked:
            raise self._question(asked) from None
        except SignInNeeded as needed:
            raise self._sign_in(needed, call.task, context.run) from None
        except _FAILURES as error:
            raise self._failure(error) from None
        if answer.failed:
            raise FunctionFailure(f"{self.name} failed: {answer.data}")
        return SaidBeside(answer.data, answer.text) if answer.text else answer.data

    def _pinned_call(self, arguments: Json, context: FunctionContext) -> PinnedCall:
        section = self.servers.servers[self.server].section
        terms, reply = section.terms_of(self.tool), _for_server(context.given_input)
        seconds = min(context.timeout or terms.timeout or section.timeout, MAX_CALL_SECONDS)
        if reply is not None and reply.asked.task is not None:
            seconds = min(seconds * _POLLED_SHARE, _MAX_POLLED_SECONDS)
        return PinnedCall(
            self.server,
            self.tool,
            arguments,
            digest=self.listing,
            seconds=seconds,
            once=self.effect == "once",
            given=reply,
            begin=context.effect.begin,
        )

    def _failure(self, error: Exception) -> Exception:
        """Return the failure of a call, by what is known of it."""
        match error:
            case ToolDrifted():
                return FunctionRefusal(str(error), FailureType.TOOL_CHANGED)
            case McpCallRefused():
                return FunctionRefusal(str(error))
            case ResultInvalid():
                return FunctionFailure(
                    f"{self.name} returned a result that violates its contract: {error}",
                    happened="yes",
                    said=shown(error.said),
                )
            case ServerUnreachable():
                return FunctionFailure(str(error), may_pass=True, happened="no")
            case _:
                return FunctionFailure(str(error), may_pass=True)

    def _sign_in(self, needed: SignInNeeded, task: ServerTask | None, run: str) -> FunctionRefusal:
        """Return the failure of a call that is made again once a person has signed in."""
        sign_ins = self.servers.servers[self.server].sign_ins
        page = None if sign_ins is None else sign_ins.page()
        message = f"{needed}. Then approve this, and the call is made again."
        if page is not None:
            message = (
                f"the MCP server {self.server!r} wants a person to sign in: open "
                f"{page}?run={quote(run, safe='')}, and the call is made again. Or run `coterie "
                f"mcp login {self.server}` in the project of the worker, and approve this."
            )
        form = AskedForm(message=message, form={"type": "object", "properties": {}})
        return FunctionRefusal(
            f"{self.name} was not called: {needed}",
            FailureType.INPUT_REQUIRED,
            AskedInput(questions={_SIGN_IN: form}, task=task, sign_in=self.server),
        )

    def _question(self, request: InputAsked) -> FunctionRefusal | FunctionFailure:
        """Return the failure of a call that asks; its caller may call again with the answer."""
        can_answer = request.asked is not None and not request.asked.within_call
        if request.begun and self.effect == "once" and not can_answer:
            return FunctionFailure(
                f"{self.name} asks a person in the middle of its call, and may be called only "
                f"once, so nobody can answer it: {request}. If a repeated call does no harm, give "
                "the tool the effect `read` or `idempotent` in the worker's configuration"
            )
        return FunctionRefusal(
            f"{self.name} asks a person, and nobody can answer it here: {request}",
            FailureType.INPUT_REQUIRED,
            request.asked,
        )


def _for_server(given: GivenInput | None) -> GivenInput | None:
    """Return what the server gets of a person's answers: not that they have signed in."""
    if given is None or given.asked.sign_in is None:
        return given
    if given.asked.task is None:
        return None
    return GivenInput(asked=AskedInput(task=given.asked.task), by=given.by)


def mcp_function(name: str, listing: str | None, servers: McpServers | None) -> McpFunction:
    """Return the tool `server/tool` of a configured server.

    Raises:
        FunctionRefusal: The worker has no such server.
    """
    server, _, tool = name.partition("/")
    names = () if servers is None else tuple(servers.servers)
    if servers is None or server not in names:
        hint = nearest(server, names)
        raise FunctionRefusal(
            f"this worker has no MCP server {server!r}; `worker.mcp_servers` of its configuration "
            f"has {listed(names) or 'none'}" + (f"; {hint}" if hint else "")
        )
    return McpFunction(server, tool, servers, listing)
