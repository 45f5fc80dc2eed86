"""Decide requests for people in Slack: the update is accepted before Slack gets its answer."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request

from coterie.activities.contracts import SlackChoice
from coterie.dsl.json_values import json_digest
from coterie.dsl.model.sections.access_document import AccessSection
from coterie.dsl.strict_json import read_json
from coterie.dsl.values import Json
from coterie.dsl.visible import shortened_text
from coterie.failures import CommandError
from coterie.gateway.doors.slack.background_work import BackgroundWork
from coterie.gateway.doors.slack.slack_blocks import (
    CHANGED,
    DIALOG,
    decided_message,
    decided_text,
    decision_dialog,
    dialog_error,
    only_for_one,
    plain,
)
from coterie.gateway.doors.slack.slack_client import SlackClient
from coterie.gateway.doors.slack.slack_payloads import (
    MAX_DIALOG_TEXT,
    ButtonPress,
    DialogOrigin,
    DialogSubmission,
    PressedMessage,
    input_text,
    read_choice,
    read_origin,
    without_buttons,
)
from coterie.gateway.doors.slack.slack_people import slack_identity
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.expected_errors import (
    EXPECTED_ERRORS,
    ExpectedError,
    failed_work,
)
from coterie.gateway.operations.operations_table import performed
from coterie.gateway.operations.performance import permitted_run
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.request_gate import sender_of
from coterie.server.message_senders import sent_by
from coterie.workflows.core.requests import Decision, Pending, RequestView

ACCEPT_SECONDS: Final = 2.0
"""How long Slack waits, of its three seconds, until the run has accepted a decision."""
_VERDICTS: Final = {"coterie_approve": "approve", "coterie_reject": "reject"}


def unknown_person(workspace: str, user: str) -> str:
    """Say that the settings do not say who somebody is."""
    return (
        f"Nobody is set for {workspace}/{user}, so nothing happened. Ask an administrator to "
        "add you to `access.slack.users` in coterie.yml."
    )


@dataclass(frozen=True, slots=True)
class Presser:
    """Who pressed, and where the message with the button is changed."""

    identity: Identity
    response_url: str
    message: PressedMessage


@dataclass(frozen=True, slots=True)
class SlackDecisions:
    """Decides requests that people in Slack have seen."""

    access: RunAccess
    section: AccessSection
    client: SlackClient
    work: BackgroundWork

    async def press(self, request: Request, press: ButtonPress) -> None:
        """Do what a button says; anyone who pressed it learns what came of it."""
        button = press.actions[0]
        choice = read_choice(button.value)
        workspace = press.user.team_id or press.team.id
        identity = slack_identity(self.section, workspace, press.user.id)
        if choice is None:
            return
        if identity is None:
            text = unknown_person(workspace, press.user.id)
            self.work.start(self.client.change_message(press.response_url, only_for_one(text)))
            return
        presser = Presser(identity, press.response_url, press.message)
        with sent_by(sender_of(identity, request.scope)):
            if button.action_id in _VERDICTS:
                asked: Json = {"decision": _VERDICTS[button.action_id]}
                await self._begin(self._decide(presser, choice, asked))
            elif button.action_id == "coterie_comment":
                await self._begin(self._open_dialog(presser, choice, press.trigger_id))

    async def submit(self, request: Request, sent: DialogSubmission) -> Json | None:
        """Decide as a dialog says; return what keeps the dialog open, if something is wrong."""
        origin = read_origin(sent.view.private_metadata)
        workspace = sent.user.team_id or sent.team.id
        identity = slack_identity(self.section, workspace, sent.user.id)
        if sent.view.callback_id != DIALOG or origin is None:
            return None
        if identity is None:
            return dialog_error("comment", unknown_person(workspace, sent.user.id))
        decision = input_text(sent.view.state, "decision")
        if decision not in ("approve", "reject"):
            return dialog_error("decision", "Choose one.")
        asked: Json = {"decision": decision, "comment": input_text(sent.view.state, "comment")}
        changed = input_text(sent.view.state, CHANGED)
        message = PressedMessage(text=origin.text)
        presser = Presser(identity, origin.response_url, message)
        with sent_by(sender_of(identity, request.scope)):
            if changed and decision == "approve":
                try:
                    asked["payload"] = read_json(changed)
                except ValueError as error:
                    return dialog_error(CHANGED, f"It is not JSON: {error}")
            await self._begin(self._decide(presser, origin.choice, asked))
        return None

    async def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin work that outlives the answer to Slack; wait for it as long as Slack waits."""
        await asyncio.wait({self.work.start(work)}, timeout=ACCEPT_SECONDS)

    async def _decide(self, presser: Presser, choice: SlackChoice, decision: Json) -> None:
        """Send a decision, then change the message, or say why nothing changed."""
        asked: Json = {**choice.model_dump(mode="json"), **decision}
        try:
            asked = await self._without_equal_payload(presser.identity, choice, asked)
            decided = await performed(self.access, "decide", asked, presser.identity, Decision)
        except EXPECTED_ERRORS as error:
            await self._refuse(presser, choice, error)
            return
        if decided.verdict == "counted":
            answer = only_for_one(decided_text(decided))
            self.work.start(self.client.change_message(presser.response_url, answer))
            return
        self._show_decided(presser, choice, decided)

    async def _without_equal_payload(
        self, identity: Identity, choice: SlackChoice, asked: Json
    ) -> Json:
        """Leave out a value that is shown already: it would be no change."""
        if "payload" not in asked:
            return asked
        seen = await self._request(identity, choice)
        if seen.pending is None or json_digest(seen.pending.show) != json_digest(asked["payload"]):
            return asked
        return {name: value for name, value in asked.items() if name != "payload"}

    async def _refuse(self, presser: Presser, choice: SlackChoice, error: ExpectedError) -> None:
        """Say why nothing changed; if it was decided before, the buttons go."""
        try:
            seen = await self._request(presser.identity, choice)
        except EXPECTED_ERRORS:
            seen = RequestView()
        if seen.decision is not None:
            self._show_decided(presser, choice, seen.decision)
        text = failed_work(error).report.message
        answer = only_for_one(f"Nothing changed: {text}")
        self.work.start(self.client.change_message(presser.response_url, answer))

    def _show_decided(self, presser: Presser, choice: SlackChoice, decided: Decision) -> None:
        text = presser.message.text or f"{choice.request} of run {choice.run}"
        blocks = without_buttons(presser.message)
        if not blocks:
            blocks.append({"type": "section", "text": plain(text)})
        message = decided_message(blocks, text, decided_text(decided))
        self.work.start(self.client.change_message(presser.response_url, message))

    async def _request(self, identity: Identity, choice: SlackChoice) -> RequestView:
        """Return a request as its run has it; raises CommandError if the person may not see it."""
        roles = (Role.APPROVER,)
        found = await permitted_run(self.access, choice.run, roles, identity, "slack")
        return await found.run.request(choice.request)

    async def _open_dialog(self, presser: Presser, choice: SlackChoice, trigger: str) -> None:
        try:
            seen = await self._request(presser.identity, choice)
        except EXPECTED_ERRORS as error:
            await self._refuse(presser, choice, error)
            return
        if seen.pending is None or seen.pending.digest != choice.digest:
            await self._refuse(presser, choice, CommandError(_change_text(seen.pending)))
            return
        origin = DialogOrigin(
            choice=choice,
            response_url=presser.response_url,
            text=shortened_text(presser.message.text, MAX_DIALOG_TEXT),
        )
        view = decision_dialog(origin, seen.pending)
        if not await self.client.call("views.open", {"trigger_id": trigger, "view": view}):
            text = "Slack did not open the dialog. Press again, or decide in the console."
            await self.client.change_message(presser.response_url, only_for_one(text))


def _change_text(pending: Pending | None) -> str:
    return "the request is closed" if pending is None else "the request has changed since"
