"""What a delivery would do, as text: the values that `when` saw, the run, its context."""

import json
from collections.abc import Mapping
from hashlib import sha256

from coterie.dsl.evaluate.webhook_events import (
    DeliveryEffect,
    Ignored,
    RunSignal,
    RunStart,
    WebhookEvent,
    delivered_event,
)
from coterie.dsl.model.sections.webhook_trigger import WebhookSection
from coterie.dsl.paths import MISSING, path_text
from coterie.dsl.templates.jsonable import brief, found_at
from coterie.dsl.templates.template import parse
from coterie.dsl.values import Json, JsonValue
from coterie.dsl.visible import visible
from coterie.text.columns import aligned

SAMPLE_EVENT = "EVENT"
"""Names an event of which nothing is known."""
_ID_HEADERS = {"standard-webhooks": "webhook-id", "github": "x-github-delivery"}


def sample_event(section: WebhookSection, headers: Mapping[str, str], body: bytes) -> WebhookEvent:
    """Return a delivery as a person describes it, without a signature and a time.

    Raises:
        ValueError: The body is not JSON, or nothing names the event.
    """
    match section.verify:
        case "hmac":
            id = sha256(body).hexdigest()
        case "stripe":
            id = ""
        case _:
            id = headers.get(_ID_HEADERS[section.verify], SAMPLE_EVENT)
    return delivered_event(section, headers, body, id, None)


def effect_json(effect: DeliveryEffect) -> Json:
    """Return an effect as JSON."""
    match effect:
        case Ignored():
            return {"effect": "ignored"}
        case RunStart(run=run, context=context):
            return {"effect": "start", "run": run, "context": context}
        case RunSignal():
            shown: Json = {
                "effect": "signal",
                "run": effect.run,
                "signal": effect.signal,
                "payload": effect.payload,
            }
            return shown if effect.context is None else {**shown, "context": effect.context}


def delivery_text(
    team: str, trigger: str, section: WebhookSection, event: WebhookEvent, effect: DeliveryEffect
) -> str:
    """Return a delivery and its effect as lines."""
    rows = [
        ("address", f"POST /hooks/{team}/{trigger}, signed by {section.verify}"),
        ("event", f"{event.id} {event.type}".rstrip()),
    ]
    if section.when is not None:
        rows.append(("when", "false" if isinstance(effect, Ignored) else "true"))
        rows += [("", f"{path} = {value}") for path, value in _values_seen(section.when, event)]
    match effect:
        case Ignored():
            rows.append(("effect", "none"))
        case RunStart(run=run, context=context):
            rows += [("starts", run), ("context", _json(context))]
        case RunSignal():
            rows += [("signals", f"{effect.run} with {effect.signal!r}")]
            rows += [("payload", _json(effect.payload))]
            if effect.context is not None:
                rows += [
                    ("starts", "the run, if there is none"),
                    ("context", _json(effect.context)),
                ]
    return "\n".join(visible(line) for line in aligned(rows))


def _values_seen(when: str, event: WebhookEvent) -> list[tuple[str, str]]:
    """Return the values at the paths that an expression names."""
    names = event.names()
    values = ((path, found_at(names, path)) for path in parse(when).paths)
    return [
        (path_text(path), "nothing" if value is MISSING else brief(value)) for path, value in values
    ]


def _json(value: JsonValue) -> str:
    return visible(json.dumps(value, ensure_ascii=False))
