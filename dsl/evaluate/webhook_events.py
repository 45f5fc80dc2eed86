"""What a delivery of a webhook does: nothing, a start, or a signal. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final
from urllib.parse import parse_qsl

from coterie.dsl.errors import TemplateFailed
from coterie.dsl.model.evaluation_budget import EvaluationMeter, Names
from coterie.dsl.model.sections.webhook_trigger import WebhookSection, WebhookSignal
from coterie.dsl.reserved_ids import RUN_PREFIX
from coterie.dsl.strict_json import read_json
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.values import Json, JsonValue

FORM: Final = "application/x-www-form-urlencoded"
_PLAIN_EVENT = re.compile(r"[A-Za-z0-9._:=-]{1,200}\Z")
_MAX_TYPE: Final = 200
_PROOFS: Final = frozenset(
    (
        *("authorization", "proxy-authorization", "cookie"),
        *("webhook-signature", "svix-signature", "stripe-signature"),
        *("x-hub-signature", "x-hub-signature-256"),
    )
)
"""Headers that no template reads, because they prove who sends."""


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """A delivery as the templates of its webhook see it."""

    id: str
    """As the sender names it."""
    time: float | None
    """As signed, in seconds since the epoch."""
    payload: JsonValue
    headers: Mapping[str, str]
    """By their names in lower case, without secrets and signatures."""

    @property
    def type(self) -> str:
        """Its type, where senders write it."""
        of_payload = self.payload.get("type") if isinstance(self.payload, dict) else None
        written = self.headers.get("x-github-event", of_payload)
        return written[:_MAX_TYPE] if isinstance(written, str) else ""

    def names(self) -> Names:
        """Return the names of its templates; all renderings with them share one budget."""
        time = None if self.time is None else datetime.fromtimestamp(self.time, UTC)
        event = {
            "id": self.id,
            "type": self.type,
            "time": None if time is None else time.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        roots: dict[str, object] = {"payload": self.payload, "event": event}
        return Names({**roots, "headers": dict(self.headers)}, EvaluationMeter())


def delivered_event(
    section: WebhookSection, headers: Mapping[str, str], body: bytes, id: str, time: float | None
) -> WebhookEvent:
    """Return a delivery as its webhook sees it.

    Args:
        section: The webhook.
        headers: By their names in lower case.
        body: As received.
        id: As the sender names the event; empty where only the payload names it.
        time: As signed.

    Raises:
        ValueError: The body is neither JSON nor a form, or nothing names the event.
    """
    payload = _form_payload(body) if is_form(headers) else read_json(body)
    if not id and isinstance(payload, dict):
        written = payload.get("id")
        id = written if isinstance(written, str) else ""
    if not id and section.event_id is None:
        raise ValueError("it has no `id`, which names the event")
    own = None if section.hmac is None else section.hmac.header.lower()
    seen = {name: value for name, value in headers.items() if name not in _PROOFS and name != own}
    return WebhookEvent(id, time, payload, seen)


def is_form(headers: Mapping[str, str]) -> bool:
    """Return whether a delivery says that it is a form; else it is JSON."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() == FORM


def _form_payload(body: bytes) -> JsonValue:
    """Return the JSON in the field `payload`, if a form has only that; else its texts by names."""
    text = body.decode()
    fields = parse_qsl(
        text, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=1_000
    )
    payload = dict(fields)
    if len(payload) < len(fields):
        raise ValueError("the form has a field twice")
    if list(payload) == ["payload"]:
        return read_json(payload["payload"])
    return {**payload}


@dataclass(frozen=True, slots=True)
class Ignored:
    """The delivery does nothing: `when` does not hold."""


@dataclass(frozen=True, slots=True)
class RunStart:
    """The delivery starts a run."""

    run: str
    context: Json


@dataclass(frozen=True, slots=True)
class RunSignal:
    """The delivery signals a run."""

    run: str
    signal: str
    payload: JsonValue
    event: str
    """What names the event, for this trigger."""
    context: Json | None
    """With which the run starts, if there is none; None: it does not start."""


DeliveryEffect = Ignored | RunStart | RunSignal


def effect_of(
    section: WebhookSection, team: str, trigger: str, event: WebhookEvent
) -> DeliveryEffect:
    """Return what a verified delivery does; all its templates share one budget.

    Args:
        section: The webhook.
        team: Its team.
        trigger: Its name.
        event: The delivery.

    Raises:
        TemplateFailed: A template has no value, or one of the wrong kind.
        EvaluationLimitExceeded: The templates need more than one evaluation may take.
    """
    names = event.names()
    if section.when is not None and not fill(section.when, names):
        return Ignored()
    written = event.id if section.event_id is None else _text("event_id", section.event_id, names)
    named = "/".join((RUN_PREFIX, team, trigger, _safe_event(written)))
    if section.signal is None:
        return RunStart(named, _context(section, names))
    return _signal(section, section.signal, named, names)


def _signal(section: WebhookSection, signal: WebhookSignal, event: str, names: Names) -> RunSignal:
    return RunSignal(
        run=_text("signal.run", signal.run, names),
        signal=signal.name,
        payload=fill(signal.payload, names),
        event=event,
        context=_context(section, names) if signal.start else None,
    )


def _context(section: WebhookSection, names: Names) -> Json:
    context = fill(section.context, names)
    assert isinstance(context, dict)
    return context


def _text(key: str, template: str, names: Names) -> str:
    """Return a template's value as a text; numbers count, and nothing else does."""
    value = fill(template, names)
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise TemplateFailed(f"`{key}` must give a text or a whole number that is not empty")
    return str(value)


def _safe_event(event: str) -> str:
    """Return what names an event in the id of a run."""
    if _PLAIN_EVENT.match(event):
        return event
    return f"sha256:{sha256(event.encode()).hexdigest()}"
