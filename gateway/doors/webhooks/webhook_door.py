"""The door of webhooks: `POST /hooks/TEAM/TRIGGER`. The signature is the proof of the sender.

Who shows none does not learn whether there is such a team or trigger, nor whether it is set up.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Final, Literal

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from coterie.audit.audit_buffer import refusal
from coterie.audit.sent_records import audit_record
from coterie.documents.compilation import check_start
from coterie.dsl.errors import InvalidDocument, TemplateFailed
from coterie.dsl.evaluate.webhook_events import (
    FORM,
    DeliveryEffect,
    Ignored,
    RunSignal,
    RunStart,
    delivered_event,
    effect_of,
)
from coterie.dsl.reserved_ids import RUN_PREFIX, reserved_prefix
from coterie.dsl.values import Documented, Json
from coterie.dsl.visible import shortened_text, visible
from coterie.failures import CommandError
from coterie.gateway.doors.webhooks.delivery_limits import DeliveryPlaces, DeliveryRates, Retention
from coterie.gateway.doors.webhooks.webhook_catalog import TeamWebhook, find_webhook
from coterie.gateway.doors.webhooks.webhook_signatures import (
    Signed,
    UnusableSecret,
    proof_of,
)
from coterie.gateway.endpoints import error_response
from coterie.gateway.operations.error_reports import (
    UNEXPECTED,
    FailedRequest,
    Rejection,
    failed_request,
)
from coterie.gateway.operations.expected_errors import EXPECTED_ERRORS, failed_work
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.http_server.http_connections import CONNECTION, HttpConnection
from coterie.runs.call_errors import Unanswered, UnknownRun, has_ended
from coterie.runs.event_signals import EventSignal, signal_once, start_and_signal_once
from coterie.runs.new_runs import IdTaken, check_id, start_run
from coterie.server.message_senders import sent_by
from coterie.workflows.core.messages import TeamInput
from coterie.workflows.core.senders import MAX_ADDRESS, Sender

HOOKS: Final = "/hooks"
MAX_DELIVERY: Final = 1024 * 1024
"""Bytes of a body."""
_SECONDS: Final = 25.0
_PRIVATE: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_HOW: Final = "give it in `context` of the trigger"
_RETRIED: Final = (429, 503)
_NOT_PROVED: Final = "not_proved"

_log = logging.getLogger("coterie")


class WebhookOutcome(Documented):
    """What became of a delivery."""

    outcome: Literal["started", "known", "signalled", "ignored"]
    """`known`: the same event has started the run before; `ignored`: `when` does not hold."""
    run: str | None = None
    """The id of the run."""


def _refused_signature() -> Rejection:
    return Rejection(
        401,
        _NOT_PROVED,
        "there is no such trigger, or the signature does not prove the sender",
        "Send to /hooks/TEAM/TRIGGER, with the secret that the gateway has.",
    )


class WebhookDoor:
    """Answers deliveries. Everything durable is in the runs."""

    def __init__(self, access: RunAccess, clock: Callable[[], float] = time.time) -> None:
        """Take the project, and a clock."""
        self._access = access
        self._clock = clock
        self._places = DeliveryPlaces()
        self._rates = DeliveryRates(time.monotonic)
        self._retention = Retention(time.monotonic)

    def routes(self) -> Sequence[BaseRoute]:
        """Return the route of all webhooks."""
        return (Route(f"{HOOKS}/{{team}}/{{trigger}}", self._answer, methods=["POST"]),)

    async def _answer(self, request: Request) -> Response:
        address = shortened_text(request.client.host if request.client else "", MAX_ADDRESS)
        try:
            outcome = await self._deliver(request, address)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except EXPECTED_ERRORS as error:
            failed = failed_work(error)
        except Exception:
            _log.exception("a delivery failed")
            failed = UNEXPECTED
        else:
            return Response(outcome.model_dump_json(), 200, _PRIVATE, "application/json")
        return self._refuse(failed, address)

    def _refuse(self, failed: FailedRequest, address: str) -> Response:
        if failed.report.code == _NOT_PROVED:
            self._access.audit.note(refusal(address, "webhook", failed.report.code))
        headers = {"Retry-After": "5"} if failed.status in _RETRIED else {}
        if failed.status in (408, 413):
            headers["Connection"] = "close"
        return error_response(failed, headers)

    async def _deliver(self, request: Request, address: str) -> WebhookOutcome:
        """Do what a delivery does. It needs a place only once it has proved who sends it.

        Raises:
            CommandError: It is not proved, does not fit, or the server does not take it.
            InvalidDocument: The document of the team has problems.
        """
        body = await _body_of(request)
        webhook = await self._webhook(request)
        signed = self._proof(webhook, request, body)
        sender = Sender(
            subject=f"webhook {webhook.path}",
            method=webhook.section.verify,
            address=address,
            door="webhook",
        )
        with sent_by(sender):
            try:
                self._rates.take(webhook.path)
                _keep_connection(request, webhook)
                async with self._places.place(webhook.path), asyncio.timeout(_SECONDS):
                    return await self._deliver_proved(webhook, request, body, signed)
            except (CommandError, InvalidDocument) as error:
                code = failed_request(error).report.code
                self._access.audit.note(audit_record("refused", sender.subject, code))
                raise

    async def _webhook(self, request: Request) -> TeamWebhook:
        team, trigger = request.path_params["team"], request.path_params["trigger"]
        try:
            webhook = await find_webhook(self._access.teams, team, trigger)
        except Unanswered:
            raise
        except (InvalidDocument, CommandError) as error:
            problem = visible(str(error))
            _log.error("the team %r of a webhook cannot be compiled: %s", team, problem)
            raise _refused_signature() from None
        if webhook is None:
            raise _refused_signature()
        return webhook

    def _proof(self, webhook: TeamWebhook, request: Request, body: bytes) -> Signed:
        names = webhook.section.secrets
        found = {name: self._access.settings.secret(name) for name in names}
        secrets = [secret for secret in found.values() if secret is not None]
        if found[webhook.section.secret_env] is None:
            _log.error("the webhook %s needs %s", webhook.path, names[0])
            raise _refused_signature()
        try:
            signed = proof_of(webhook.section, request.headers, body, secrets)
        except UnusableSecret as error:
            _log.error("the webhook %s: %s", webhook.path, error)
            raise _refused_signature() from None
        if signed is None:
            raise _refused_signature()
        return signed

    async def _deliver_proved(
        self, webhook: TeamWebhook, request: Request, body: bytes, signed: Signed
    ) -> WebhookOutcome:
        await self._check_age(webhook, signed)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in ("application/json", FORM) and not kind.endswith("+json"):
            raise Rejection(
                415,
                "not_json",
                "a delivery is JSON or a form, and this one says that it is neither",
                "Choose the content type application/json in the settings of the sender.",
            )
        effect = await asyncio.to_thread(_effect, webhook, request, body, signed)
        match effect:
            case Ignored():
                return WebhookOutcome(outcome="ignored")
            case RunStart():
                return await self._start(webhook, effect)
            case RunSignal():
                return await self._signal(webhook, effect)

    async def _check_age(self, webhook: TeamWebhook, signed: Signed) -> None:
        """Refuse a delivery whose event may be forgotten already."""
        longest = webhook.section.longest_age
        if signed.time is None or longest is None:
            return
        retention = await self._retention.seconds(self._access.client)
        allowed = longest if retention is None else min(longest, retention)
        if abs(self._clock() - signed.time) > allowed:
            raise Rejection(
                401,
                "too_old",
                f"the signed time is more than {allowed:g} s from the gateway's",
                "Send it again with a new signature; compare the clocks of both machines.",
            )

    async def _start(self, webhook: TeamWebhook, effect: RunStart) -> WebhookOutcome:
        try:
            await start_run(
                self._access.client,
                effect.run,
                await self._start_input(webhook, effect.context),
                task_queue=self._access.settings.task_queue,
                summary=webhook.team,
            )
        except IdTaken:
            if await self._own_run(webhook, effect.run) is None:
                raise Unanswered("the run of this event is just being deleted") from None
            return WebhookOutcome(outcome="known", run=effect.run)
        return WebhookOutcome(outcome="started", run=effect.run)

    async def _signal(self, webhook: TeamWebhook, effect: RunSignal) -> WebhookOutcome:
        access, run = self._access, effect.run
        check_id(run)
        signal = EventSignal(name=effect.signal, payload=effect.payload, event=effect.event)
        found = await self._own_run(webhook, run)
        if found is not None:
            if not found.is_open:
                raise has_ended(run)
            await signal_once(access.client, run, signal)
            return WebhookOutcome(outcome="signalled", run=run)
        if effect.context is None:
            raise Rejection(
                404, "unknown_run", f"there is no run {shortened_text(visible(run), 100)!r}"
            )
        _check_own_id(webhook, run)
        started = await start_and_signal_once(
            access.client,
            run,
            await self._start_input(webhook, effect.context),
            signal,
            task_queue=access.settings.task_queue,
            team=webhook.team,
        )
        return WebhookOutcome(outcome="started" if started else "signalled", run=run)

    async def _start_input(self, webhook: TeamWebhook, context: Json) -> TeamInput:
        """Return the input of a start: of exactly the version whose webhook it is.

        Raises:
            CommandError: No run of the team starts with this context.
        """
        plan = webhook.named.compiled.plan
        await asyncio.to_thread(check_start, context, plan.context, plan.needs, how=_HOW)
        return TeamInput(team=webhook.named.start_name, context=context)

    async def _own_run(self, webhook: TeamWebhook, run: str) -> FoundRun | None:
        """Return the team's run of this id; None if nothing has the id.

        Raises:
            CommandError: The id is that of another team or workflow.
        """
        try:
            found = await self._access.find(run)
        except UnknownRun:
            return None
        if found is None or found.team != webhook.team:
            _log.error("the webhook %s: another team or workflow has the id %r", webhook.path, run)
            raise Rejection(
                409,
                "another_team",
                f"{shortened_text(visible(run), 100)!r} is no run of the team {webhook.team!r}",
                "A webhook starts and signals only runs of its own team; the event did nothing.",
            )
        return found


def _effect(webhook: TeamWebhook, request: Request, body: bytes, signed: Signed) -> DeliveryEffect:
    """Return what a delivery does.

    Raises:
        Rejection: The payload is not JSON, or a template has no value.
    """
    headers = dict(request.headers)
    try:
        event = delivered_event(webhook.section, headers, body, signed.id, signed.time)
    except ValueError as error:
        raise Rejection(422, "no_event", f"the payload is no event: {error}") from None
    try:
        return effect_of(webhook.section, webhook.team, webhook.trigger, event)
    except TemplateFailed as error:
        raise Rejection(422, "unfilled", str(error)) from None


def _check_own_id(webhook: TeamWebhook, run: str) -> None:
    """Refuse to start a run with the id of what another trigger, or the host, starts.

    Raises:
        Rejection: The id is reserved.
    """
    prefix = reserved_prefix(run)
    if prefix is not None and not run.startswith(f"{RUN_PREFIX}/{webhook.path}/"):
        raise Rejection(
            422,
            "reserved_id",
            f"the webhook starts no run whose id begins with {prefix!r}",
            f"Use another id, or one that begins with '{RUN_PREFIX}/{webhook.path}/'.",
        )


def _keep_connection(request: Request, webhook: TeamWebhook) -> None:
    """Give the connection of a verified sender a place that strangers do not take.

    Raises:
        Rejection: All of them are taken.
    """
    connection: HttpConnection | None = request.scope["state"].get(CONNECTION)
    if connection is not None and not connection.authorize(f"webhook:{webhook.path}"):
        raise Rejection(503, "too_many_connections", "too many connections are open")


async def _body_of(request: Request) -> bytes:
    """Return the body.

    Raises:
        Rejection: It is too large, or too slow.
    """
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > MAX_DELIVERY:
                    message = f"the body has more than {MAX_DELIVERY:,} bytes"
                    raise Rejection(413, "too_large", message)
                parts.append(part)
    except TimeoutError:
        message = f"the body did not arrive within {_SECONDS:g} seconds"
        raise Rejection(408, "too_slow", message, "Send it again.") from None
    return b"".join(parts)
