"""The routes of Slack: presses and dialogs at one address, events at another.

Nothing is read before the signature of the raw body is verified.
"""

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from coterie.audit.audit_buffer import refusal
from coterie.dsl.model.sections.access_document import AccessSection
from coterie.dsl.values import Json
from coterie.gateway.doors.slack.background_work import BackgroundWork
from coterie.gateway.doors.slack.lost_replies import LostReplies
from coterie.gateway.doors.slack.slack_client import SlackClient
from coterie.gateway.doors.slack.slack_decisions import SlackDecisions
from coterie.gateway.doors.slack.slack_payloads import (
    MAX_BODY,
    AddressCheck,
    ButtonPress,
    DialogSubmission,
    EventDelivery,
    read_delivery,
    read_interaction,
)
from coterie.gateway.doors.slack.slack_signatures import is_from_slack
from coterie.gateway.doors.slack.slack_threads import SlackThreads
from coterie.gateway.doors.slack.thread_posts import ThreadPosts
from coterie.gateway.endpoints import error_response
from coterie.gateway.identity.access_settings import secret_of
from coterie.gateway.operations.error_reports import (
    ErrorReport,
    FailedRequest,
    Rejection,
    failed_request,
)
from coterie.gateway.operations.expected_errors import EXPECTED_ERRORS, failed_work
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.request_gate import SLACK_PATH

_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_UNSIGNED: Final = FailedRequest(
    401,
    ErrorReport(
        code="signature_invalid",
        message="the request does not have the signature of Slack, or is not from now",
        fix="Compare `access.slack.signing_secret_env` with the signing secret of the app.",
    ),
)
_TOO_LARGE: Final = FailedRequest(
    413, ErrorReport(code="too_large", message=f"the body has more than {MAX_BODY:,} bytes")
)


class SlackDoor:
    """Answers Slack."""

    def __init__(self, access: RunAccess, section: AccessSection) -> None:
        """Take the runs, and the settings.

        Raises:
            CommandError: A variable that the settings name is not set.
        """
        self._access = access
        self._work = BackgroundWork()
        self._secret = ""
        self._replies: LostReplies | None = None
        self._watch: asyncio.Task[None] | None = None
        token: str | None = None
        slack = section.slack
        if slack is None:
            return
        self._secret = secret_of(
            access.settings, slack.signing_secret_env, "slack.signing_secret_env"
        )
        if slack.bot_token_env is not None:
            token = secret_of(access.settings, slack.bot_token_env, "slack.bot_token_env")
        client = SlackClient(slack, token)
        posts = ThreadPosts(client)
        self._decisions = SlackDecisions(access, section, client, self._work)
        self._threads = SlackThreads(access, section, posts, self._work)
        if slack.team is not None and token is not None:
            self._replies = LostReplies(access, section, slack.team, posts)

    def routes(self) -> Sequence[BaseRoute]:
        """Return its routes; none without settings."""
        if not self._secret:
            return ()
        return (
            Route(f"{SLACK_PATH}/interactions", self._interact, methods=["POST"]),
            Route(f"{SLACK_PATH}/events", self._receive, methods=["POST"]),
        )

    def begin(self) -> None:
        """Begin to look for replies that an earlier gateway did not post."""
        if self._replies is not None:
            self._watch = asyncio.create_task(self._replies.watch())

    async def close(self) -> None:
        """End what is in progress."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        await self._work.close()

    async def _interact(self, request: Request) -> Response:
        body = await self._verified_body(request)
        if isinstance(body, Response):
            return body
        interaction = read_interaction(body)
        try:
            match interaction:
                case ButtonPress():
                    await self._decisions.press(request, interaction)
                case DialogSubmission():
                    return _answer(await self._decisions.submit(request, interaction))
                case None:
                    pass
        except EXPECTED_ERRORS as error:
            return error_response(failed_work(error))
        return _answer(None)

    async def _receive(self, request: Request) -> Response:
        body = await self._verified_body(request)
        if isinstance(body, Response):
            return body
        delivery = read_delivery(body)
        try:
            match delivery:
                case AddressCheck():
                    return _answer({"challenge": delivery.challenge})
                case EventDelivery():
                    if not await self._threads.receive(request, delivery):
                        return error_response(failed_request(_not_taken()))
                case None:
                    pass
        except EXPECTED_ERRORS as error:
            return error_response(failed_work(error))
        return _answer(None)

    async def _verified_body(self, request: Request) -> bytes | Response:
        """Return the body, if Slack has signed it; else the refusal."""
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                return error_response(_TOO_LARGE, {"Connection": "close"})
        if is_from_slack(self._secret, request.headers, bytes(body), time.time()):
            return bytes(body)
        address = request.client.host if request.client else ""
        self._access.audit.note(refusal(address, request.url.path, _UNSIGNED.report.code))
        return error_response(_UNSIGNED)


def _not_taken() -> Rejection:
    return Rejection(503, "no_worker", "no worker has taken the message yet", "Send it again.")


def _answer(value: Json | None) -> Response:
    if value is None:
        return Response(status_code=200, headers=_HEADERS)
    return Response(json.dumps(value), headers=_HEADERS, media_type="application/json")
