"""Notices reach people signed, once, or say why not, and give no secret away."""

import asyncio
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import Notification
from coterie.activities.notifications import (
    Channel,
    NotificationActivities,
    NotificationCommand,
    SlackChannel,
    Webhook,
    signed,
)
from coterie.dsl.model.capabilities import KeptLabel
from tests.law.sources import ROOT
from tests.support.platforms.slack_platform import TOKEN, slack_platform
from tests.support.servers.raw_server import raw_server
from tests.support.servers.receiver import receiver
from tests.support.tool_functions import environment
from tests.support.watching.processes import is_running, pid_in

SECRET = "whsec_c2VjcmV0LW9mLXRoZS1yZWNlaXZlcg=="
NOTICE = Notification(
    id="msg_1",
    channel="ops",
    what="request",
    text="review/sign#1 waits",
    run="r1",
    plan="p",
    request="review/sign#1",
    prompt="Ship?",
    digest="0123456789ab",
    since="2026-01-01T00:00:00Z",
)


def documented() -> Callable[..., bool]:
    """The receiver's check as docs/approvals.md has it."""
    page = (ROOT / "docs" / "approvals.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (code,) = (block for block in blocks if "def accepted(" in block)
    names: dict[str, Any] = {}
    exec(code, names)
    return names["accepted"]


async def notify(
    channel: Channel | None, folder: Path, notice: Notification = NOTICE, seconds: float = 60.0
) -> None:
    channels = {} if channel is None else {"ops": channel}
    variables = {"PATH": "/usr/bin:/bin", "TOKEN": "t", "KEY": "k"}
    activities = NotificationActivities(channels, variables, folder)
    await environment(timeout=seconds).run(activities.notify, notice)


async def test_a_command_imports_nothing_that_an_agent_wrote_into_the_workspace(
    tmp_path: Path,
) -> None:
    (tmp_path / "this.py").write_text("open('imported', 'w')")
    await notify(NotificationCommand((sys.executable, "-m", "this"), 20, ()), tmp_path)
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize("kind", ["webhook", "command"])
@pytest.mark.parametrize(
    ("labels", "grants", "carried"),
    [
        (("private", "untrusted"), (), False),
        (("private", "untrusted"), ("private",), True),
        (("private", "untrusted"), ("untrusted",), True),
        (("private",), (), True),
        (("untrusted",), (), True),
        ((), (), True),
    ],
)
async def test_a_channel_without_a_grant_carries_nothing_that_the_run_wrote(
    kind: str,
    labels: tuple[KeptLabel, ...],
    grants: tuple[KeptLabel, ...],
    carried: bool,
    tmp_path: Path,
) -> None:
    update = {"prompt": "Is ![](https://a.example/?4711) fine?", "show": 4711, "labels": labels}
    notice = NOTICE.model_copy(update=update)
    if kind == "webhook":
        with receiver() as there:
            await notify(Webhook(there.url, grants=grants), tmp_path, notice)
            [sent] = there.deliveries
        message = sent.message
    else:
        keep = f"tee {tmp_path}/sent.part >/dev/null && mv {tmp_path}/sent.part {tmp_path}/sent"
        await notify(NotificationCommand(("sh", "-c", keep), grants=grants), tmp_path, notice)
        message = json.loads((tmp_path / "sent").read_text())
    assert message["request"] == "review/sign#1"
    assert message["labels"] == list(labels)
    assert ("4711" in json.dumps(message)) is carried
    assert ("coterie pending" in message["prompt"]) is not carried


async def failed_notification(
    channel: Channel | None, folder: Path, seconds: float = 60.0
) -> ApplicationError:
    with pytest.raises(ApplicationError) as raised:
        await notify(channel, folder, seconds=seconds)
    return raised.value


async def test_a_webhook_is_signed_and_the_documented_receiver_takes_it_once(
    tmp_path: Path,
) -> None:
    accepted = documented()
    with receiver() as there:
        for _ in range(2):
            await notify(Webhook(there.url, "a text"), tmp_path)
        first, again = there.deliveries
    assert first.message["text"] == "review/sign#1 waits"
    assert "channel" not in first.message
    assert first.headers["webhook-id"] == again.headers["webhook-id"] == "msg_1"
    seen: set[str] = set()
    assert accepted(first.headers, first.body, "a text", seen)
    assert not accepted(again.headers, again.body, "a text", seen), "it knows the id"
    assert not accepted(first.headers, first.body, "another", set())
    assert not accepted(first.headers, first.body + b" ", "a text", set())
    old = {**first.headers, "webhook-timestamp": str(int(time.time()) - 600)}
    assert not accepted(old, first.body, "a text", set())


async def test_a_webhook_gets_the_diff_of_a_change_that_is_too_large_to_send(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("same\n" * 2000 + "old\n")
    subject: JsonValue = {"path": "a.txt", "content": "same\n" * 2000 + "new \u001b\n"}
    with receiver() as there:
        notice = NOTICE.model_copy(update={"subject": subject})
        await notify(Webhook(there.url, "a text"), tmp_path, notice)
        [sent] = there.deliveries
    assert sent.message["diff"] == (
        "modify a.txt\n@@ -1998,4 +1998,4 @@\n same\n same\n same\n-old\n+new \\u001b"
    )
    assert "subject" not in sent.message


@pytest.mark.parametrize(
    ("labels", "grants", "has_diff"),
    [
        ((), (), True),
        (("private",), (), True),
        (("untrusted",), (), False),
        (("private", "untrusted"), (), False),
        (("private", "untrusted"), ("private",), True),
    ],
)
async def test_no_diff_of_private_files_goes_where_text_of_others_may_have_chosen_it(
    labels: tuple[KeptLabel, ...], grants: tuple[KeptLabel, ...], has_diff: bool, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    show: JsonValue = {"path": "a.txt", "old": "old", "new": "new"}
    keep = ("sh", "-c", "cat > sent")
    update = {"show": show, "labels": labels, "asked_because": "context.key is 4711"}
    notice = NOTICE.model_copy(update=update)
    await notify(NotificationCommand(keep, grants=grants), tmp_path, notice)
    sent = (tmp_path / "sent").read_text()
    assert ("-old" in sent) is has_diff
    assert ("4711" in sent) is (has_diff or labels == ("untrusted",))


def test_the_signature_is_that_of_the_specification() -> None:
    headers = signed(
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        b'{"test": 2432232314}',
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        1614265330,
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert "webhook-signature" not in signed("a", b"", None, 1)


@pytest.mark.parametrize(
    ("status", "again"), [(503, True), (429, True), (404, False), (302, False), (400, False)]
)
async def test_webhook_status_decides_whether_the_notification_repeats(
    tmp_path: Path, status: int, again: bool
) -> None:
    with receiver(status) as there:
        there.headers = {"retry-after": "7", "location": "http://127.0.0.1:1/"}
        error = await failed_notification(Webhook(there.url), tmp_path)
    assert error.message == f"the webhook of channel 'ops' answered {status}"
    assert error.non_retryable is not again
    assert error.next_retry_delay is not None
    assert error.next_retry_delay.total_seconds() == 7
    assert len(there.deliveries) == 1, "no redirect is followed"


async def test_a_webhook_may_answer_without_an_end(tmp_path: Path) -> None:
    endless = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n"
    async with raw_server(endless, drip=b"thanks ") as there, asyncio.timeout(60):
        await notify(Webhook(there.url), tmp_path)
    assert len(there.requests) == 1


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/s3cret-path", "http://exa mple/s3cret-path", "nonsense-s3cret-path"]
)
async def test_an_address_that_cannot_be_reached_is_not_reported(tmp_path: Path, url: str) -> None:
    error = await failed_notification(Webhook(url, "s3cret"), tmp_path)
    assert "could not reach the webhook of channel 'ops'" in error.message
    assert "s3cret" not in str(error)
    assert error.__cause__ is None
    assert "s3cret" not in repr(Webhook(url, "s3cret"))


async def test_a_webhook_goes_through_the_proxy_except_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://user:hush@127.0.0.1:1")
    with receiver(200) as there:
        await notify(Webhook(there.url), tmp_path)
    error = await failed_notification(Webhook("http://ops.example/s3cret"), tmp_path)
    assert error.message == (
        "could not reach the webhook of channel 'ops' through the proxy 127.0.0.1:1: ConnectError"
    )


async def test_channel_that_does_not_answer_times_out(tmp_path: Path) -> None:
    with receiver(0) as there:
        error = await failed_notification(Webhook(there.url, timeout=0.2), tmp_path)
    assert error.message == "could not reach the webhook of channel 'ops': ReadTimeout"
    assert not error.non_retryable


async def test_a_channel_or_a_variable_that_is_not_there_is_named(tmp_path: Path) -> None:
    error = await failed_notification(None, tmp_path)
    assert error.message == "this worker has no channel 'ops'; it has: none"
    assert error.non_retryable
    error = await failed_notification(Webhook("http://x/", None, missing="OPS_SECRET"), tmp_path)
    assert "needs the environment variable OPS_SECRET" in error.message
    assert error.non_retryable


READ = "import os, sys; open('out', 'w').write(sys.stdin.read() + '|' + str(sorted(os.environ)))"


async def test_a_command_reads_the_notice_and_sees_little_else(tmp_path: Path) -> None:
    large = NOTICE.model_copy(update={"prompt": "x" * 200_000})
    await notify(NotificationCommand((sys.executable, "-c", READ), env=("TOKEN",)), tmp_path, large)
    body, _, seen = (tmp_path / "out").read_text().partition("|")
    assert json.loads(body)["prompt"] == "x" * 200_000
    assert "TOKEN" in seen
    assert "KEY" not in seen


@pytest.mark.parametrize(
    ("run", "seconds", "message", "again"),
    [
        ((sys.executable, "-c", "raise SystemExit(3)"), 10.0, "ended with exit code 3", True),
        ((sys.executable, "-c", "import time; time.sleep(60)"), 0.3, "within 0.3 s", True),
        (("no-such-program",), 10.0, "could not start the command", False),
    ],
)
async def test_a_command_that_fails_says_how(
    tmp_path: Path, run: tuple[str, ...], seconds: float, message: str, again: bool
) -> None:
    error = await failed_notification(NotificationCommand(run, seconds), tmp_path)
    assert message in error.message
    assert error.non_retryable is not again


async def test_nothing_of_a_command_outlives_its_time(tmp_path: Path) -> None:
    script = "sleep 60 & echo $! > pid; wait"
    await failed_notification(NotificationCommand(("/bin/sh", "-c", script), 0.5), tmp_path)
    pid = pid_in(tmp_path / "pid")
    assert pid is None or not is_running(pid)  # None: it was stopped before it began the other


async def test_a_notification_ends_itself_before_its_activity_times_out(tmp_path: Path) -> None:
    sleeps = NotificationCommand(("/bin/sleep", "600"), 600, ())
    error = await failed_notification(sleeps, tmp_path, seconds=0.5)
    assert (error.type, error.non_retryable) == ("NotificationFailed", False)
    assert error.message == "channel 'ops' did not end within 0.5 s"


async def test_a_message_in_slack_has_buttons_and_its_refusals_have_names(tmp_path: Path) -> None:
    with slack_platform() as platform:
        channel = SlackChannel("C1", TOKEN, f"{platform.url}/api")
        await notify(channel, tmp_path)
        (sent,) = platform.sent("chat.postMessage")
        assert sent["channel"] == "C1"
        assert "Ship?" in json.dumps(sent["blocks"])
        assert "coterie_approve" in json.dumps(sent["blocks"])
        labelled = NOTICE.model_copy(update={"labels": ("private", "untrusted")})
        await notify(channel, tmp_path, labelled)
        withheld = json.dumps(platform.sent("chat.postMessage", 2)[1])
        assert "Ship?" not in withheld
        assert "coterie_approve" not in withheld
        platform.errors += ["not_in_channel", "ratelimited"]
        for code, is_final in (("not_in_channel", True), ("ratelimited", False)):
            with pytest.raises(ApplicationError, match=code) as error:
                await notify(channel, tmp_path)
            assert error.value.non_retryable is is_final
        wrong = SlackChannel("C1", "xoxb-wrong", f"{platform.url}/api")
        with pytest.raises(ApplicationError, match="invalid_auth") as refused:
            await notify(wrong, tmp_path)
        assert "xoxb" not in str(refused.value)
    with pytest.raises(ApplicationError, match="SLACK_TOKEN") as lacking:
        await notify(
            SlackChannel("C1", None, "http://localhost/api", missing="SLACK_TOKEN"), tmp_path
        )
    assert lacking.value.non_retryable
