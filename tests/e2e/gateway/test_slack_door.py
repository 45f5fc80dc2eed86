"""People decide and talk in Slack: a stand-in signs as the platform does, over a real server."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from coterie.dsl.model.sections.access_document import AccessSection
from coterie.gateway.app import application
from coterie.gateway.doors.slack.slack_door import SlackDoor
from coterie.gateway.doors.slack.slack_payloads import SlackMessage
from coterie.gateway.doors.slack.slack_threads import run_of_thread
from coterie.gateway.operations.run_access import RunAccess
from coterie.runs.histories.history_events import read_events
from coterie.runs.histories.recorded_events import UpdateAccepted
from coterie.runs.run_client import Run
from coterie.server.connection import open_connection
from coterie.settings import load
from tests.support.gateway import ALL, begun, by_header, client_of, described
from tests.support.platforms.slack_platform import (
    SECRET,
    TOKEN,
    WORKSPACE,
    SlackPlatform,
    event,
    signed_headers,
    slack_platform,
)
from tests.support.platforms.slack_requests import posted
from tests.support.project import Project

ANN, BEN, EVE, STRANGER = "U0001", "U0002", "U0003", "U0009"


@pytest.fixture(scope="module")
def platform() -> Iterator[SlackPlatform]:
    with slack_platform() as made:
        yield made


@pytest.fixture(autouse=True)
def _empty(platform: SlackPlatform) -> None:  # pyright: ignore[reportUnusedFunction]
    platform.calls.clear()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def slack(served: Project, platform: SlackPlatform) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a gateway with the Slack app, which sends signed requests."""
    names = {ANN: "ann", BEN: "ben", EVE: "eve"}
    section = AccessSection.model_validate(
        {
            "slack": {
                "signing_secret_env": "SLACK_SECRET",
                "bot_token_env": "SLACK_TOKEN",
                "team": "talk",
                "api": f"{platform.url}/api",
                "users": {f"{WORKSPACE}/{user}": name for user, name in names.items()},
            },
            "grants": [
                {"roles": ["approver", "starter", "viewer"], "subjects": ["ann", "ben"]},
                {"roles": ["viewer"], "subjects": ["eve"]},
            ],
        }
    )
    variables = {"SLACK_SECRET": SECRET, "SLACK_TOKEN": TOKEN}
    settings = load({**served.environment, **variables}, served.folder)
    access = RunAccess(settings, await open_connection(settings))
    door = SlackDoor(access, section)
    async with client_of(application(access, by_header, door.routes())) as http:
        yield http
    await door.close()


async def send(slack: httpx2.AsyncClient, body: bytes, at: str = "interactions") -> httpx2.Response:
    return await slack.post(f"/slack/{at}", content=body, headers=signed_headers(body))


async def said(platform: SlackPlatform, method: str, count: int = 1) -> list[dict[str, Any]]:
    return await asyncio.to_thread(platform.sent, method, count)


async def accepted(served: Project, run: str) -> list[UpdateAccepted]:
    history = await Run(await served.client(), run).history()
    return [event for event in read_events(history.events) if isinstance(event, UpdateAccepted)]


async def test_a_press_decides_in_the_name_of_the_person_and_replaces_the_buttons(
    app: object, served: Project, slack: httpx2.AsyncClient, platform: SlackPlatform
) -> None:
    run = await begun(app, "deal", price=7)
    message, value = await posted(app, run)
    assert "<!channel>" not in message["text"]
    body = platform.press(ANN, "coterie_approve", value, message)
    assert (await send(slack, body)).status_code == 200
    (changed,) = await said(platform, "response")
    assert changed["replace_original"] is True
    kinds = [block["type"] for block in changed["blocks"]]
    assert "actions" not in kinds
    assert "Approved by ann" in json.dumps(changed["blocks"])
    ended = await described(app, run, "completed")
    assert ended["result"]["decisions"][0]["by"] == "ann"
    (update,) = await accepted(served, run)
    assert update.sender is not None
    sender = update.sender
    assert (sender.subject, sender.name) == (f"{WORKSPACE}/{ANN}", "ann")
    assert (sender.method, sender.door) == ("slack", "slack")
    # the same request again, a later press, and a press of another person change nothing
    for again in (body, platform.press(BEN, "coterie_reject", value, message)):
        platform.calls.clear()
        assert (await send(slack, again)).status_code == 200
        answers = await said(platform, "response", 2)
        assert "Approved by ann" in json.dumps(answers)
        assert "Nothing changed" in json.dumps(answers)
    assert len(await accepted(served, run)) == 1


