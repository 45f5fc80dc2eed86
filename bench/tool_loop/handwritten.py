"""The tool loop as a Temporal workflow written by hand, for this one agent.

The worker stores the conversation, turn by turn, so that no request repeats it. The agent's prompt
and the schemas of its tools are in the code of the worker. Results travel through the workflow.
"""

import asyncio
import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel, Field
from temporalio import activity, workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from bench.asking import Usage
    from bench.tool_loop import work
    from coterie.activities.heartbeats import heartbeating
    from coterie.activities.providers.message_json import message_from_json, message_to_json
    from coterie.activities.providers.message_model import (
        ModelMessage,
        TextPart,
        ToolResultPart,
    )
    from coterie.activities.providers.provider import ModelProvider, ModelRequest
    from coterie.dsl.tool_loop.exchange import OfferedTool

_HEARTBEAT = timedelta(seconds=work.HEARTBEAT_SECONDS)
_RETRIES = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    maximum_interval=timedelta(minutes=1),
    maximum_attempts=work.RETRIES + 1,
    non_retryable_error_types=["PayloadsTooLarge"],
)


class Wanted(BaseModel):
    """The arguments of both tools."""

    number: int = Field(ge=1, description=work.NUMBER_DESCRIPTION)


class ToolCall(BaseModel):
    """A call that the model asks for."""

    id: str
    tool: str
    arguments: str


class ToolResult(BaseModel):
    """What a call came to, for the model."""

    call: str
    text: str
    failed: bool = False


class Turn(BaseModel):
    """One model turn: the question, or the results of the calls of the turn before."""

    number: int
    question: str | None = None
    results: list[ToolResult] = []


class Reply(BaseModel):
    """What the model sent."""

    text: str
    calls: list[ToolCall]
    model: str
    usage: Usage


_TOOLS = (
    OfferedTool(
        name=work.PAGE, description=work.PAGE_DESCRIPTION, input_schema=Wanted.model_json_schema()
    ),
    OfferedTool(
        name=work.ENTRY, description=work.ENTRY_DESCRIPTION, input_schema=Wanted.model_json_schema()
    ),
)


class LibraryActivities:
    """The model and the tools."""

    def __init__(self, provider: ModelProvider, folder: Path) -> None:
        self._provider = provider
        self._folder = folder
        self._known: dict[str, list[ModelMessage]] = {}

    @activity.defn
    async def ask_model(self, turn: Turn) -> Reply:
        run = activity.info().workflow_run_id or ""
        question = ModelMessage("user", _request_parts(turn))
        async with heartbeating():
            earlier = await self._earlier(run, turn.number)
            completion = await self._provider.complete(
                ModelRequest(
                    model=work.MODEL,
                    messages=(*earlier, question),
                    system=work.SYSTEM,
                    max_tokens=work.MAX_TOKENS,
                    tools=_TOOLS,
                    label=f"library/{work.AGENT}#1.0",
                    turn=turn.number,
                )
            )
            added = (question, ModelMessage("assistant", completion.content))
            await asyncio.to_thread(self._store, run, turn.number, added)
        self._known[run] = [*earlier, *added]
        return Reply(
            text=completion.text,
            calls=[
                ToolCall(id=call.id, tool=call.name, arguments=call.arguments)
                for call in completion.tool_calls
            ],
            model=completion.model,
            usage=Usage(
                input_tokens=completion.usage.input_tokens,
                output_tokens=completion.usage.output_tokens,
            ),
        )

    @activity.defn
    async def read_page(self, wanted: Wanted) -> str:
        async with heartbeating():
            return work.page(wanted.number)

    @activity.defn
    async def look_up_entry(self, wanted: Wanted) -> str:
        async with heartbeating():
            return work.entry(wanted.number)

    async def _earlier(self, run: str, turn: int) -> list[ModelMessage]:
        """The messages before a turn; another worker may have stored them."""
        known = self._known.get(run, [])
        if len(known) < 2 * (turn - 1):
            return await asyncio.to_thread(self._read, run, turn)
        return known[: 2 * (turn - 1)]

    def _read(self, run: str, turn: int) -> list[ModelMessage]:
        texts = (self._file(run, number).read_text() for number in range(1, turn))
        return [message_from_json(one) for text in texts for one in json.loads(text)]

    def _store(self, run: str, turn: int, added: Sequence[ModelMessage]) -> None:
        file = self._file(run, turn)
        file.parent.mkdir(parents=True, exist_ok=True)
        written = file.with_suffix(".new")
        written.write_text(json.dumps([message_to_json(message) for message in added]))
        written.rename(file)

    def _file(self, run: str, turn: int) -> Path:
        return self._folder / run / f"{turn:04}.json"


def _request_parts(turn: Turn) -> tuple[TextPart | ToolResultPart, ...]:
    if turn.question is not None:
        return (TextPart(turn.question),)
    return tuple(ToolResultPart(one.call, one.text, one.failed) for one in turn.results)


@workflow.defn
class LibraryLoop:
    """Asks, makes the calls of the turn at once, and asks again."""

    @workflow.init
    def __init__(self, turns: int) -> None:
        self.turn = 0
        self.usage = Usage()

    @workflow.run
    async def run(self, turns: int) -> str:
        turn = Turn(number=1, question=work.QUESTION)
        while True:
            reply = await self._ask(turn)
            if not reply.calls:
                return reply.text
            if turn.number > turns:
                raise RuntimeError("no turns are left")
            calls = [self._call(call, place) for place, call in enumerate(reply.calls, 1)]
            turn = Turn(number=turn.number + 1, results=list(await asyncio.gather(*calls)))

    @workflow.query
    def status(self) -> int:
        """The current turn."""
        return self.turn

    async def _ask(self, turn: Turn) -> Reply:
        self.turn = turn.number
        reply = await workflow.execute_activity_method(
            LibraryActivities.ask_model,
            turn,
            activity_id=f"{turn.number:04}.{work.AGENT}",
            summary=f"library/{work.AGENT}",
            start_to_close_timeout=timedelta(seconds=work.TIMEOUT_SECONDS),
            heartbeat_timeout=_HEARTBEAT,
            retry_policy=_RETRIES,
        )
        self.usage = Usage(
            input_tokens=self.usage.input_tokens + reply.usage.input_tokens,
            output_tokens=self.usage.output_tokens + reply.usage.output_tokens,
        )
        return reply

    async def _call(self, call: ToolCall, place: int) -> ToolResult:
        """Make one call; a failure is a result that the model reads."""
        try:
            wanted = Wanted.model_validate_json(call.arguments)
        except ValueError as problem:
            return ToolResult(call=call.id, text=f"invalid arguments: {problem}", failed=True)
        if call.tool not in (work.PAGE, work.ENTRY):
            return ToolResult(call=call.id, text=f"no tool {call.tool!r}", failed=True)
        try:
            text = await workflow.execute_activity(
                call.tool,
                wanted,
                result_type=str,
                activity_id=f"{self.turn:04}.{work.AGENT}.{place}",
                summary=f"library/{work.AGENT}: {call.tool}",
                start_to_close_timeout=timedelta(seconds=work.TOOL_TIMEOUT_SECONDS),
                heartbeat_timeout=_HEARTBEAT,
                retry_policy=_RETRIES,
            )
        except ActivityError as error:
            return ToolResult(call=call.id, text=str(error.cause), failed=True)
        return ToolResult(call=call.id, text=text)
