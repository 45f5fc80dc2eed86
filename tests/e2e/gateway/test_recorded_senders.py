"""Each operation that changes something leaves in the run who asked, how we know, from where."""

import asyncio
from collections.abc import Iterator
from typing import Any

from coterie.gateway.identity.identity import Role
from coterie.gateway.operations.operations_table import OPERATIONS
from coterie.runs.histories.history_events import read_events
from coterie.runs.histories.recorded_events import (
    CancelRequested,
    RecordedEvent,
    RunStarted,
    SignalReceived,
    UpdateAccepted,
)
from coterie.runs.run_client import Run
from coterie.workflows.core.senders import Sender
from tests.support.gateway import begun, client_of, described, finished, person, waiting
from tests.support.project import Project

ANN = person("ann", *Role)
BY_API = Sender(subject="ann", method="oidc", address="127.0.0.1", door="api")
BY_CONSOLE = BY_API.model_copy(update={"door": "console"})

Found = tuple[str, Sender | None]


def senders(events: Iterator[RecordedEvent]) -> Iterator[Found]:
    """The messages of a history, each with its sender."""
    for event in events:
        match event:
            case RunStarted():
                yield "start", event.sender
            case SignalReceived() | UpdateAccepted():
                yield event.name, event.sender
            case CancelRequested():
                yield "cancel", event.sender
            case _:
                pass


async def recorded(served: Project, run: str) -> list[Found]:
    history = await Run(await served.client(), run).history()
    return list(senders(read_events(history.events)))


async def test_each_operation_leaves_who_asked_how_we_know_and_from_where(
    app: object, served: Project
) -> None:
    found: dict[str, Sender | None] = {}
    async with client_of(app, ANN) as http:

        async def post(path: str, asked: object) -> dict[str, Any]:
            answer = await http.post(f"/v1{path}", json=asked)
            assert answer.status_code == 200, answer.text
            return answer.json()

        run = (await post("/runs", {"team": "offer", "context": {"amount": 3}}))["run"]
        asked = (await waiting(app, run))["request"]
        for name in ("pause", "resume"):
            await post(f"/runs/{run}/{name}", {})
        await post(f"/runs/{run}/amend", {"updates": {"note": "changed"}})
        await post(f"/runs/{run}/redirect", {"team": "last"})
        decision = {"request": asked["id"], "decision": "approve", "digest": asked["digest"]}
        await post(f"/runs/{run}/decisions", decision)
        await post(f"/runs/{run}/skip", {"task": "sign"})
        await described(app, run, "completed")
        found |= dict(await recorded(served, run))
        fork = await post(f"/runs/{run}/fork", {"at": "last#1"})
        found["fork"] = dict(await recorded(served, fork["run"]))["start"]
        clerk = (await post("/runs", {"team": "clerk"}))["run"]
        await waiting(app, clerk)
        said = {"text": "Use PostgreSQL.", "message_id": "m1"}
        told = await post(f"/runs/{clerk}/say", said)
        assert told == {"run": clerk, "by": "ann", "step": "shop/order"}
        assert await post(f"/runs/{clerk}/say", said) == told, "it counts once"
        found["say"] = dict(await recorded(served, clerk))["say"]
        talk = (await post("/runs", {"team": "talk"}))["run"]
        await post(f"/runs/{talk}/messages", {"message": "hello"})
        found["message"] = dict(await recorded(served, talk))["send_message"]
        failed = await begun(app, "failing", topic="tides")
        await described(app, failed, "failed")
        retried = (await post(f"/runs/{failed}/retry", {}))["started"]
        found["retry"] = dict(await recorded(served, retried["run"]))["start"]
        await post(f"/runs/{talk}/cancel", {"why": "a reason"})
        found["cancel"] = dict(await recorded(served, talk))["cancel"]
        other = await begun(app, "offer", amount=3)
        await waiting(app, other)
        state = (await http.get(f"/v1/runs/{other}")).json()
        choice = {"run": other, "run_id": state["run_id"], "is_open": True}
        bulk = await post("/bulk", {"action": "cancel", "runs": [choice]})
        await finished(app, bulk["bulk"])
        found["bulk"] = dict(await recorded(served, other))["cancel"]
    changing = {operation.name for operation in OPERATIONS if operation.changes_something}
    assert changing <= set(found), "an operation without a test of its sender"
    assert {name: found[name] for name in changing} == dict.fromkeys(changing, BY_API)


async def test_a_form_and_a_command_leave_their_own_door(app: object, served: Project) -> None:
    run = await begun(app, "offer", amount=3)
    await waiting(app, run)
    async with client_of(app, ANN) as http:
        steered = await http.post("/steer", data={"run": run, "action": "pause"})
        assert steered.status_code == 303, steered.text
    done = await asyncio.to_thread(served.coterie, "cancel", run, "--why", "a reason")
    assert done.returncode == 0, done.stderr
    found = dict(await recorded(served, run))
    assert found["pause"] == BY_CONSOLE
    cancelled = found["cancel"]
    assert cancelled is not None
    assert (cancelled.method, cancelled.door) == ("login", "host")
    assert cancelled.address
