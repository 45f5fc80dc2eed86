"""The message about a request in Slack: what waits, and the buttons that decide it. Pure.

All texts are plain: what a run wrote makes no links, and mentions nobody.
"""

import json
import re
from typing import Final

from pydantic import JsonValue, ValidationError

from coterie.activities.contracts import Notification, SlackChoice
from coterie.dsl.strict_json import read_json
from coterie.dsl.values import Json
from coterie.dsl.visible import shortened_text, visible

_MAX_TEXT: Final = 2_900
"""Characters of one block; Slack takes 3,000."""
_MAX_VALUE: Final = 2_000
"""Characters of the value of a button."""
_MAX_FACTS: Final = 500
_CODE: Final = re.compile(r"[a-z_]{1,60}", re.ASCII)


def slack_message(
    notice: Notification, diff: str, channel: str, *, is_withheld: bool = False
) -> Json:
    """Return the arguments of `chat.postMessage`.

    There are no buttons where the message does not have all that is decided about.

    Args:
        notice: About the request.
        diff: Of the files that it would change.
        channel: The id of the channel in Slack.
        is_withheld: Whether what the run wrote is left out.
    """
    shown = _shown_text(notice, diff)
    prompt = visible(notice.prompt)
    is_whole = len(shown) <= _MAX_TEXT and len(prompt) <= _MAX_TEXT and notice.subject is None
    blocks: list[JsonValue] = [_section(prompt)]
    if shown:
        blocks.append(_section(shown))
    blocks.append({"type": "context", "elements": [_plain(_facts(notice), _MAX_FACTS)]})
    value = _choice_value(notice)
    if notice.what != "timeout" and is_whole and not is_withheld and value is not None:
        buttons: list[JsonValue] = [
            _button("Approve", "coterie_approve", value, style="primary"),
            _button("Reject", "coterie_reject", value, style="danger"),
            _button("Comment or change", "coterie_comment", value),
        ]
        blocks.append({"type": "actions", "elements": buttons})
    elif notice.what != "timeout":
        text = "Decide it in the console, or with `coterie approve`: not all of it is shown here."
        blocks.append({"type": "context", "elements": [_plain(text, _MAX_FACTS)]})
    return {
        "channel": channel,
        "text": _without_markup(notice.text),
        "blocks": blocks,
        "mrkdwn": False,
        "parse": "none",
        "unfurl_links": False,
        "unfurl_media": False,
    }


SLACK_ERRORS_THAT_PASS: Final = frozenset(
    {"ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"}
)


def slack_error(answer: bytes) -> str:
    """Return the code of an error in an answer of Slack's API; empty if it did what was asked."""
    try:
        value = read_json(answer)
    except ValueError:
        return "service_unavailable"
    match value:
        case {"ok": True}:
            return ""
        case {"error": str(code)} if _CODE.fullmatch(code):
            return code
        case _:
            return "unknown_error"


def _choice_value(notice: Notification) -> str | None:
    """Return the value of the buttons; None if its names are too long for one."""
    try:
        choice = SlackChoice(run=notice.run, request=notice.request, digest=notice.digest)
    except ValidationError:
        return None
    value = choice.model_dump_json()
    return value if len(value) <= _MAX_VALUE else None


def _shown_text(notice: Notification, diff: str) -> str:
    parts: list[str] = []
    if notice.show is not None:
        show = notice.show
        text = show if isinstance(show, str) else json.dumps(show, ensure_ascii=False, indent=2)
        parts.append(visible(text))
    if notice.call:
        parts.append(f"It would call {visible(notice.call)}.")
    if diff:
        parts.append(visible(diff))
    return "\n\n".join(parts)


def _facts(notice: Notification) -> str:
    facts = [f"run {notice.run}", notice.request]
    if notice.asked_because:
        facts.append(f"because {notice.asked_because}")
    if notice.approvers:
        facts.append(f"approvers: {', '.join(notice.approvers)}")
    if notice.quorum > 1:
        facts.append(f"{notice.quorum} must approve")
    if notice.deadline is not None:
        facts.append(f"until {notice.deadline}")
    return visible(" · ".join(facts))


def _section(text: str) -> Json:
    return {"type": "section", "text": _plain(text, _MAX_TEXT)}


def _plain(text: str, length: int) -> Json:
    return {"type": "plain_text", "text": shortened_text(text, length) or "-", "emoji": False}


def _button(text: str, action: str, value: str, **style: str) -> Json:
    button: Json = {"type": "button", "text": _plain(text, 70), "action_id": action, "value": value}
    return {**button, **style}


def _without_markup(text: str) -> str:
    plain = shortened_text(visible(text), _MAX_TEXT)
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
