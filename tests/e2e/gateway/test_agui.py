"""The door for AG-UI over a real server: who may, requests as interrupts, sessions as threads."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from coterie.gateway.doors.agui import agui_stream
from coterie.gateway.identity.identity import Identity, Role
from tests.support.gateway import ALL, begun, client_of, person, waiting
from tests.support.watching.agui_reading import AguiEvent, AguiReader, events_in

BILL: dict[str, Any] = {"vendor": "Ink & Co", "lines": []}
SPEAKERS = (Role.VIEWER, Role.STARTER, Role.APPROVER)


def body(run: str, thread: str, **given: Any) -> dict[str, Any]:
    wanted: dict[str, Any] = {
        "threadId": thread,
        "runId": run,
        "messages": [],
        "tools": [],
        "context": [],
    }
    return {**wanted, "state": {}, "forwardedProps": {}, **given}


def said(text: str) -> list[dict[str, str]]:
    return [{"id": uuid4().hex, "role": "user", "content": text}]


async def posted(
    app: object, team: str, asked: dict[str, Any], identity: Identity = ALL, last: str = ""
) -> tuple[int, Any]:
    """The status of an answer, and its events or its error."""
    headers = {"last-event-id": last} if last else {}
    async with client_of(app, identity) as http, asyncio.timeout(60):
        answer = await http.post(f"/agui/{team}", json=asked, headers=headers)
    if answer.status_code != 200:
        return answer.status_code, answer.json()
    return 200, events_in(answer.text)


async def streamed(
    app: object, team: str, asked: dict[str, Any], identity: Identity = ALL, last: str = ""
) -> list[AguiEvent]:
    status, events = await posted(app, team, asked, identity, last)
    assert status == 200, events
    return events


def answer(interrupt: dict[str, Any], **payload: Any) -> dict[str, Any]:
    return {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}


async def test_a_request_interrupts_and_is_answered_by_resume_in_the_verified_name(
    app: object,
) -> None:
    ann, run = person("ann", *SPEAKERS), f"bill-{uuid4().hex[:8]}"
    first = AguiReader().take(
        await streamed(app, "bill", body(run, "t", state={"bill": BILL}), ann)
    )
    (interrupt,) = first.last["outcome"]["interrupts"]
    assert interrupt["message"] == "Pay it?"
    assert interrupt["reason"] == "approval"
    assert interrupt["metadata"]["coterie"]["show"] == BILL
    assert interrupt["responseSchema"]["properties"]["value"]["required"] == ["vendor", "lines"]
    assert first.state == {"bill": BILL, "note": ""}

    paid = {**BILL, "urgent": True}
    viewer = person("eve", Role.VIEWER, Role.STARTER)
    resumed = body(f"{run}-2", "t", resume=[answer(interrupt, approved=True, value=paid)])
    assert (await posted(app, "bill", resumed, viewer))[1]["code"] == "not_allowed"
    unfit = body(f"{run}-2", "t", resume=[answer(interrupt, agreed=True)])
    assert (await posted(app, "bill", unfit, ann))[0] == 422
    silent = body(f"{run}-2", "t", resume=[answer(interrupt)])
    assert "neither yes nor no" in (await posted(app, "bill", silent, ann))[1]["message"]

    second = AguiReader().take(await streamed(app, "bill", resumed, ann))
    assert second.last["outcome"] == {"type": "success"}
    assert second.last["runId"] == f"{run}-2"
    async with client_of(app, ALL) as http:
        decided = (await http.get(f"/v1/runs/{run}/trail")).json()["entries"]
    assert any("ann" in entry["because"] for entry in decided if entry["kind"] == "approval")


async def test_requests_that_wait_at_once_are_interrupts_of_one_answer(app: object) -> None:
    run = f"pair-{uuid4().hex[:8]}"
    first = AguiReader().take(await streamed(app, "pair", body(run, "t")))
    asked = {one["message"]: one for one in first.last["outcome"]["interrupts"]}
    assert asked.keys() == {"Pay?", "Ship?"}
    assert len({one["id"] for one in asked.values()}) == 2
    one = body(f"{run}-2", "t", resume=[answer(asked["Pay?"], approved=True)])
    second = AguiReader().take(await streamed(app, "pair", one))
    assert [it["message"] for it in second.last["outcome"]["interrupts"]] == ["Ship?"]
    both = [answer(asked["Pay?"], approved=True), answer(asked["Ship?"], approved=True)]
    third = AguiReader().take(await streamed(app, "pair", body(f"{run}-3", "t", resume=both)))
    assert third.last["outcome"] == {"type": "success"}, "the decided one is no error"

    other = f"pair-{uuid4().hex[:8]}"
    opened = AguiReader().take(await streamed(app, "pair", body(other, "t")))
    answers = [answer(it, approved=True) for it in opened.last["outcome"]["interrupts"]]
    ended = AguiReader().take(await streamed(app, "pair", body(f"{other}-2", "t", resume=answers)))
    assert ended.last["outcome"] == {"type": "success"}


async def test_a_request_that_was_decided_elsewhere_gives_state_and_no_error(app: object) -> None:
    run = f"late-{uuid4().hex[:8]}"
    first = AguiReader().take(await streamed(app, "bill", body(run, "t", state={"bill": BILL})))
    (interrupt,) = first.last["outcome"]["interrupts"]
    request = (await waiting(app, run))["request"]
    async with client_of(app, ALL) as http:
        decision = {"request": request["id"], "digest": request["digest"], "decision": "reject"}
        assert (await http.post(f"/v1/runs/{run}/decisions", json=decision)).status_code == 200
    late = body(f"{run}-2", "t", resume=[answer(interrupt, approved=True)])
    events = await streamed(app, "bill", late)
    assert [event.type for event in events][:2] == ["RUN_STARTED", "MESSAGES_SNAPSHOT"]
    reader = AguiReader().take(events)
    assert reader.state == {"bill": BILL, "note": ""}
    assert reader.last["type"] in ("RUN_FINISHED", "RUN_ERROR")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a":' * 20_000 + "1" + "}" * 20_000, "nested deeper"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": ' + "9" * 5_000 + "}", "too many digits"),
        ("hello", "cannot be read as JSON"),
    ],
    ids=["deep", "twice", "NaN", "digits", "text"],
)
async def test_a_message_that_no_session_can_take_starts_none(
    app: object, text: str, reason: str
) -> None:
    thread = f"order-{uuid4().hex[:8]}"
    status, refused = await posted(app, "order", body("r1", thread, messages=said(text)))
    assert (status, refused["code"]) == (422, "invalid"), refused
    assert reason in refused["message"]
    assert len(refused["message"]) < 500
    async with client_of(app, ALL) as http:
        assert (await http.get(f"/v1/runs/{thread}")).status_code == 404


async def test_who_gives_up_an_interrupt_decides_nothing(app: object) -> None:
    run = f"left-{uuid4().hex[:8]}"
    first = AguiReader().take(await streamed(app, "bill", body(run, "t", state={"bill": BILL})))
    (interrupt,) = first.last["outcome"]["interrupts"]
    left = {"interruptId": interrupt["id"], "status": "cancelled"}
    again = AguiReader().take(await streamed(app, "bill", body(f"{run}-2", "t", resume=[left])))
    assert again.last["outcome"]["interrupts"] == [interrupt]


async def test_a_thread_of_a_session_is_one_run_and_a_message_sent_again_is_one(
    app: object,
) -> None:
    thread, run = f"talk-{uuid4().hex[:8]}", uuid4().hex
    hello = body(run, thread, messages=said("hello"))
    first = AguiReader().take(await streamed(app, "talk", hello))
    assert first.texts() == ["heard hello"]
    assert first.last["result"] == "heard hello"
    again = AguiReader().take(await streamed(app, "talk", hello))
    assert again.texts() == ["heard hello"], "a snapshot, and no second message"
    assert [message["role"] for message in again.messages] == ["user", "assistant"]
    async with client_of(app, ALL) as http:
        sent = await http.post(f"/v1/runs/{thread}/messages", json={"message": "by another"})
        assert sent.status_code == 200
    more = body(uuid4().hex, thread, messages=[*again.messages, *said("bye")])
    assert AguiReader().take(await streamed(app, "talk", more)).texts() == ["heard bye"]
    idle = AguiReader().take(await streamed(app, "talk", body(uuid4().hex, thread)))
    assert idle.last["outcome"] == {"type": "success"}
    async with client_of(app, ALL) as http:
        shown = (await http.get(f"/v1/runs/{thread}")).json()
    assert shown["status"]["messages"] == 3


async def test_what_a_person_writes_stands_in_the_context_and_other_teams_start_a_run_each(
    app: object,
) -> None:
    run = f"note-{uuid4().hex[:8]}"
    status, refused = await posted(app, "offer", body(run, "t", messages=said("hi")))
    assert (status, refused["code"]) == (422, "invalid")
    assert "amount is missing" in refused["message"]
    status, refused = await posted(app, "offer", body(run, "t"))
    assert status == 422
    assert "amount" in refused["message"]
    existing = await begun(app, "bill", bill=BILL)
    attached = AguiReader().take(await streamed(app, "bill", body(existing, "t")))
    assert attached.last["outcome"]["type"] == "interrupt"
    assert attached.state == {"bill": BILL, "note": ""}
    status, refused = await posted(app, "bill", body("x", existing, messages=said("hi")))
    assert (status, refused["code"]) == (409, "refused")
    assert "no agent that uses tools is at work" in refused["message"]
    assert (await posted(app, "offer", body(existing, "t", state={"amount": 1})))[0] == 409


async def test_a_message_with_the_thread_of_a_run_at_work_is_for_its_agent(app: object) -> None:
    run = f"clerk-{uuid4().hex[:8]}"
    first = AguiReader().take(await streamed(app, "clerk", body(run, "t")))
    (interrupt,) = first.last["outcome"]["interrupts"]
    more = body(f"{run}-2", run, messages=said("Use PostgreSQL."))
    starter = person("eve", Role.VIEWER, Role.STARTER)
    assert (await posted(app, "clerk", more, starter))[1]["code"] == "not_allowed"
    told = AguiReader().take(await streamed(app, "clerk", more))
    assert told.last["outcome"]["interrupts"] == [interrupt]
    resumed = body(f"{run}-3", run, resume=[answer(interrupt, approved=True)])
    last = AguiReader().take(await streamed(app, "clerk", resumed))
    assert last.texts()[-1] == "PostgreSQL."
    late = body(f"{run}-4", run, messages=said("Hurry up."))
    assert (await posted(app, "clerk", late))[1]["code"] == "no_session"


async def test_the_door_lets_in_who_may_see_and_start_and_refuses_what_has_no_effect(
    app: object,
) -> None:
    asked = body(f"role-{uuid4().hex[:8]}", "t", state={"bill": BILL})
    nobody = person("carl")
    for identity in (nobody, person("s", Role.STARTER), person("v", Role.VIEWER),
                     person("o", *Role, teams="offer")):  # fmt: skip
        status, refused = await posted(app, "bill", asked, identity)
        assert (status, refused["code"]) == (403, "not_allowed"), identity
    async with client_of(app) as http:
        assert (await http.post("/agui/bill", json=asked)).status_code == 401
    async with client_of(app, ALL) as http:
        assert (await http.get(f"/v1/runs/{asked['runId']}")).status_code == 404
        assert (await http.get("/agui/bill")).status_code == 405
    cases: tuple[dict[str, Any], ...] = (
        {"tools": [{"name": "t", "description": "", "parameters": {}}]},
        {"context": [{"description": "d", "value": "v"}]},
        {"protocolVersion": "2.0"},
        {"runId": "x" * 101},
        {"threadId": ""},
        {"state": [1]},
        {"messages": [{"id": "1", "role": "nobody"}]},
        {"resume": [{"interruptId": "never sent", "status": "resolved"}]},
    )
    for wrong in cases:
        assert (await posted(app, "bill", {**asked, **wrong}))[0] == 422, wrong
    assert (await posted(app, "bill", asked, last="7"))[0] == 422
    assert (await posted(app, "nothing", asked))[0] == 404


async def test_a_quiet_connection_gets_comments_that_are_no_events(
    app: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agui_stream, "KEEP_ALIVE_SECONDS", 0.01)  # less than a worker needs
    asked = body(uuid4().hex, f"quiet-{uuid4().hex[:8]}", messages=said("hello"))
    async with client_of(app, ALL) as http, asyncio.timeout(60):
        answer = await http.post("/agui/talk", json=asked)
    blocks = answer.text.split("\n\n")
    comments = [block for block in blocks if not block.startswith("id: ")]
    assert blocks[-1] == ""
    assert set(comments) == {": keep-alive", ""}
    events = events_in(answer.text)
    assert len(events) == len(blocks) - len(comments)
    assert AguiReader().take(events).last["result"] == "heard hello"
