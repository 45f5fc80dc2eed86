"""Messages about requests as a worker posts them to Slack."""

from typing import Any

from coterie.activities.contracts import Notification
from coterie.activities.slack_messages import slack_message
from coterie.workflows.core.requests import Pending
from tests.support.gateway import waiting


async def posted(app: object, run: str) -> tuple[dict[str, Any], str]:
    """The message about the request of a run, as the worker posts it, and the button's value."""
    asked = Pending.model_validate((await waiting(app, run))["request"])
    notice = Notification(
        id="1", channel="slack", what="request", text=f"{asked.id} waits", run=run, plan="deal",
        request=asked.id, prompt=asked.prompt, show=asked.show, digest=asked.digest,
        approvers=asked.approvers, since=asked.since,
    )  # fmt: skip
    message = slack_message(notice, "", "C1")
    (buttons,) = [block for block in message["blocks"] if block["type"] == "actions"]  # pyright: ignore
    return message, buttons["elements"][0]["value"]  # pyright: ignore
