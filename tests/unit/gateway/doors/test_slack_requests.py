"""What comes from Slack, and what goes there: signatures, addresses, people, plain texts."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers
from starlette.requests import Request

from coterie.activities.contracts import Notification
from coterie.activities.slack_messages import slack_error, slack_message
from coterie.dsl.model.sections.access_document import AccessSection, SlackSection
from coterie.gateway.doors.slack.background_work import MAX_TASKS, BackgroundWork
from coterie.gateway.doors.slack.slack_blocks import decision_dialog, escaped
from coterie.gateway.doors.slack.slack_client import SlackClient, is_response_url
from coterie.gateway.doors.slack.slack_payloads import (
    DialogOrigin,
    EventDelivery,
    PressedMessage,
    SlackMessage,
    read_choice,
    read_delivery,
    read_interaction,
    read_origin,
    without_buttons,
)
from coterie.gateway.doors.slack.slack_people import slack_identity
from coterie.gateway.doors.slack.slack_signatures import MAX_SKEW, is_from_slack, signature_of
from coterie.gateway.doors.slack.slack_threads import SlackThreads, run_of_thread, without_mention
from coterie.gateway.doors.slack.thread_posts import ThreadPosts
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.run_access import RunAccess
from coterie.server.connection import Connection
from coterie.settings import load
from coterie.workflows.core.requests import Pending

NOW = 1_531_420_618.0
# The example of Slack's page about verifying requests: https://docs.slack.dev/authentication
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
NOTICE = Notification(
    id="1",
    channel="ops",
    what="request",
    text="pay/sign#1 waits <!here>",
    run="r1",
    plan="pay",
    request="pay/sign#1",
    prompt="Pay <@U1>?",
    show={"amount": 7},
    digest="d" * 64,
    since="2026-01-01T00:00:00Z",
)


def headers(body: bytes, at: float = NOW) -> Headers:
    sent_at = str(int(at))
    return Headers(
        {
            "x-slack-request-timestamp": sent_at,
            "x-slack-signature": signature_of(SECRET, sent_at, body),
        }
    )


def test_a_signature_counts_for_its_body_and_for_five_minutes() -> None:
    body = "payload=é".encode()
    assert is_from_slack(SECRET, headers(body), body, NOW)
    assert is_from_slack(SECRET, headers(body), body, NOW + MAX_SKEW)
    assert not is_from_slack(SECRET, headers(body), body, NOW + MAX_SKEW + 1)
    assert not is_from_slack(SECRET, headers(body), body, NOW - MAX_SKEW - 1)
    assert not is_from_slack(SECRET, headers(body), body + b" ", NOW)
    assert not is_from_slack("another", headers(body), body, NOW)
    twice = Headers(raw=[*headers(body).raw, (b"x-slack-signature", b"v0=" + b"0" * 64)])
    assert not is_from_slack(SECRET, twice, body, NOW)


@given(st.text(max_size=80), st.text(max_size=80), st.binary(max_size=80))
def test_garbage_is_no_signature_and_no_error(time: str, signature: str, body: bytes) -> None:
    raw = [
        (b"x-slack-request-timestamp", time.encode("latin-1", "replace")),
        (b"x-slack-signature", signature.encode("latin-1", "replace")),
    ]
    assert not is_from_slack(SECRET, Headers(raw=raw), body, NOW)


@given(st.binary(max_size=200))
def test_any_body_is_read_or_ignored(body: bytes) -> None:
    assert read_interaction(body) is None
    assert read_delivery(body) is None
    assert read_choice(body.decode(errors="replace")) is None
    assert read_origin(body.decode(errors="replace")) is None


@pytest.mark.parametrize(
    ("url", "is_ours"),
    [
        ("https://hooks.slack.com/actions/T1/1/x", True),
        ("https://hooks.slack.com:443/actions/T1/1/x", True),
        ("http://hooks.slack.com/actions", False),
        ("https://hooks.slack.com.evil.example/", False),
        ("https://evil.example/hooks.slack.com", False),
        ("https://x@hooks.slack.com/", False),
        ("https://hooks.slack.com:8443/", False),
        ("https://hooks.slack.com:x/", False),
        ("http://127.0.0.1/", False),
        ("file:///etc/passwd", False),
        ("https://hooks.slack.com/\n", False),
        ("", False),
    ],
)
def test_only_addresses_of_slack_change_a_message(url: str, is_ours: bool) -> None:
    assert is_response_url(url, SlackSection(signing_secret_env="S")) is is_ours


def test_a_stand_in_on_this_machine_answers_at_its_own_address_alone() -> None:
    stand_in = SlackSection(signing_secret_env="S", api="http://127.0.0.1:9/api")
    assert is_response_url("http://127.0.0.1:9/respond", stand_in)
    assert not is_response_url("http://127.0.0.1:10/respond", stand_in)
    assert not is_response_url("https://hooks.slack.com/x", stand_in)
    with pytest.raises(ValueError, match="https address"):
        SlackSection(signing_secret_env="S", api="http://slack.example/api")


def test_only_people_whom_the_settings_name_have_an_identity_with_their_grants() -> None:
    access = AccessSection.model_validate(
        {
            "slack": {"signing_secret_env": "S", "users": {"T1/U1": "ann@example.com"}},
            "grants": [
                {"roles": ["approver"], "subjects": ["ann@example.com"], "teams": ["pay"]},
                {"roles": ["admin"], "groups": ["*"]},
            ],
        }
    )
    ann = slack_identity(access, "T1", "U1")
    assert ann is not None
    assert (ann.subject, ann.approver, ann.method) == ("T1/U1", "ann@example.com", "slack")
    assert [(grant.role, grant.teams) for grant in ann.grants] == [("approver", "pay")]
    assert slack_identity(access, "T2", "U1") is None
    assert slack_identity(access, "T1", "U2") is None
    assert slack_identity(AccessSection(), "T1", "U1") is None


def blocks(**changes: Any) -> list[Any]:
    message: Any = slack_message(NOTICE.model_copy(update=changes), "", "C1")
    return message["blocks"]


def test_a_message_has_only_plain_texts_and_the_digest_in_its_buttons() -> None:
    message: Any = slack_message(NOTICE, "", "C1")
    assert message["text"] == "pay/sign#1 waits &lt;!here&gt;"
    assert "mrkdwn" not in {block.get("text", {}).get("type") for block in message["blocks"]}
    buttons = message["blocks"][-1]["elements"]
    assert [button["action_id"] for button in buttons] == [
        "coterie_approve",
        "coterie_reject",
        "coterie_comment",
    ]
    choice = read_choice(buttons[0]["value"])
    assert choice is not None
    assert (choice.run, choice.request, choice.digest) == ("r1", "pay/sign#1", "d" * 64)
    kept = without_buttons(PressedMessage(blocks=message["blocks"]))
    assert [block["type"] for block in kept] == ["section", "section", "context"]  # pyright: ignore


@pytest.mark.parametrize(
    "changes",
    [
        {"show": "x" * 3_000},
        {"prompt": "x" * 3_000},
        {"show": None, "subject": "large"},
        {"run": "r" * 2_000},
        {"what": "timeout"},
    ],
    ids=["long value", "long prompt", "value left out", "long id", "over"],
)
def test_nobody_decides_by_a_button_about_what_is_not_shown(changes: dict[str, Any]) -> None:
    assert "actions" not in [block["type"] for block in blocks(**changes)]


def test_withheld_requests_have_no_buttons() -> None:
    message: Any = slack_message(NOTICE, "", "C1", is_withheld=True)
    assert "actions" not in [block["type"] for block in message["blocks"]]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b'{"ok": true}', ""),
        (b'{"ok": false, "error": "not_in_channel"}', "not_in_channel"),
        (b'{"ok": false, "error": "<script>"}', "unknown_error"),
        (b"[]", "unknown_error"),
        (b"<html>", "service_unavailable"),
    ],
)
def test_an_answer_of_slack_is_read_by_its_code(answer: bytes, code: str) -> None:
    assert slack_error(answer) == code


def test_a_dialog_offers_a_change_only_where_one_is_allowed() -> None:
    choice = read_choice(json.dumps({"run": "r", "request": "q", "digest": "d"}))
    assert choice is not None
    origin = DialogOrigin(choice=choice, response_url="https://hooks.slack.com/x", text="t")
    asked = Pending(id="q", prompt="p", show={"a": 1}, since="", editable=True)
    fields: Any = decision_dialog(origin, asked)
    assert [block.get("block_id") for block in fields["blocks"]] == [
        None,
        "decision",
        "comment",
        "changed",
    ]
    fixed: Any = decision_dialog(origin, asked.model_copy(update={"editable": False}))
    assert len(fixed["blocks"]) == 3
    assert read_origin(fields["private_metadata"]) == origin


def test_a_thread_has_one_session_and_a_mention_is_not_part_of_the_message() -> None:
    first = SlackMessage(type="app_mention", channel="C1", ts="1.1", user="U1", text="<@U9> hi")
    later = first.model_copy(update={"ts": "2.2", "thread_ts": "1.1", "type": "message"})
    other = first.model_copy(update={"ts": "2.2"})
    runs = [run_of_thread("desk", "T1", message) for message in (first, later, other)]
    assert runs[0] == runs[1] != runs[2]
    assert run_of_thread("desk", "T2", first) != runs[0]
    assert without_mention(first.text) == "hi"
    assert without_mention("a > b") == "a > b"
    assert escaped("<@U1> & co") == "&lt;@U1&gt; &amp; co"


def threads(folder: Path, work: BackgroundWork) -> SlackThreads:
    """Threads without a server: each message meets an error that nobody expects."""
    section = AccessSection.model_validate(
        {
            "slack": {
                "signing_secret_env": "S",
                "bot_token_env": "T",
                "team": "talk",
                "users": {"T1/U1": "ann"},
            }
        }
    )
    assert section.slack is not None
    access = RunAccess(load({}, folder), Connection.__new__(Connection))
    return SlackThreads(access, section, ThreadPosts(SlackClient(section.slack, "token")), work)


MENTION = read_delivery(
    json.dumps(
        {
            "type": "event_callback",
            "team_id": "T1",
            "event_id": "E1",
            "event": {
                "type": "app_mention",
                "user": "U1",
                "channel": "C1",
                "ts": "1700000000.000100",
                "text": "hello",
            },
        }
    ).encode()
)
REQUEST = Request({"type": "http", "headers": [], "client": ("127.0.0.1", 1), "path": "/slack"})


async def test_a_message_that_meets_a_defect_is_sent_anew_by_its_next_delivery(
    tmp_path: Path,
) -> None:
    talking = threads(tmp_path, BackgroundWork())
    assert isinstance(MENTION, EventDelivery)
    assert not await talking.receive(REQUEST, MENTION)
    assert talking.deliveries == {}


async def test_a_message_that_comes_while_too_much_is_in_progress_is_not_remembered(
    tmp_path: Path,
) -> None:
    work, end = BackgroundWork(), asyncio.Event()
    talking = threads(tmp_path, work)
    assert isinstance(MENTION, EventDelivery)
    for _ in range(MAX_TASKS):
        work.start(end.wait())
    with pytest.raises(Rejection, match="too much"):
        await talking.receive(REQUEST, MENTION)
    assert talking.deliveries == {}
    end.set()
    await work.close()
