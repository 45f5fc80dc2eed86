"""Notify people of requests that wait for them, by a webhook, a command, or a message in Slack.

The worker's configuration says how a channel reaches people; a run only names the channel. Webhook
requests are signed by the Standard Webhooks specification, with the time of the attempt, so that a
receiver can reject forged, old and duplicate ones.
"""

import base64
import hmac
import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from shlex import join
from typing import cast

from temporalio import activity
from temporalio.exceptions import ApplicationError

from coterie.activities.changes.shown_changes import AskedChange, shortened_diff
from coterie.activities.contracts import NOTIFY, Notification, PushTarget
from coterie.activities.heartbeats import CallTimedOut, heartbeating
from coterie.activities.processes.bounded_output import BoundedOutput
from coterie.activities.processes.process_group import NotStarted, run_group
from coterie.activities.providers.http_statuses import retry_after
from coterie.activities.proxies import DIRECT, proxy_of, trusted
from coterie.activities.slack_messages import (
    SLACK_ERRORS_THAT_PASS,
    slack_error,
    slack_message,
)
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.tool_functions.repository.commit_diff import shown_commit
from coterie.activities.tool_functions.repository.git_commit import COMMIT
from coterie.activities.workspace.command_start import SAFE_IMPORTS, environment_of
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.web_access import WebAccess
from coterie.dsl.egress.met_labels import KEPT
from coterie.dsl.errors import listed
from coterie.dsl.model.capabilities import KeptLabel
from coterie.dsl.values import Json

_WITHHELD = (
    "What it asks is not sent: the run has read private data and text that others wrote. "
    "`coterie pending` shows it."
)
_MAX_WAIT = 60.0
"""Seconds: the upper limit for a receiver's Retry-After."""
_MAX_ANSWER = 64 * 1024
"""Bytes that are read of Slack's answer."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that receives a POST with JSON."""

    url: str | None = field(repr=False)
    """None when its environment variable is not set."""
    secret: str | None = field(default=None, repr=False)
    timeout: float = 10.0
    missing: str | None = None
    """The environment variable that must be set and is not."""
    grants: tuple[KeptLabel, ...] = ()
    """What allows it to carry what a run asks, also after the run has met both labels."""


@dataclass(frozen=True, slots=True)
class NotificationCommand:
    """A command that reads JSON from its standard input."""

    run: tuple[str, ...]
    timeout: float = 10.0
    env: tuple[str, ...] = ()
    grants: tuple[KeptLabel, ...] = ()
    """As of a webhook."""


@dataclass(frozen=True, slots=True)
class SlackChannel:
    """A channel in Slack, to which an app posts."""

    channel: str
    token: str | None = field(repr=False)
    """None when its environment variable is not set."""
    api: str
    timeout: float = 10.0
    missing: str | None = None
    """As of a webhook."""
    grants: tuple[KeptLabel, ...] = ()
    """As of a webhook."""


Channel = Webhook | NotificationCommand | SlackChannel


class NotificationFailed(Exception):
    """Delivery failed; the message contains neither address nor secret."""

    def __init__(self, message: str, *, may_pass: bool = True, wait: float | None = None) -> None:
        self.may_pass = may_pass
        self.wait = wait
        super().__init__(message)


class NotificationActivities:
    """Sends notifications through the channels of one worker."""

    def __init__(
        self,
        channels: Mapping[str, Channel],
        environment: Mapping[str, str],
        folder: Path,
        web: WebAccess | None = None,
    ) -> None:
        self._channels = channels
        self._environment = environment
        self._folder = folder
        self._web = web or WebAccess()

    @activity.defn(name=NOTIFY)
    async def notify(self, notice: Notification) -> None:
        """Deliver one notification.

        Raises:
            ApplicationError: Delivery failed; retryable only when the cause may pass.
        """
        try:
            async with heartbeating():
                await self._deliver(notice)
        except CallTimedOut as late:
            raise ApplicationError(
                f"channel {notice.channel!r} {late}", type=NotificationFailed.__name__
            ) from None
        except NotificationFailed as error:
            wait = None if error.wait is None else min(error.wait, _MAX_WAIT)
            raise ApplicationError(
                str(error),
                type=NotificationFailed.__name__,
                non_retryable=not error.may_pass,
                next_retry_delay=None if wait is None else timedelta(seconds=wait),
            ) from None

    async def _deliver(self, notice: Notification) -> None:
        if notice.push is not None:
            await self._push(notice, notice.push)
            return
        channel = self._channels.get(notice.channel)
        is_withheld = channel is not None and _withholds(notice, channel)
        if is_withheld:
            notice = _without_private_data(notice)
        message = await self._message(notice, channel)
        if isinstance(channel, SlackChannel):
            diff = str(message.get("diff", ""))
            asked = slack_message(notice, diff, channel.channel, is_withheld=is_withheld)
            await _post_to_slack(channel, notice, json.dumps(asked).encode())
            return
        body = json.dumps(message, ensure_ascii=False)
        content = body.encode(errors="replace")
        match channel:
            case None:
                names = listed(self._channels) or "none"
                raise NotificationFailed(
                    f"this worker has no channel {notice.channel!r}; it has: {names}",
                    may_pass=False,
                )
            case Webhook():
                await _post(channel, notice, content)
            case NotificationCommand():
                await self._run(channel, notice, content)

    async def _push(self, notice: Notification, target: PushTarget) -> None:
        """Send the state of a run to an A2A client."""
        from coterie.activities.push_delivery import PushFailed, send_push

        try:
            await send_push(notice, target, self._web)
        except PushFailed as error:
            raise NotificationFailed(
                f"push configuration {notice.channel!r}: {error}",
                may_pass=error.may_pass,
                wait=error.wait,
            ) from None

    async def _message(self, notice: Notification, channel: Channel | None) -> Json:
        """Return what a receiver gets: the notification, with the diff of files that change.

        Files are private: there is no diff where text of others may have chosen what it shows.
        """
        left_out = {"channel", "subject", "push"}
        message = cast("Json", notice.model_dump(mode="json", exclude=left_out))
        if channel is None or ("untrusted" in notice.labels and not channel.grants):
            return message
        subject = notice.show if notice.subject is None else notice.subject
        whole = join(("coterie", "show", notice.run, notice.request))
        commit: list[str] = []
        if notice.call == COMMIT.name:
            here = Workspace(self._folder, environment=self._environment)
            commit = await shown_commit(subject, here)
        change = AskedChange(notice.show, subject, notice.call, commit)
        diff = await FUNCTION_THREADS.run(shortened_diff, change, self._folder, whole)
        return {**message, "diff": diff} if diff else message

    async def _run(self, command: NotificationCommand, notice: Notification, body: bytes) -> None:
        environment = SAFE_IMPORTS | environment_of(command.env, self._environment)
        try:
            ended = await run_group(
                command.run,
                cwd=self._folder,
                environment=environment,
                seconds=command.timeout,
                output=BoundedOutput(),
                given=body,
            )
        except NotStarted as error:
            raise NotificationFailed(
                f"could not start the command of channel {notice.channel!r}: {error}",
                may_pass=False,
            ) from None
        if ended.timed_out:
            raise NotificationFailed(
                f"the command of channel {notice.channel!r} did not end within "
                f"{command.timeout:g} s"
            )
        if ended.exit_code != 0:
            raise NotificationFailed(
                f"the command of channel {notice.channel!r} ended with exit code {ended.exit_code}"
            )


