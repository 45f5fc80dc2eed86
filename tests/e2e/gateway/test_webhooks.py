"""Webhooks over a real server: one event is one run, and who proves nothing gets nothing."""

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
import pytest_asyncio
from temporalio.api.workflowservice.v1 import CountWorkflowExecutionsRequest

from coterie.gateway.app import application
from coterie.gateway.doors.webhooks import webhook_door
from coterie.gateway.doors.webhooks.delivery_limits import Retention
from coterie.gateway.doors.webhooks.webhook_door import MAX_DELIVERY, WebhookDoor
from coterie.gateway.operations.run_access import RunAccess
from coterie.runs.histories.history_events import read_events
from coterie.runs.histories.recorded_events import RunStarted, SignalReceived
from coterie.runs.new_runs import start_run
from coterie.runs.run_client import Run
from coterie.server.connection import open_connection
from coterie.settings import load
from coterie.workflows.core.messages import TeamInput
from coterie.workflows.core.senders import Sender
from tests.e2e.gateway.conftest import said
from tests.support.gateway import ALL, WHO, by_header, client_of, person
from tests.support.project import Project
from tests.support.webhook_senders import (
    OTHER,
    SECRET,
    Headers,
    github,
    payload,
    plain,
    standard,
    stripe,
)

SHOP = """
orchestration:
  entry_team: note
  context:
    order: {type: integer}
    by: {type: string, default: ""}
  teams:
    note: {tasks: [{name: note, type: set, values: {a: "{{ context.order }} {{ context.by }}"}}]}
triggers:
  placed:
    webhook:
      verify: standard-webhooks
      secret_env: HOOK_SECRET
      old_secrets_env: [OLD_HOOK_SECRET]
      when: "{{ payload.kind == 'order' }}"
      context: {order: "{{ payload.order }}", by: "{{ payload.by }}"}
  opened:
    webhook: {verify: github, secret_env: HOOK_SECRET, context: {order: "{{ payload.order }}"}}
  charged:
    webhook: {verify: stripe, secret_env: HOOK_SECRET, context: {order: "{{ payload.order }}"}}
  shipped:
    webhook:
      verify: hmac
      hmac: {header: X-Shop-Hmac, encoding: base64}
      secret_env: HOOK_SECRET
      context: {order: "{{ payload.order }}"}
  slow:
    webhook:
      verify: standard-webhooks
      secret_env: HOOK_SECRET
      tolerance: 3d
      context: {order: 1}
  unset:
    webhook: {verify: github, secret_env: NO_SUCH_SECRET, context: {order: 1}}
"""
ORDERS = """
orchestration:
  entry_team: order
  context: {order: {type: string, default: ""}, by: {type: string, default: ""}}
  teams:
    order:
      tasks:
        - {name: look, type: wait, signal: looked, deadline: 1h}
        - {name: paid, type: wait, signal: paid, deadline: 1h}
        - {name: note, type: set, context_updates: {by: "{{ tasks.paid.data.by }}"}}
      routing: {default: null}
triggers:
  paid:
    webhook:
      verify: standard-webhooks
      secret_env: HOOK_SECRET
      signal: {run: "{{ payload.order }}", name: paid, payload: {by: "{{ payload.by }}"}}
  looked:
    webhook:
      verify: standard-webhooks
      secret_env: HOOK_SECRET
      context: {order: "{{ payload.order }}"}
      signal: {run: "{{ payload.order }}", name: looked, start: true}
"""
FORM = {"content-type": "application/x-www-form-urlencoded"}
OPEN = "/hooks/shop/placed"
ORDER = payload(kind="order", order=7, by="{{ context.order }}")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def access(served: Project) -> RunAccess:
    """What a gateway with secrets of its own works with, and teams that only it tests."""
    (served.folder / "config/teams/shop.yml").write_text(SHOP)
    (served.folder / "config/teams/orders.yml").write_text(ORDERS)
    secrets = {"HOOK_SECRET": SECRET, "OLD_HOOK_SECRET": OTHER}
    settings = load({**served.environment, **secrets}, served.folder)
    return RunAccess(settings, await open_connection(settings))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hooks(access: RunAccess) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of that gateway."""
    async with client_of(application(access, by_header, WebhookDoor(access).routes())) as http:
        yield http


async def sent(
    http: httpx2.AsyncClient, path: str, body: bytes, headers: Headers
) -> tuple[int, dict[str, Any]]:
    answer = await http.post(path, content=body, headers=headers)
    return answer.status_code, answer.json()


async def history(served: Project, run: str) -> list[object]:
    found = await Run(await served.client(), run).history()
    return list(read_events(found.events))


async def number(served: Project, prefix: str) -> int:
    """How many executions have an id with a prefix, once the server lists them."""
    client = await served.client()
    query = f"WorkflowId STARTS_WITH '{prefix}'"
    request = CountWorkflowExecutionsRequest(namespace=client.namespace, query=query)
    async with asyncio.timeout(30):
        while True:
            answer = await client.workflow_service.count_workflow_executions(request)
            if answer.count:
                return answer.count
            await asyncio.sleep(0.1)  # until the server has listed the run


async def test_a_delivery_starts_one_run_with_its_context_and_its_sender(
    hooks: httpx2.AsyncClient, served: Project
) -> None:
    status, outcome = await sent(hooks, OPEN, ORDER, standard(ORDER, "msg_once"))
    run = "hook/shop/placed/msg_once"
    assert (status, outcome) == (200, {"outcome": "started", "run": run})
    again = await sent(hooks, OPEN, ORDER, standard(ORDER, "msg_once", OTHER))
    assert again == (200, {"outcome": "known", "run": run})
    result = await Run(await served.client(), run).handle.result()
    assert result.context == {"order": 7, "by": "{{ context.order }}"}
    after = await sent(hooks, OPEN, ORDER, standard(ORDER, "msg_once"))
    assert after == (200, {"outcome": "known", "run": run})
    (begun,) = [event for event in await history(served, run) if isinstance(event, RunStarted)]
    assert begun.sender == Sender(
        subject="webhook shop/placed",
        method="standard-webhooks",
        address="127.0.0.1",
        door="webhook",
    )


@pytest.mark.parametrize(
    ("trigger", "sign", "event"),
    [("opened", github, "evt_9"), ("charged", stripe, "evt_9"), ("shipped", plain, None)],
)
async def test_each_scheme_names_its_event(
    hooks: httpx2.AsyncClient, trigger: str, sign: Any, event: str | None
) -> None:
    body = payload(id="evt_9", order=9)
    first = await sent(hooks, f"/hooks/shop/{trigger}", body, sign(body, "evt_9"))
    assert first[1]["outcome"] == "started", first
    named = first[1]["run"].removeprefix(f"hook/shop/{trigger}/")
    assert named == event or (event is None and len(named) == 64)
    assert (await sent(hooks, f"/hooks/shop/{trigger}", body, sign(body, "evt_9")))[1] == {
        "outcome": "known",
        "run": first[1]["run"],
    }


async def test_a_thousand_deliveries_of_one_event_are_one_run(
    hooks: httpx2.AsyncClient, served: Project
) -> None:
    headers = standard(ORDER, "msg_thousand")
    counted: Counter[str] = Counter()
    while (left := 1_000 - counted.total()) > 0:  # a busy gateway asks senders to send again
        outcomes = await asyncio.gather(*(sent(hooks, OPEN, ORDER, headers) for _ in range(left)))
        assert {status for status, _ in outcomes} <= {200, 503}
        counted += Counter(outcome["outcome"] for status, outcome in outcomes if status == 200)
    assert counted == {"started": 1, "known": 999}
    assert await number(served, "hook/shop/placed/msg_thousand") == 1


async def test_what_does_not_prove_its_sender_is_refused(hooks: httpx2.AsyncClient) -> None:
    good = standard(ORDER, "msg_bad")
    old, early = (standard(ORDER, "msg_bad", at=time.time() + late) for late in (-400, 400))
    refused: list[tuple[str, Headers, str]] = [
        ("/hooks/shop/placed", {}, "not_proved"),
        ("/hooks/shop/placed", {**good, "webhook-id": "msg_worse"}, "not_proved"),
        ("/hooks/shop/placed", standard(ORDER, "msg_bad", "whsec_AAAA"), "not_proved"),
        ("/hooks/shop/placed", {**good, "webhook-signature": "v1,\x7f"}, "not_proved"),
        ("/hooks/shop/nothing", good, "not_proved"),
        ("/hooks/nothing/placed", good, "not_proved"),
        ("/hooks/..%5Cteams%5Cshop/placed", good, "not_proved"),
        ("/hooks/shop/placed", old, "too_old"),
        ("/hooks/shop/placed", early, "too_old"),
    ]
    for path, headers, code in refused:
        status, report = await sent(hooks, path, ORDER, headers)
        assert (status, report["code"]) == (401, code), path
    assert len({json.dumps((await sent(hooks, path, ORDER, {}))[1]) for path, *_ in refused}) == 1


async def test_the_retention_bounds_how_old_a_delivery_may_be(
    hooks: httpx2.AsyncClient, served: Project
) -> None:
    kept = await Retention(time.monotonic).seconds(await served.client())
    assert kept == 86_400.0
    for age, status in ((86_340.0, 200), (86_460.0, 401)):
        headers = standard(ORDER, f"msg_{status}", at=time.time() - age)
        assert (await sent(hooks, "/hooks/shop/slow", ORDER, headers))[0] == status


async def test_a_sign_in_is_neither_needed_nor_enough(hooks: httpx2.AsyncClient) -> None:
    for identity in (person("nobody"), ALL):
        who = {WHO: identity.model_dump_json()}
        status, report = await sent(hooks, OPEN, ORDER, {**who, "content-type": "application/json"})
        assert (status, report["code"]) == (401, "not_proved")
        signed = {**who, **standard(ORDER, f"msg_{identity.subject}")}
        assert (await sent(hooks, OPEN, ORDER, signed))[1]["outcome"] == "started"


async def test_what_does_not_fit_is_refused_with_the_reason(hooks: httpx2.AsyncClient) -> None:
    async def code(body: bytes, path: str = OPEN, **more: str) -> tuple[int, str]:
        status, report = await sent(hooks, path, body, {**standard(body, "msg_unfit"), **more})
        return status, str(report.get("code", report.get("outcome")))

    assert await code(b"{") == (422, "no_event")
    assert await code(b'{"kind": "order", "kind": "order"}') == (422, "no_event")
    assert await code(payload(kind="order", order=7)) == (422, "unfilled")
    assert await code(payload(kind="order", order="a", by="b")) == (422, "invalid")
    assert await code(payload(kind="other")) == (200, "ignored")
    assert await code(b"a=1", **{"content-type": "text/plain"}) == (415, "not_json")
    for form in (b"{}", b"a=1&a=2", b"payload=%7B", b"a=%FF", b"kind=order"):
        assert await code(form, **FORM) in ((422, "no_event"), (422, "unfilled"))
    assert await code(b" " * (MAX_DELIVERY + 1)) == (413, "too_large")


async def test_a_form_has_the_payload_in_a_field_or_is_the_payload(
    hooks: httpx2.AsyncClient,
) -> None:
    body = urlencode({"payload": payload(id=1, order=7).decode()}).encode()
    answer = await sent(hooks, "/hooks/shop/opened", body, {**github(body, "d-form"), **FORM})
    assert (answer[0], answer[1]["outcome"]) == (200, "started")
    body = b"kind=order&order=7&by=a+b%21"
    status, report = await sent(hooks, OPEN, body, {**standard(body, "msg_form"), **FORM})
    assert (status, report["code"]) == (422, "invalid"), "its fields are texts"


async def test_a_stranger_learns_nothing_of_a_webhook(hooks: httpx2.AsyncClient) -> None:
    paths = ("/hooks/shop/opened", "/hooks/shop/unset", "/hooks/shop/nothing", "/hooks/nobody/open")
    answers = [await sent(hooks, path, ORDER, github(ORDER, secret=OTHER)) for path in paths]
    assert answers[0][0] == 401
    assert all(answer == answers[0] for answer in answers)


async def test_the_log_of_the_gateway_says_what_the_sender_does_not_learn(
    hooks: httpx2.AsyncClient, served: Project
) -> None:
    del hooks  # only its teams
    (address,) = re.findall(r"serving +(http://[^;]+);", said(served))
    async with httpx2.AsyncClient(base_url=address) as http:
        status, report = await sent(http, "/hooks/shop/unset", ORDER, github(ORDER))
    assert (status, report["code"]) == (401, "not_proved")
    log = load(served.environment, served.folder).state / "coterie.log"
    assert "the webhook shop/unset needs NO_SUCH_SECRET" in log.read_text()


async def test_the_audit_log_has_the_refusals(hooks: httpx2.AsyncClient, access: RunAccess) -> None:
    access.audit.take()
    await sent(hooks, "/hooks/shop/nothing", ORDER, {})
    await sent(hooks, OPEN, ORDER, standard(ORDER, "msg_aged", at=time.time() - 400))
    batch = access.audit.take()
    assert batch is not None
    assert [(one.about, one.code, one.subject, one.door) for one in batch.records] == [
        ("webhook", "not_proved", "", ""),
        ("webhook shop/placed", "too_old", "webhook shop/placed", "webhook"),
    ]


async def test_a_signal_reaches_the_run_that_the_payload_names_once(
    hooks: httpx2.AsyncClient, served: Project
) -> None:
    body = payload(order="order-1", by="ann")
    paid, looked = "/hooks/orders/paid", "/hooks/orders/looked"
    nothing = await sent(hooks, paid, body, standard(body, "msg_p"))
    assert (nothing[0], nothing[1]["code"]) == (404, "unknown_run")
    begun = await asyncio.gather(
        *(sent(hooks, looked, body, standard(body, "msg_l")) for _ in range(20))
    )
    assert all(status == 200 for status, _ in begun)
    assert sum(outcome["outcome"] == "started" for _, outcome in begun) == 1
    early = await asyncio.gather(
        *(sent(hooks, paid, body, standard(body, "msg_p")) for _ in range(20))
    )
    answers = {(status, outcome.get("outcome", outcome.get("code"))) for status, outcome in early}
    assert (200, "signalled") in answers
    assert answers <= {(200, "signalled"), (409, "refused")}  # the run ends by the first of them
    result = await Run(await served.client(), "order-1").handle.result()
    assert result.context == {"by": "ann", "order": "order-1"}
    signals = [one for one in await history(served, "order-1") if isinstance(one, SignalReceived)]
    assert Counter(one.name for one in signals) == {"looked": 1, "paid": 1}
    sender = signals[0].sender
    assert sender is not None
    assert (sender.subject, sender.door) == ("webhook orders/looked", "webhook")
    for path in (paid, looked):
        closed = await sent(hooks, path, body, standard(body, "msg_late"))
        assert (closed[0], closed[1]["code"]) == (409, "refused")


async def test_a_signal_reaches_no_run_of_another_team(hooks: httpx2.AsyncClient) -> None:
    await sent(hooks, OPEN, ORDER, standard(ORDER, "msg_other"))
    body = payload(order="hook/shop/placed/msg_other", by="ann")
    for trigger in ("paid", "looked"):
        status, report = await sent(hooks, f"/hooks/orders/{trigger}", body, standard(body, "m"))
        assert (status, report["code"]) == (409, "another_team")


async def test_an_event_whose_id_another_team_has_is_an_error_and_not_known(
    hooks: httpx2.AsyncClient, access: RunAccess, caplog: pytest.LogCaptureFixture
) -> None:
    run = "hook/shop/placed/msg_squat"
    queue = access.settings.task_queue
    await start_run(
        access.client, run, TeamInput(team="orders"), task_queue=queue, summary="orders"
    )
    status, report = await sent(hooks, OPEN, ORDER, standard(ORDER, "msg_squat"))
    assert (status, report["code"]) == (409, "another_team")
    assert f"shop/placed: another team or workflow has the id '{run}'" in caplog.text
    await access.client.get_workflow_handle(run).terminate()


async def test_a_signal_starts_no_run_with_the_id_of_another_trigger(
    hooks: httpx2.AsyncClient, served: Project
) -> None:
    async def answer(run: str, event: str) -> tuple[int, str]:
        body = payload(order=run, by="ann")
        status, report = await sent(hooks, "/hooks/orders/looked", body, standard(body, event))
        return status, str(report.get("code", report.get("outcome")))

    others = ("hook/shop/placed/msg_next", "hook/orders/paid/x", "schedule/coterie/shop/night-1")
    for number, run in enumerate(others):
        assert await answer(run, f"msg_o{number}") == (422, "reserved_id")
    own = "hook/orders/looked/order-9"
    assert await answer(own, "msg_own") == (200, "started")
    await (await served.client()).get_workflow_handle(own).terminate()


async def test_strangers_with_slow_bodies_delay_no_delivery(hooks: httpx2.AsyncClient) -> None:
    reading, end = asyncio.Semaphore(0), asyncio.Event()

    async def slow_body() -> AsyncGenerator[bytes]:
        yield b"{"
        reading.release()
        await end.wait()
        yield b"}"

    async def stranger() -> int:
        return (await hooks.post("/hooks/x/y", content=slow_body())).status_code

    strangers = [asyncio.create_task(stranger()) for _ in range(100)]
    try:
        for _ in strangers:
            async with asyncio.timeout(10):
                await reading.acquire()
        status, outcome = await sent(hooks, OPEN, ORDER, standard(ORDER, "msg_among_strangers"))
        assert (status, outcome.get("outcome")) == (200, "started"), outcome
    finally:
        end.set()
        statuses = set(await asyncio.gather(*strangers))
    assert statuses == {401}


async def test_a_body_that_does_not_arrive_is_given_up(
    hooks: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_door, "_SECONDS", 0.05)

    async def endless() -> AsyncGenerator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    answer = await hooks.post(OPEN, content=endless())
    assert (answer.status_code, answer.json()["code"]) == (408, "too_slow")
    assert answer.headers["connection"] == "close"