async def test_who_may_not_decide_or_has_seen_another_request_changes_nothing(
    app: object, served: Project, slack: httpx2.AsyncClient, platform: SlackPlatform
) -> None:
    run = await begun(app, "deal", price=8)
    message, value = await posted(app, run)
    old = json.dumps({**json.loads(value), "digest": "0" * 64})
    cases = {
        (STRANGER, value): f"Nobody is set for {WORKSPACE}/{STRANGER}",
        (EVE, value): "this needs the role approver",
        (ANN, old): "has changed",
    }
    for (user, shown), words in cases.items():
        platform.calls.clear()
        body = platform.press(user, "coterie_approve", shown, message)
        assert (await send(slack, body)).status_code == 200
        (answer,) = await said(platform, "response")
        assert (answer["response_type"], answer["replace_original"]) == ("ephemeral", False)
        assert words in answer["text"]
    platform.calls.clear()
    for value_of_others in ("", "{}", "[]", json.dumps({"run": run})):
        body = platform.press(ANN, "coterie_approve", value_of_others, message)
        assert (await send(slack, body)).status_code == 200
    assert platform.calls == []
    assert await accepted(served, run) == []
    body = platform.press(ANN, "coterie_reject", value, message)
    await send(slack, body)
    assert (await accepted(served, run))[0].name == "decide"


async def test_a_dialog_takes_a_comment_and_a_changed_value(
    app: object, slack: httpx2.AsyncClient, platform: SlackPlatform
) -> None:
    run = await begun(app, "deal", price=9)
    message, value = await posted(app, run)
    await send(slack, platform.press(ANN, "coterie_comment", value, message))
    (opened,) = await said(platform, "views.open")
    view = opened["view"]
    fields = {block.get("block_id"): block for block in view["blocks"]}
    assert fields["changed"]["element"]["initial_value"] == "9"

    def filled(changed: str) -> bytes:
        values = {
            "decision": {"given": {"selected_option": {"value": "approve"}}},
            "comment": {"given": {"type": "plain_text_input", "value": "a good price"}},
            "changed": {"given": {"value": changed}},
        }
        return platform.submission(ANN, view, values)

    wrong = (await send(slack, filled("nine"))).json()
    assert set(wrong["errors"]) == {"changed"}
    stranger = platform.submission(STRANGER, view, {})
    assert "Nobody is set" in (await send(slack, stranger)).text
    assert (await send(slack, filled("5"))).content == b""
    (changed,) = await said(platform, "response")
    assert "a good price" in json.dumps(changed["blocks"])
    decision = (await described(app, run, "completed"))["result"]["decisions"][0]
    assert (decision["comment"], decision["payload"]) == ("a good price", 5)


async def test_a_thread_is_a_session_and_each_message_counts_once(
    served: Project, slack: httpx2.AsyncClient, platform: SlackPlatform
) -> None:
    check = json.dumps({"type": "url_verification", "challenge": "c", "token": "x"}).encode()
    assert (await send(slack, check, "events")).json() == {"challenge": "c"}
    first = event(ANN, "<@U000A> where is it?", "1700000000.000100")
    while (await send(slack, first, "events")).status_code == 503:
        pass  # as Slack repeats it, until a worker has compiled the team
    (reply,) = await said(platform, "chat.postMessage")
    assert reply["text"] == "heard where is it?"
    assert (reply["channel"], reply["thread_ts"]) == ("C1", "1700000000.000100")
    assert (await send(slack, first, "events")).status_code == 200
    more: dict[str, Any] = {"thread_ts": "1700000000.000100", "type": "message"}
    second = event(BEN, "and now?", "1700000001.000100", **more)
    assert (await send(slack, second, "events")).status_code == 200
    replies = await said(platform, "chat.postMessage", 2)
    assert [reply["text"] for reply in replies] == ["heard where is it?", "heard and now?"]
    platform.calls.clear()
    ignored = [
        event(ANN, "a bot", "1700000002.000100", **more, bot_id="B1"),
        event(ANN, "edited", "1700000003.000100", **more, subtype="message_changed"),
        event(ANN, "elsewhere", "1700000004.000100", type="message"),
        event(ANN, "x", "1700000005.000100", type="reaction_added"),
        b"[]",
    ]
    for body in ignored:
        assert (await send(slack, body, "events")).status_code == 200
    assert platform.calls == []
    await send(slack, event(STRANGER, "hello", "1700000006.000100"), "events")
    (refused,) = await said(platform, "chat.postMessage")
    assert "Nobody is set" in refused["text"]
    await send(slack, event(EVE, "hello", "1700000007.000100"), "events")
    assert "starter" in (await said(platform, "chat.postMessage", 2))[1]["text"]
    client = await served.client()
    listed = client.list_workflows("WorkflowId STARTS_WITH 'talk-slack-'")
    runs = [found.id async for found in listed]
    assert len(runs) == 1
    assert len(await accepted(served, runs[0])) == 2