def _withholds(notice: Notification, channel: Channel) -> bool:
    """Return whether text of others may have put private data into what the run wrote.

    Whoever receives it may show it where others read, or follow its links to draw a preview.
    """
    return not channel.grants and set(notice.labels).issuperset(KEPT)


def _without_private_data(notice: Notification) -> Notification:
    withheld = {"prompt": _WITHHELD, "show": None, "subject": None, "asked_because": ""}
    return notice.model_copy(update=withheld)


async def _post(webhook: Webhook, notice: Notification, body: bytes) -> None:
    headers = signed(notice.id, body, webhook.secret, int(time.time()))
    await _send(webhook, webhook.url, notice, body, headers)


async def _post_to_slack(channel: SlackChannel, notice: Notification, body: bytes) -> None:
    headers = {"authorization": f"Bearer {channel.token}"}
    url = None if channel.token is None else f"{channel.api}/chat.postMessage"
    answer = await _send(channel, url, notice, body, headers)
    code = slack_error(answer)
    if code:
        raise NotificationFailed(
            f"Slack refuses the message of channel {notice.channel!r}: {code}",
            may_pass=code in SLACK_ERRORS_THAT_PASS,
        )


async def _send(
    channel: Webhook | SlackChannel,
    url: str | None,
    notice: Notification,
    body: bytes,
    more: Mapping[str, str],
) -> bytes:
    """Post a notification; return the beginning of the answer."""
    if url is None or channel.missing is not None:
        raise NotificationFailed(
            f"channel {notice.channel!r} needs the environment variable {channel.missing}, "
            "which is not set on this worker",
            may_pass=False,
        )
    import httpx2  # late: a worker without webhooks does not need it

    name = "Slack" if isinstance(channel, SlackChannel) else "the webhook"
    content_type = "application/json; charset=utf-8" if name == "Slack" else "application/json"
    headers = {"content-type": content_type, "user-agent": "coterie", **more}
    begun = b""
    try:
        async with (
            httpx2.AsyncClient(
                verify=trusted(),
                timeout=channel.timeout,
                follow_redirects=False,
                mounts=DIRECT,
            ) as client,
            client.stream("POST", url, content=body, headers=headers) as answer,
        ):
            if isinstance(channel, SlackChannel):  # of a webhook, it may have no end
                begun = await _beginning_of(answer.aiter_bytes())
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        # the error text may contain the address, and the address may contain a secret
        proxy = proxy_of(url)
        through = f" through the proxy {proxy}" if proxy else ""
        raise NotificationFailed(
            f"could not reach {name} of channel {notice.channel!r}{through}: {type(error).__name__}"
        ) from None
    if answer.is_success:
        return begun
    status = answer.status_code
    raise NotificationFailed(
        f"{name} of channel {notice.channel!r} answered {status}",
        may_pass=status in (408, 409, 425, 429) or status >= 500,
        wait=retry_after({name.lower(): value for name, value in answer.headers.items()}),
    )


async def _beginning_of(chunks: AsyncIterator[bytes]) -> bytes:
    begun = bytearray()
    async for chunk in chunks:
        begun += chunk
        if len(begun) > _MAX_ANSWER:
            break
    return bytes(begun[:_MAX_ANSWER])


def signed(id: str, body: bytes, secret: str | None, at: int) -> dict[str, str]:
    """Build the headers of the Standard Webhooks specification; no signature without a secret.

    Args:
        id: Message id, the same for each attempt.
        body: The request body as sent.
        secret: Plain text, or `whsec_` and base64.
        at: Unix time of this attempt, in seconds.
    """
    headers = {"webhook-id": id, "webhook-timestamp": str(at)}
    if secret is not None:
        content = f"{id}.{at}.".encode() + body
        digest = hmac.new(_key(secret), content, sha256).digest()
        headers["webhook-signature"] = f"v1,{base64.b64encode(digest).decode()}"
    return headers


def _key(secret: str) -> bytes:
    if secret.startswith("whsec_"):
        try:
            return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except ValueError:
            pass
    return secret.encode()
