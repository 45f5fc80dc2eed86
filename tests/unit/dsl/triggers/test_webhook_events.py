"""What a delivery does: a pure function of the webhook and the delivery."""

import pytest

from coterie.dsl.errors import EvaluationLimitExceeded, TemplateFailed
from coterie.dsl.evaluate.webhook_events import (
    DeliveryEffect,
    Ignored,
    RunSignal,
    RunStart,
    WebhookEvent,
    effect_of,
)
from coterie.dsl.model.sections.webhook_trigger import WebhookSection
from coterie.dsl.values import Json, JsonValue

PAYLOAD: Json = {"id": 7, "type": "order.paid", "by": {"name": "{{ headers }}"}, "empty": ""}


def effect(payload: JsonValue = PAYLOAD, id: str = "evt_1", **keys: object) -> DeliveryEffect:
    section = WebhookSection.model_validate(
        {"verify": "stripe", "secret_env": "SECRET", **keys}, strict=True
    )
    event = WebhookEvent(id, 1_700_000_000.0, payload, {"x-kind": "a"})
    return effect_of(section, "shop", "paid", event)


def test_a_delivery_starts_a_run_that_its_event_names() -> None:
    context: Json = {"order": "{{ payload.id }}", "by": {"of": ["{{ payload.by }}"]}, "n": 1}
    assert effect(context=context) == RunStart(
        "hook/shop/paid/evt_1", {"order": 7, "by": {"of": [PAYLOAD["by"]]}, "n": 1}
    )


def test_templates_in_a_payload_stay_data() -> None:
    started = effect(context={"name": "{{ payload.by.name }}"}, event_id="{{ payload.by.name }}")
    assert isinstance(started, RunStart)
    assert started.context == {"name": "{{ headers }}"}
    assert started.run.startswith("hook/shop/paid/sha256:")


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        (
            "{{ payload.id == 7 and event.type == 'order.paid' }}",
            RunStart("hook/shop/paid/evt_1", {}),
        ),
        ("{{ payload.id > 7 }}", Ignored()),
        ("{{ payload.get('none') is not none }}", Ignored()),
        ("{{ headers['x-kind'] == 'a' }}", RunStart("hook/shop/paid/evt_1", {})),
        ("{{ event.time == '2023-11-14T22:13:20Z' }}", RunStart("hook/shop/paid/evt_1", {})),
    ],
)
def test_when_decides_over_the_payload(when: str, expected: DeliveryEffect) -> None:
    assert effect(when=when) == expected


@pytest.mark.parametrize("id", ["a/b", "ü", "a b", "x" * 201, "a\n"])
def test_an_event_with_other_characters_is_named_by_its_digest(id: str) -> None:
    started = effect(id=id)
    assert isinstance(started, RunStart)
    assert started.run.removeprefix("hook/shop/paid/sha256:").isalnum()
    assert started == effect(id=id)
    assert started != effect(id=f"{id}2")


@pytest.mark.parametrize(
    "keys",
    [
        {"event_id": "{{ payload.none }}"},
        {"event_id": "{{ payload.empty }}"},
        {"event_id": "{{ payload.by }}"},
        {"event_id": "{{ payload.id == 7 }}"},
        {"event_id": "{{ none }}"},
        {"context": {"a": "{{ payload.none.none }}"}},
        {"when": "{{ payload.none.none > 1 }}"},
        {"signal": {"run": "{{ payload.empty }}", "name": "paid"}},
    ],
)
def test_what_a_template_cannot_give_is_an_error(keys: dict[str, object]) -> None:
    with pytest.raises(TemplateFailed):
        effect(PAYLOAD, "evt_1", **keys)


def test_all_templates_of_a_delivery_share_one_budget() -> None:
    text = "{{ payload | tojson | length }}"
    payload: JsonValue = [*("x" * 100_000 for _ in range(10))]
    with pytest.raises(EvaluationLimitExceeded):
        effect(payload, context={str(number): text for number in range(100)})


def test_a_signal_names_its_run_and_knows_its_event() -> None:
    signal: Json = {
        "run": "order-{{ payload.id }}",
        "name": "paid",
        "payload": "{{ payload.type }}",
    }
    expected = RunSignal("order-7", "paid", "order.paid", "hook/shop/paid/evt_1", None)
    assert effect(signal=signal) == expected
    starting = effect(signal={**signal, "start": True}, context={"order": "{{ payload.id }}"})
    assert starting == RunSignal("order-7", "paid", "order.paid", expected.event, {"order": 7})
    assert effect(signal={"run": "a", "name": "paid"}) == RunSignal(
        "a", "paid", PAYLOAD, expected.event, None
    )