async def test_a_run_of_another_team_with_the_id_of_a_thread_gets_no_message_of_it(
    app: object, served: Project, slack: httpx2.AsyncClient, platform: SlackPlatform
) -> None:
    ts = "1700000100.000100"
    message = SlackMessage(type="app_mention", channel="C1", ts=ts)
    run = run_of_thread("talk", WORKSPACE, message)
    teams = served.folder / "config/teams"
    (teams / "gossip.yml").write_text((teams / "talk.yml").read_text())
    async with client_of(app, ALL) as http:
        assert (await http.post("/v1/runs", json={"team": "gossip", "id": run})).status_code == 200
    await send(slack, event(ANN, "<@U000A> a secret", ts), "events")
    (refused,) = await said(platform, "chat.postMessage")
    assert "already exists" in refused["text"]
    assert await accepted(served, run) == []
    await (await served.client()).get_workflow_handle(run).terminate()


async def test_a_message_that_meets_a_broken_document_says_so_in_its_thread(
    served: Project, slack: httpx2.AsyncClient, platform: SlackPlatform
) -> None:
    file = served.folder / "config/teams/talk.yml"
    written = file.read_text()
    body = event(ANN, "<@U000A> hello?", "1700000300.000100")
    try:
        file.write_text("orchestration: 1\n")
        assert (await send(slack, body, "events")).status_code == 200
    finally:
        file.write_text(written)
    (told,) = await said(platform, "chat.postMessage")
    assert told["thread_ts"] == "1700000300.000100"
    assert "talk.yml:1:" in told["text"]
    text, number = told["text"], 0
    while "talk.yml:1:" in text:  # the gateway looks at its files once a second
        platform.calls.clear()
        number += 1
        at = f"1700000301.{number:06}"
        again = event(ANN, "<@U000A> again", at, thread_ts="1700000300.000100")
        while (await send(slack, again, "events")).status_code == 503:
            pass  # as Slack repeats it
        (reply,) = await said(platform, "chat.postMessage")
        text = reply["text"]
    assert text == "heard again"


async def test_what_slack_has_not_signed_just_now_is_refused(
    slack: httpx2.AsyncClient, platform: SlackPlatform
) -> None:
    body = platform.press(ANN, "coterie_approve", "{}", {})
    good = signed_headers(body)
    bad: list[dict[str, str]] = [
        {},
        {**good, "x-slack-signature": "v0=" + "0" * 64},
        {**good, "x-slack-request-timestamp": "now"},
        {**good, "x-slack-request-timestamp": "9" * 40},
        signed_headers(body, at=1_000_000),
        signed_headers(body + b"x"),
        signed_headers(body, secret="another"),
    ]
    for headers in bad:
        for at in ("interactions", "events"):
            answer = await slack.post(f"/slack/{at}", content=body, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (401, "signature_invalid")
    large = b"x" * 600_000
    answer = await slack.post("/slack/events", content=large, headers=signed_headers(large))
    assert answer.status_code == 413
    unreadable = b"\xff\xfe=\x00"
    for at in ("interactions", "events"):
        assert (await send(slack, unreadable, at)).status_code == 200
    assert platform.calls == []
