"""Which runs are sessions, and what form a message to each of them has."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from secrets import token_hex
from typing import Literal

from pydantic import JsonValue

from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.gateway.console.fields.form_fields import FormField
from coterie.gateway.console.fields.schema_forms import start_form, value_form
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.sessions.message_inputs import message_schemas
from coterie.runs.histories.recorded_plans import plan_of_run

_MAX_KEPT = 2_000


@dataclass(frozen=True, slots=True)
class MessageForm:
    """What a person types to send a message."""

    kind: Literal["text", "fields"]
    schema: Json = field(default_factory=dict[str, JsonValue])
    """Of a message that is not a text."""
    schemas: tuple[Json, ...] = field(default=(), compare=False)
    """Of all messages that the session waits for."""


NO_SESSION = "no session"
SessionKind = MessageForm | Literal["no session"]
TEXT = MessageForm("text")


class SessionForms:
    """The forms of messages by runs; a plan never changes, so it is read once."""

    def __init__(self, access: RunAccess) -> None:
        """Take the runs."""
        self._access = access
        self._kept: OrderedDict[tuple[str, str], SessionKind] = OrderedDict()

    async def of(self, found: FoundRun) -> SessionKind | None:
        """Return the form of a message to a run; None if the run has no plan yet."""
        key = (found.run.id, found.description.run_id)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        plan = await plan_of_run(self._access.client, *key)
        if plan is None:
            return None
        self._kept[key] = kind = kind_of(plan)
        while len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)
        return kind


def kind_of(plan: Plan) -> SessionKind:
    """Return the form of a message to a run of a plan, or that it takes none."""
    schemas = message_schemas(plan)
    if not schemas:
        return NO_SESSION
    schema = schemas[0] if all(schema == schemas[0] for schema in schemas) else {}
    kind = schema.get("type")
    if schema.get("properties") or (isinstance(kind, str) and kind != "string"):
        return MessageForm("fields", schema, schemas)
    return MessageForm("text", schemas=schemas)


def fields_of(form: MessageForm, counts: Mapping[str, int]) -> tuple[FormField, ...]:
    """Return the fields of a message that is not a text.

    Args:
        form: Of the session.
        counts: Items of the lists in it, as far as a person has added some.
    """
    if form.kind == "text":
        return ()
    if form.schema.get("properties"):
        return start_form(form.schema, counts, files=False)
    return tuple(replace(one, label="Message") for one in value_form(form.schema, counts))


def text_message(typed: str) -> str:
    """Return the text that a person sends.

    Raises:
        Rejection: There is none.
    """
    text = typed.replace("\r\n", "\n").strip()
    if not text:
        raise Rejection(422, "invalid", "the message is empty", "Write something, then send it.")
    return text


def new_nonce() -> str:
    """Return what marks one form: sent twice, it sends one message."""
    return token_hex(8)


def message_id(nonce: str, message: str) -> str:
    """Return the id of a message: another text in the same form is another message."""
    return f"{nonce[:64]}-{sha256(message.encode()).hexdigest()[:16]}"
