"""Call a remote agent by the A2A protocol: send a message, then ask for its task until it ends.

The message has the key of the call as its id, so an agent that knows it again works once. The id of
the task goes into the history before anybody waits for it; so after a crash the run asks for the
task, and sends nothing again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import monotonic
from typing import NoReturn, Protocol

from pydantic import JsonValue

from coterie.activities.attempts import is_unwanted
from coterie.activities.contracts import FailureType
from coterie.activities.tool_functions.apis.agent_wire import (
    AgentMethod,
    AgentTask,
    InexactNumberError,
    RemoteAgentError,
    agent_request,
    message_params,
    sent_answer,
    task_answer,
)
from coterie.activities.tool_functions.apis.api_answers import check_status
from coterie.activities.tool_functions.apis.api_calls import send
from coterie.activities.workspace.function_base import FunctionContext
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.activities.workspace.web_access import WebAccess
from coterie.dsl.apis.request_building import BuiltRequest
from coterie.dsl.exact_numbers import inexact_path
from coterie.dsl.json_values import json_digest
from coterie.dsl.model.sections.api_document import AgentBinding, ApiSection
from coterie.dsl.model.tools.asked_input import AskedForm, AskedInput, ServerTask
from coterie.dsl.values import MAX_CALL_SECONDS, Json

_POLLED_SHARE = 0.8
_MAX_POLLED_SECONDS = 240.0
_POLL_SECONDS = 2.0
_MAX_SILENT = 30
_CANCEL_SECONDS = 10.0
_ANSWER = "answer"
_FORM: Json = {
    "type": "object",
    "properties": {_ANSWER: {"type": "string", "minLength": 1, "maxLength": 20_000}},
    "required": [_ANSWER],
    "additionalProperties": False,
}


class AgentAccess(Protocol):
    """Where an agent is, and what proves who calls."""

    @property
    def section(self) -> ApiSection:
        """Its configuration."""
        ...

    @property
    def access(self) -> WebAccess:
        """Which private hosts the worker may reach."""
        ...

    def proven(self, request: BuiltRequest) -> BuiltRequest:
        """Return a request with what shows who calls."""
        ...

    def without_secrets(self, text: str) -> str:
        """Return an answer without the secrets of its request."""
        ...


class RemoteAgent:
    """One call of a remote agent."""

    def __init__(
        self, api: AgentAccess, name: str, context: FunctionContext, seconds: float
    ) -> None:
        """Take the agent, and the call.

        Args:
            api: Where it is, and what proves who calls.
            name: Of the tool, for people.
            context: Of the call.
            seconds: Time limit of one attempt.
        """
        assert api.section.agent is not None, "only agents are called like this"
        self._api = api
        self._binding: AgentBinding = api.section.agent
        self._name = name
        self._context = context
        self._seconds = min(seconds, MAX_CALL_SECONDS)

    async def call(self, given: Json) -> JsonValue:
        """Return the result of the agent.

        Raises:
            FunctionRefusal: The input does not fit, the agent works on, or it asks a person.
            FunctionFailure: It failed, or does not answer.
        """
        reply = self._context.given_input
        task = None if reply is None else reply.asked.task
        if reply is None or task is None:
            return await self._begin(given)
        if task.unwanted:
            await self._cancel(task)
            return None
        try:
            answer = reply.answers.get(_ANSWER)
            if answer is not None:
                await self._answer(task, reply.asked.state or "", str(answer.get(_ANSWER, "")))
            return await self._follow(task, reply.asked.state or "")
        except asyncio.CancelledError:
            if is_unwanted():
                await asyncio.shield(self._cancel(task))
            raise

    async def _begin(self, given: Json) -> JsonValue:
        params = message_params(self._context.key, _parts(given, self._name))
        text = await self._ask("SendMessage", params, self._seconds, self._context.effect.begin)
        try:
            sent = sent_answer(self._binding, text)
        except RemoteAgentError as error:
            raise FunctionFailure(f"{self._name}: {error}") from None
        except InexactNumberError as error:
            raise FunctionFailure(f"{self._name}: {error}", happened="yes") from None
        if sent.task is None:
            return sent.result
        if not sent.task.is_usable:
            raise FunctionFailure(f"{self._name}: the id of its task cannot be kept")
        return self._outcome(sent.task, "") or self._continue(ServerTask(id=sent.task.id), "")

    async def _answer(self, task: ServerTask, state: str, text: str) -> None:
        """Send what a person answered; sent again, it has the same id."""
        id = json_digest(self._context.key, task.id, state)
        params = message_params(id, [{"text": text}], task.id, state)
        await self._ask("SendMessage", params, min(self._seconds, 60.0), _nothing)

    async def _follow(self, task: ServerTask, seen: str) -> JsonValue:
        """Ask for a task until it has ended, asks something, or the time is over."""
        until = monotonic() + min(self._seconds * _POLLED_SHARE, _MAX_POLLED_SECONDS)
        while True:
            try:
                text = await self._ask("GetTask", {"id": task.id}, 30.0, _nothing)
                current = task_answer(self._binding, text)
                task = ServerTask(id=task.id)
            except FunctionFailure as failure:
                if not failure.may_pass or task.silent >= _MAX_SILENT:
                    raise
                task = task.model_copy(update={"silent": task.silent + 1})
            except (RemoteAgentError, FunctionRefusal) as error:
                raise FunctionFailure(f"{self._name}: {error}") from None
            else:
                result = self._outcome(current, seen)
                if result is not None:
                    return result
            if monotonic() + _POLL_SECONDS >= until:
                self._continue(task, seen)
            await asyncio.sleep(_POLL_SECONDS)

    def _outcome(self, task: AgentTask, seen: str) -> JsonValue:
        """Return the result of a task that has completed; None while it works.

        Args:
            task: As the agent reports it.
            seen: The status that a person has answered: the agent may not have seen the answer.
        """
        match task.status.state:
            case "TASK_STATE_COMPLETED":
                try:
                    return task.result()
                except InexactNumberError as error:
                    raise FunctionFailure(f"{self._name}: {error}", happened="yes") from None
            case "TASK_STATE_INPUT_REQUIRED" if task.moment != seen:
                words = task.words or "the agent asks for an answer"
                question = AskedForm(message=words, form=_FORM)
                raise FunctionRefusal(
                    f"{self._name} asks: {words}",
                    FailureType.INPUT_REQUIRED,
                    AskedInput(
                        questions={_ANSWER: question},
                        state=task.moment,
                        task=ServerTask(id=task.id, poll_seconds=_POLL_SECONDS),
                    ),
                )
            case "TASK_STATE_SUBMITTED" | "TASK_STATE_WORKING" | "TASK_STATE_INPUT_REQUIRED":
                return None
            case other:
                state = other.removeprefix("TASK_STATE_").lower().replace("_", " ")[:40]
                raise FunctionFailure(f"{self._name}: its task is {state}. {task.words}".rstrip())

    def _continue(self, task: ServerTask, seen: str) -> NoReturn:
        raise FunctionRefusal(
            f"{self._name} works on its task",
            FailureType.INPUT_REQUIRED,
            AskedInput(task=task, state=seen or None),
        )

    async def _cancel(self, task: ServerTask) -> None:
        """Ask the agent to end a task, and ignore its answer."""
        with suppress(FunctionFailure, FunctionRefusal):
            await self._ask("CancelTask", {"id": task.id}, _CANCEL_SECONDS, _nothing)

    async def _ask(
        self,
        method: AgentMethod,
        params: Json,
        seconds: float,
        begin: Callable[[], Awaitable[None]],
    ) -> str:
        """Return the text of an answer; raises like `send`."""
        section = self._api.section
        request = agent_request(section.server, self._binding, method, params)
        proven = self._api.proven(request)
        answer = await send(proven, self._api.access, self._name, seconds, begin)
        text = self._api.without_secrets(answer.text)
        check_status(self._name, answer._replace(text=text))
        return text


def _parts(given: Json, name: str) -> list[Json]:
    """Return the parts of a message; raises FunctionRefusal if a number would change on its way."""
    text, data = given.get("text"), given.get("data")
    parts: list[Json] = []
    if isinstance(text, str):
        parts.append({"text": text, "mediaType": "text/plain"})
    if data is not None:
        path = inexact_path(data)
        if path is not None:
            raise FunctionRefusal(
                f"{name}: `data.{path}` is beyond 2**53 - 1, or too deep: A2A makes floats of "
                "numbers; write it as a text"
            )
        parts.append({"data": data, "mediaType": "application/json"})
    if not parts:
        raise FunctionRefusal(f"{name} needs `text` or `data`")
    return parts


async def _nothing() -> None:
    """Do nothing: to ask for a task has no effect."""
