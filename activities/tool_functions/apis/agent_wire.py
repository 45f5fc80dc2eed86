"""What remote agents say, by the A2A protocol: its two bindings as requests and answers. Pure.

The requests go through the worker's own HTTP client, which checks addresses; so this needs no SDK.
"""

import json
from typing import Literal, NamedTuple
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic.alias_generators import to_camel

from coterie.dsl.apis.request_building import BuiltRequest
from coterie.dsl.exact_numbers import inexact_path, restored
from coterie.dsl.model.sections.api_document import AgentBinding
from coterie.dsl.strict_json import read_json
from coterie.dsl.values import Json
from coterie.dsl.visible import shortened_text, visible

_HEADERS = {"Content-Type": "application/json", "A2A-Version": "1.0"}
_JSON = "application/json"
_MAX_ID = 500
_MAX_TEXT = 2_000
_NOT_FOUND = -32001
"""The code of a task that the agent does not know, in JSON-RPC."""

AgentMethod = Literal["SendMessage", "GetTask", "CancelTask"]


class RemoteAgentError(Exception):
    """The agent answered with an error, or with something else than the protocol has."""

    def __init__(self, message: str, *, is_forgotten: bool = False) -> None:
        self.is_forgotten = is_forgotten
        super().__init__(message)


class InexactNumberError(Exception):
    """A number in a result may be another one than the agent has sent."""


class _Wire(BaseModel):
    model_config = ConfigDict(extra="ignore", alias_generator=to_camel, populate_by_name=True)


class _Part(_Wire):
    text: str | None = None
    data: JsonValue = None
    media_type: str = ""


class _Message(_Wire):
    message_id: str = ""
    parts: list[_Part] = Field(default_factory=list[_Part])


class _Status(_Wire):
    state: str
    message: _Message | None = None
    timestamp: str = ""


class _Artifact(_Wire):
    artifact_id: str = ""
    name: str = ""
    parts: list[_Part] = Field(default_factory=list[_Part])


class AgentTask(_Wire):
    """A task, as an agent reports it."""

    id: str
    status: _Status
    artifacts: list[_Artifact] = Field(default_factory=list[_Artifact])

    @property
    def words(self) -> str:
        """What its status says, shortened and without control characters."""
        parts = [] if self.status.message is None else self.status.message.parts
        text = "\n".join(part.text for part in parts if part.text)
        return shortened_text(visible(text), _MAX_TEXT)

    @property
    def moment(self) -> str:
        """What tells this status from the next one."""
        message = "" if self.status.message is None else self.status.message.message_id
        return f"{message} {self.status.timestamp}"

    @property
    def is_usable(self) -> bool:
        """Whether its id can be kept and shown."""
        return 0 < len(self.id) <= _MAX_ID and visible(self.id) == self.id

    def result(self) -> Json:
        """Return the texts and values of its artifacts; without any, those of its status.

        Raises:
            InexactNumberError: A number may be another one than the agent has sent.
        """
        groups = [artifact.parts for artifact in self.artifacts]
        if not groups and self.status.message is not None:
            groups = [self.status.message.parts]
        return _result_of(groups, self.id)


class RemoteAnswer(NamedTuple):
    """The answer to a message: a task, or a result at once."""

    task: AgentTask | None
    result: Json


class _Sent(_Wire):
    task: AgentTask | None = None
    message: _Message | None = None


def agent_request(
    address: str, binding: AgentBinding, method: AgentMethod, params: Json
) -> BuiltRequest:
    """Return the request of a method.

    Args:
        address: Of the agent.
        binding: Which form it takes.
        method: What is asked.
        params: As the protocol has them; of a task, its id.
    """
    if binding == "jsonrpc":
        call: Json = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return BuiltRequest("POST", address, dict(_HEADERS), json.dumps(call).encode())
    base = address.rstrip("/")
    task = quote(str(params.get("id", "")), safe="")
    match method:
        case "SendMessage":
            content = json.dumps(params).encode()
            return BuiltRequest("POST", f"{base}/message:send", dict(_HEADERS), content)
        case "GetTask":
            return BuiltRequest("GET", f"{base}/tasks/{task}", dict(_HEADERS), None)
        case "CancelTask":
            return BuiltRequest("POST", f"{base}/tasks/{task}:cancel", dict(_HEADERS), b"{}")


def message_params(id: str, parts: list[Json], task: str = "", seen: str = "") -> Json:
    """Return the parameters of `SendMessage`, which does not wait for the task.

    Args:
        id: Of the message.
        parts: What it says.
        task: The task that it continues.
        seen: The moment of the status that it answers: an agent may ask something else meanwhile.
    """
    listed: list[JsonValue] = [*parts]
    message: Json = {"messageId": id, "role": "ROLE_USER", "parts": listed}
    if task:
        message["taskId"] = task
    status = seen.rpartition(" ")[0]
    if status:
        message["metadata"] = {"in_reply_to": status}
    return {"message": message, "configuration": {"returnImmediately": True}}


def sent_answer(binding: AgentBinding, text: str) -> RemoteAnswer:
    """Read the answer to a message.

    Raises:
        RemoteAgentError: It is an error, or something else.
        InexactNumberError: A number may be another one than the agent has sent.
    """
    try:
        sent = _Sent.model_validate(_content(binding, text))
    except ValidationError:
        raise RemoteAgentError("its answer is not one of A2A 1.0") from None
    if sent.task is not None:
        return RemoteAnswer(sent.task, {})
    if sent.message is None:
        raise RemoteAgentError("its answer has neither a task nor a message")
    return RemoteAnswer(None, _result_of([sent.message.parts], ""))


def task_answer(binding: AgentBinding, text: str) -> AgentTask:
    """Read the answer about a task; raises RemoteAgentError."""
    try:
        return AgentTask.model_validate(_content(binding, text))
    except ValidationError:
        raise RemoteAgentError("its answer is not one of A2A 1.0") from None


def _content(binding: AgentBinding, text: str) -> JsonValue:
    try:
        answer = read_json(text)
    except ValueError as error:
        raise RemoteAgentError(f"its answer cannot be read: {error}") from None
    if binding == "http+json":
        return answer
    if not isinstance(answer, dict):
        raise RemoteAgentError("its answer is not one of JSON-RPC")
    error = answer.get("error")
    if isinstance(error, dict):
        said = shortened_text(visible(str(error.get("message", ""))), _MAX_TEXT)
        raise RemoteAgentError(f"it answered: {said}", is_forgotten=error.get("code") == _NOT_FOUND)
    return answer.get("result")


def _result_of(groups: list[list[_Part]], task: str) -> Json:
    texts: list[str] = []
    values: list[JsonValue] = []
    for parts in groups:
        pieces: list[str] = []
        for part in parts:
            if part.text is not None and part.media_type.partition(";")[0].strip() == _JSON:
                values.append(_exact_value(part.text))
            elif part.text is not None:
                pieces.append(part.text)
            elif part.data is not None:
                values.append(_read_value(part.data))
        if pieces:
            texts.append("".join(pieces))  # chunks of one artifact
    result: Json = {"text": "\n\n".join(texts), "data": values}
    return {**result, "task": task} if task else result


def _exact_value(text: str) -> JsonValue:
    try:
        return read_json(text)
    except ValueError:
        return text


def _read_value(value: JsonValue) -> JsonValue:
    path = inexact_path(value)
    if path is not None:
        raise InexactNumberError(
            f"{path} of its result is beyond 2**53 - 1, or too deep: a data part of A2A may have "
            "changed it"
        )
    return restored(value)
