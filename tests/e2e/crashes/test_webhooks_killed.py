"""`kill -9` of the gateway amid deliveries: redelivered, each event is one run or one signal."""

import asyncio
import re
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import pytest

from coterie.runs.histories.history_events import read_events
from coterie.runs.histories.recorded_events import SignalReceived
from coterie.runs.run_client import Run
from tests.support.cli import DESK
from tests.support.project import Project, project, until
from tests.support.webhook_senders import SECRET, payload, standard

SHOP = """
orchestration:
  entry_team: order
  context: {order: {type: string}}
  teams:
    order:
      tasks:
        - {name: paid, type: wait, signal: paid, deadline: 1h}
        - {name: note, type: set, values: {order: "{{ context.order }}"}}
triggers:
  placed:
    webhook:
      verify: standard-webhooks
      secret_env: HOOK_SECRET
      context: {order: "{{ payload.order }}"}
  paid:
    webhook:
      verify: standard-webhooks
      secret_env: HOOK_SECRET
      context: {order: "{{ payload.order }}"}
      signal: {run: "order-{{ payload.order }}", name: paid, start: true}
"""
EVENTS = 25


def log(shop: Project) -> str:
    file = shop.folder / "serve.log"
    return file.read_text() if file.exists() else ""


def gateway_of(shop: Project) -> tuple[Any, str]:
    """A gateway as a program of its own, without a worker, and its address."""
    began = len(re.findall("open +http", log(shop)))
    process = shop.begin("serve", "--port", "0", "--no-browser", "--no-worker")
    until(lambda: len(re.findall("open +http", log(shop))) > began, "the gateway")
    return process, re.findall(r"serving +(http://\S+);", log(shop))[-1]


async def deliver(address: str, answered: asyncio.Event | None = None) -> Counter[str]:
    """Deliver every event once, and count the answers; what has no answer is lost."""
    counted: Counter[str] = Counter()

    async def send(http: httpx2.AsyncClient, trigger: str, number: int) -> None:
        body = payload(order=str(number))
        headers = standard(body, f"msg_{trigger}_{number}")
        try:
            answer = await http.post(f"/hooks/shop/{trigger}", content=body, headers=headers)
        except httpx2.TransportError:
            counted["lost"] += 1
            return
        counted[answer.json().get("outcome", answer.text)] += 1
        if answered is not None:
            answered.set()

    few = httpx2.Limits(max_connections=4)  # so that most are still to come at the first answer
    async with httpx2.AsyncClient(
        base_url=address, timeout=60, limits=few, trust_env=False
    ) as http:
        await asyncio.gather(
            *(send(http, trigger, n) for n in range(EVENTS) for trigger in ("placed", "paid"))
        )
    return counted


@pytest.mark.timeout(240)
async def test_each_event_counts_once_when_the_gateway_is_killed_amid_deliveries(
    tmp_path: Path,
) -> None:
    with project(tmp_path / "shop", {"HOOK_SECRET": SECRET}, DESK) as shop:
        (shop.folder / "config/teams/shop.yml").write_text(SHOP)
        process, address = gateway_of(shop)
        answered = asyncio.Event()
        deliveries = asyncio.create_task(deliver(address, answered))
        await answered.wait()
        process.kill()
        process.wait()
        first = await deliveries
        assert first["lost"], "the gateway answered everything before it was killed"
        process, address = gateway_of(shop)
        again = await deliver(address)
        assert again.keys() <= {"started", "known", "signalled"}, again
        assert again["started"] + again["known"] + again["signalled"] == 2 * EVENTS
        last = await deliver(address)
        assert last == {"known": EVENTS, "signalled": EVENTS}
        process.kill()
        process.wait()
        client = await shop.client()
        for number in range(EVENTS):
            await Run(client, f"hook/shop/placed/msg_placed_{number}").describe()
            history = await Run(client, f"order-{number}").history()
            events = list(read_events(history.events))
            assert sum(isinstance(event, SignalReceived) for event in events) == 1
