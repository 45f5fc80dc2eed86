"""Messages and dialogs for Slack: all texts are plain, so they link and mention nothing. Pure."""

import json
from typing import Final

from pydantic import JsonValue

from coterie.dsl.values import Json
from coterie.dsl.visible import shortened_text, visible
from coterie.gateway.doors.slack.slack_payloads import DialogOrigin
from coterie.workflows.core.requests import Decision, Pending

DIALOG: Final = "coterie_decision"
CHANGED: Final = "changed"
"""The field of a dialog with the changed value."""
_MAX_TEXT: Final = 2_900
_MAX_FIELD: Final = 3_000
_VERDICTS: Final = {
    "approved": "Approved",
    "rejected": "Rejected",
    "counted": "Approved; more people must approve",
}


def escaped(text: str) -> str:
    """Return a text that Slack shows as it is, also where it reads markup."""
    plain = shortened_text(visible(text), 35_000)
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def plain(text: str, length: int = _MAX_TEXT) -> Json:
    """Return a text object without markup."""
    shown = shortened_text(visible(text), length) or "-"
    return {"type": "plain_text", "text": shown, "emoji": False}


def note_block(text: str) -> Json:
    """Return a small line."""
    return {"type": "context", "elements": [plain(text)]}


def only_for_one(text: str) -> Json:
    """Return an answer that only the person who pressed sees; the message stays."""
    return {"response_type": "ephemeral", "replace_original": False, "text": escaped(text)}


def decided_text(decision: Decision) -> str:
    """Say how a request was decided."""
    verdict = _VERDICTS.get(decision.verdict, decision.verdict)
    comment = f": {decision.comment}" if decision.comment else ""
    return f"{verdict} by {decision.by}, {decision.at}{comment}"


def decided_message(blocks: list[JsonValue], text: str, said: str) -> Json:
    """Return a message with its decision in place of its buttons."""
    return {
        "replace_original": True,
        "text": escaped(text),
        "blocks": [*blocks, note_block(said)],
    }


def decision_dialog(origin: DialogOrigin, request: Pending) -> Json:
    """Return the dialog that asks for a decision, a comment, and a change if one is allowed."""
    options: list[JsonValue] = [_option("Approve", "approve"), _option("Reject", "reject")]
    choice: Json = {"type": "radio_buttons", "action_id": "given", "options": options}
    comment: Json = {
        "type": "plain_text_input",
        "action_id": "given",
        "multiline": True,
        "max_length": _MAX_FIELD,
    }
    blocks: list[JsonValue] = [
        {"type": "section", "text": plain(request.prompt)},
        {"type": "input", "block_id": "decision", "label": plain("Decision"), "element": choice},
        {
            "type": "input",
            "block_id": "comment",
            "label": plain("Comment"),
            "element": comment,
            "optional": True,
        },
    ]
    shown = json.dumps(request.show, ensure_ascii=False, indent=2)
    if request.editable and len(shown) <= _MAX_FIELD:
        value: Json = {**comment, "initial_value": shown}
        label = plain("Shown value, as JSON; change it before you approve")
        blocks.append({"type": "input", "block_id": CHANGED, "label": label, "element": value})
    return {
        "type": "modal",
        "callback_id": DIALOG,
        "private_metadata": origin.model_dump_json(),
        "title": plain("Decide", 24),
        "submit": plain("Send", 24),
        "close": plain("Cancel", 24),
        "blocks": blocks,
    }


def _option(text: str, value: str) -> Json:
    return {"text": plain(text, 70), "value": value}


def dialog_error(field: str, text: str) -> Json:
    """Return the answer that keeps a dialog open, with an error beside a field."""
    return {"response_action": "errors", "errors": {field: shortened_text(visible(text), 150)}}
