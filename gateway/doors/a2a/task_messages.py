"""Tasks, artifacts and messages as protobuf, which the SDK sends and receives."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import cast

from a2a.types import (
    Artifact,
    Message,
    Part,
    Role,
    Task,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp
from pydantic import JsonValue

from coterie.dsl.exact_numbers import inexact_path, is_exact, restored
from coterie.dsl.strict_json import read_json, unsound_part
from coterie.dsl.values import Json
from coterie.gateway.doors.a2a.message_contents import MessageContent
from coterie.gateway.doors.a2a.run_readings import StepOutput
from coterie.gateway.doors.a2a.task_views import RESULT, TaskView
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.run_access import FoundRun

JSON = "application/json"
TEXT = "text/plain"
_MAX_PARTS = 100
_MAX_ID = 256
_STATES = {
    "submitted": TaskState.TASK_STATE_SUBMITTED,
    "working": TaskState.TASK_STATE_WORKING,
    "input_required": TaskState.TASK_STATE_INPUT_REQUIRED,
    "completed": TaskState.TASK_STATE_COMPLETED,
    "failed": TaskState.TASK_STATE_FAILED,
    "canceled": TaskState.TASK_STATE_CANCELED,
    "rejected": TaskState.TASK_STATE_REJECTED,
}


def task_message(view: TaskView, *, artifacts: bool = True) -> Task:
    """Return a task as it is, with everything that its steps have returned."""
    task = Task(id=view.id, context_id=view.context, status=status_message(view))
    if artifacts:
        task.artifacts.extend(artifact_message(output) for output in outputs_of(view))
    if view.reading.left_out:
        task.metadata.update({"earlier_artifacts_left_out": view.reading.left_out})
    return task


def outputs_of(view: TaskView) -> Sequence[StepOutput]:
    """Return what becomes artifacts, oldest first; the result is the last one."""
    return (*view.reading.outputs, *view.result)


def status_message(view: TaskView) -> TaskStatus:
    """Return the state of a task, with what it says."""
    status = TaskStatus(state=_STATES[view.state], timestamp=_timestamp(view.at))
    parts = [*([_text_part(view.text)] if view.text else ())]
    if view.data is not None:
        parts.append(part_of(view.data))
    if parts:
        status.message.CopyFrom(
            Message(
                message_id=view.message_id,
                context_id=view.context,
                task_id=view.id,
                role=Role.ROLE_AGENT,
                parts=parts,
            )
        )
    return status


def status_event(view: TaskView) -> TaskStatusUpdateEvent:
    """Return the event of a new state."""
    status = status_message(view)
    return TaskStatusUpdateEvent(task_id=view.id, context_id=view.context, status=status)


def artifact_message(output: StepOutput) -> Artifact:
    """Return an output as an artifact with one part."""
    text = text_of_output(output)
    part = part_of(output.value) if text is None else part_of(text)
    artifact = Artifact(artifact_id=output.id, parts=[part])
    artifact.name = output.step or "reply"
    if output.id != RESULT:
        artifact.metadata.CopyFrom(_struct({"visit": output.visit}))
    return artifact


def text_of_output(output: StepOutput) -> str | None:
    """Return the text that an output is; None if it is other data."""
    match output.value:
        case str() as text:
            return text
        case {"text": str(text), **rest} if not rest and output.id != RESULT:
            return text
        case _:
            return None


def part_of(value: JsonValue) -> Part:
    """Return a value as a part; as JSON in a text where a data part would change its numbers."""
    if isinstance(value, str):
        return _text_part(value)
    if not is_exact(value):
        return Part(
            text=json.dumps(value, ensure_ascii=False),
            media_type=JSON,
            metadata=_struct({"exact": True}),
        )
    return Part(data=ParseDict(cast("Json", value), Value()), media_type=JSON)


def content_of(message: Message) -> MessageContent:
    """Read what a client sent.

    Raises:
        Rejection: A part is a file or an address, is not JSON, or has an integer that was changed.
    """
    if len(message.parts) > _MAX_PARTS:
        raise Rejection(422, "invalid", f"the message has more than {_MAX_PARTS} parts")
    texts: list[str] = []
    values: list[JsonValue] = []
    for number, part in enumerate(message.parts, 1):
        match part.WhichOneof("content"):
            case "text" if part.media_type.partition(";")[0].strip() == JSON:
                values.append(_read_json(part.text, number))
            case "text":
                texts.append(part.text)
            case "data":
                values.append(_read_data(part, number))
            case kind:
                raise Rejection(
                    415,
                    "unsupported_part",
                    f"part {number} is {kind or 'empty'}; teams take texts and data",
                    "Send texts, or data parts.",
                )
    if not texts and not values:
        raise Rejection(422, "invalid", "the message has no parts", "Send a text or a data part.")
    return MessageContent(tuple(texts), tuple(values))


def metadata_of(message: Message) -> JsonValue:
    """Return the metadata of a message, with whole numbers as integers."""
    found: JsonValue = MessageToDict(message.metadata)
    return restored(found)


def _read_json(text: str, number: int) -> JsonValue:
    try:
        return read_json(text)
    except ValueError as error:
        raise Rejection(422, "invalid", f"part {number} is not JSON: {error}") from None


def _read_data(part: Part, number: int) -> JsonValue:
    value: JsonValue = MessageToDict(part.data)  # pyright: ignore[reportAssignmentType]
    unsound = unsound_part(value)
    if unsound is not None:
        raise Rejection(422, "invalid", f"in part {number}, {unsound}")
    path = inexact_path(value)
    if path is not None:
        raise Rejection(
            422,
            "inexact_number",
            f"in part {number}, {path} is beyond 2**53 - 1, or too deep for a data part",
            f"Send the value as JSON in a text part with the media type {JSON}.",
        )
    return restored(value)


def _text_part(text: str) -> Part:
    return Part(text=text, media_type=TEXT)


def _struct(value: dict[str, JsonValue]) -> Struct:
    return ParseDict(value, Struct())


def _timestamp(at: datetime) -> Timestamp:
    moment = Timestamp()
    moment.FromDatetime(at)
    return moment


def check_ids(message: Message) -> None:
    """Refuse ids that are too long to keep.

    Raises:
        Rejection: One is.
    """
    for name in ("message_id", "context_id", "task_id"):
        if len(getattr(message, name)) > _MAX_ID:
            raise Rejection(422, "invalid", f"`{name}` has more than {_MAX_ID} characters")


def config_message(found: FoundRun, id: str, url: str) -> TaskPushNotificationConfig:
    """Return a push configuration, without its token."""
    return TaskPushNotificationConfig(id=id, task_id=found.run.id, url=url)
