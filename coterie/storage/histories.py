"""Read histories and put their externally stored values back in place."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote

from google.protobuf.json_format import ParseError
from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory
from temporalio.converter import DataConverter

from coterie.activities.storage.blobs import BlobMissing, BlobsUnusable
from coterie.failures import CommandError
from coterie.settings import Settings
from coterie.storage.large_values import storage_of

WORKFLOW = "TeamWorkflow"
_REFERENCE = b"ExternalStorageReference"
"""Marks a payload that refers to a stored value."""


async def history_in(file: Path, settings: Settings) -> WorkflowHistory:
    """Read a history from a JSON file, with all its values.

    Raises:
        CommandError: It is not a history, or some values are not in the storage.
    """
    return await whole(read_history(file), storage_of(settings).converter)


def read_history(file: Path) -> WorkflowHistory:
    """Read a history from a JSON file, as `temporal workflow show -o json` and the UI write it.

    Raises:
        CommandError: It is not a history.
    """
    history: WorkflowHistory | None = None
    wrong: str | None = "it has another form"
    try:
        text = file.read_text(encoding="utf-8")
        history = WorkflowHistory.from_json(file.stem, json.loads(text))
        wrong = _unsound(history.events)
    except OSError as error:
        raise CommandError(f"could not read {file}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, ParseError, RecursionError):
        pass
    if history is None or wrong is not None:
        raise CommandError(
            f"{file} is not the history of a run: {wrong}; create one with "
            f"`temporal workflow show -w {quote(file.stem)} -o json`"
        )
    # The inputs of calls contain the run's id, so a replay must know it.
    workflow_id = history.events[0].workflow_execution_started_event_attributes.workflow_id
    return WorkflowHistory(workflow_id or file.stem, history.events)


def _unsound(events: Sequence[HistoryEvent]) -> str | None:
    """Explain why the SDK, whose errors do not, cannot replay these events; or return None."""
    if not events:
        return "it has no events"
    began = events[0]
    if began.event_type != EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
        return "it does not start with the start of a workflow"
    attributes = began.workflow_execution_started_event_attributes
    if attributes.workflow_type.name != WORKFLOW:
        return f"it is of the workflow {attributes.workflow_type.name!r}, not of {WORKFLOW}"
    if len(attributes.input.payloads) != 1:
        return "its start has no input"
    for number, event in enumerate(events, 1):
        if event.event_id != number:
            return f"event {number} is missing or out of order"
        if event.event_type == EventType.EVENT_TYPE_UNSPECIFIED:
            return f"event {number} has no type"
    return None


async def whole(history: WorkflowHistory, converter: DataConverter) -> WorkflowHistory:
    """Put stored values back into the history, in place.

    Raises:
        CommandError: They are not in the storage of this worker, or it has none.
    """
    for event in history.events:
        if _REFERENCE not in event.SerializeToString():
            continue
        for payload in _references(event):
            payload.CopyFrom(await _load_payload(history, event.event_id, payload, converter))
    return history


async def _load_payload(
    history: WorkflowHistory, event: int, payload: Payload, converter: DataConverter
) -> Payload:
    run = history.workflow_id
    # The SDK has no public function for one payload; its own replayer calls these two.
    [restored] = await converter._decode_reference_payload_sequence([payload])  # pyright: ignore[reportPrivateUsage]
    if restored is not payload:
        return restored  # it only imitated a reference, and the run rejected it
    storage = converter.external_storage
    if storage is None:
        raise CommandError(
            f"event {event} of {run} refers to a stored value, but no storage is configured "
            "here; set COTERIE_STORAGE to the storage of its workers"
        )
    try:
        payloads = await converter._external_retrieve_payload_sequence([payload])  # pyright: ignore[reportPrivateUsage]
    except (BlobMissing, BlobsUnusable, RuntimeError) as error:
        raise CommandError(f"could not read event {event} of {run}: {error}") from None
    except ValueError as error:
        raise CommandError(
            f"event {event} of {run} refers to a value in another storage ({error}); set "
            "COTERIE_STORAGE to the storage of its workers"
        ) from None
    return payloads[0]


def _references(message: Message) -> Iterator[Payload]:
    """Yield every reference in a message, at any depth."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            inner = field.message_type.fields_by_name["value"]
            parts = value.values() if inner.message_type is not None else ()
        else:
            parts = (value,) if isinstance(value, Message) else value
        for part in parts:
            if isinstance(part, Payload):
                if _REFERENCE in part.metadata.get("messageType", b""):
                    yield part
            else:
                yield from _references(part)
