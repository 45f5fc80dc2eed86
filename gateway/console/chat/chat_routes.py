"""Serve the chat with a session: it reads and sends without script."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from temporalio.service import RPCError

from coterie.failures import CommandError
from coterie.gateway.console.chat.chat_exchanges import ChatHistory, exchanges_of
from coterie.gateway.console.chat.chat_page import (
    ChatPage,
    Composer,
    SessionsPage,
    chat_page,
    chat_state,
)
from coterie.gateway.console.chat.message_forms import (
    NO_SESSION,
    TEXT,
    MessageForm,
    SessionForms,
    fields_of,
    message_id,
    new_nonce,
    text_message,
)
from coterie.gateway.console.fields.filled_forms import read_form, with_added_item, with_focus
from coterie.gateway.console.fields.form_fields import FormField
from coterie.gateway.console.forms.sent_forms import text_of, typed_in, with_added
from coterie.gateway.console.inbox_page import InboxCard, inbox_card
from coterie.gateway.console.runs_page import runs_page
from coterie.gateway.console.served_pages import answered, page_response, sent_form
from coterie.gateway.console.states.latest_pages import LatestPages
from coterie.gateway.endpoints import API
from coterie.gateway.identity.console_address import chat_url, run_url
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.operations_table import performed
from coterie.gateway.operations.performance import permitted_run
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.request_decisions import WaitingRequest, WaitingRequests
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.operations.run_listing import ListAsked, RunListing
from coterie.gateway.operations.run_permissions import trail_name
from coterie.gateway.sessions.message_inputs import session_message
from coterie.gateway.sessions.session_history import read_session
from coterie.gateway.sessions.session_runs import MessageToSession
from coterie.gateway.streams.cursors import Cursor
from coterie.runs.call_errors import call_error
from coterie.runs.task_queues import is_polled
from coterie.workflows.core.views import RunStatus

_EXCHANGES = 20
"""Messages of one page."""
_MAX_SESSIONS = 200
"""Open runs that the list of sessions looks at."""
_AT_ONCE = 20
_STATUS_SECONDS = 3.0
"""A live worker answers in a fraction of it; the page does not wait for one that was lost."""
_REFRESH_SECONDS = 3
_LIST_REFRESH_SECONDS = 10
_SENDERS = (Role.STARTER, Role.OPERATOR)


def chat_routes(access: RunAccess, latest: LatestPages) -> Sequence[BaseRoute]:
    """Return the routes of the list of sessions and of each chat.

    Args:
        access: The runs.
        latest: Where to keep pages for as long as the server does not answer.
    """
    chats = Chats(access)
    return (
        Route("/chat", answered(chats.sessions, latest)),
        Route("/chat/{run:path}", answered(chats.show, latest)),
        Route("/chat/{run:path}", answered(chats.send), methods=["POST"]),
    )


class Chats:
    """The chats with sessions."""

    def __init__(self, access: RunAccess) -> None:
        """Take the runs."""
        self._access = access
        self._forms = SessionForms(access)

    async def sessions(self, request: Request, identity: Identity) -> Response:
        """List the open sessions."""
        asked = ListAsked(state="open", limit=_MAX_SESSIONS)
        given = asked.model_dump(exclude_none=True)
        found = await performed(self._access, "list", given, identity, RunListing)
        slots = asyncio.Semaphore(_AT_ONCE)

        async def is_session(run: str) -> bool:
            async with slots:
                with suppress(CommandError):  # it has just been deleted
                    form = await self._forms.of(await self._access.existing(run))
                    return form is not None and form != NO_SESSION
                return False

        are = await asyncio.gather(*(is_session(run.run) for run in found.runs))
        rows = runs_page(found, asked).runs
        sessions = tuple(row for row, is_one in zip(rows, are, strict=True) if is_one)
        page = SessionsPage(sessions, is_cut=found.more)
        return page_response(
            request,
            identity,
            "sessions.html",
            "Chat",
            page,
            tab="chat",
            refreshes=_LIST_REFRESH_SECONDS,
        )

    async def show(self, request: Request, identity: Identity) -> Response:
        """Show the newest messages of a session, or those before one."""
        run = request.path_params["run"]
        found = await permitted_run(self._access, run, (Role.VIEWER,), identity, "chat page")
        text = request.query_params.get("before", "")
        page = await self._page(found, Cursor.parse(text) if text else None, identity)
        is_live = found.is_open and not text
        return page_response(
            request,
            identity,
            "chat.html",
            f"{found.team}: {run}",
            page,
            tab="chat",
            refreshes=_REFRESH_SECONDS if is_live else 0,
            events=f"{API}{run_url(run)}/events" if is_live else "",
        )

    async def _page(self, found: FoundRun, before: Cursor | None, identity: Identity) -> ChatPage:
        run, team = found.run, found.team
        form = await self._forms.of(found)
        if form == NO_SESSION:
            raise Rejection(
                404,
                "no_session",
                f"the run {run.id!r} is no session: none of its steps waits for messages",
                f"Its page is {run_url(run.id)}.",
            )
        history = await self._history(run.id, before)
        status, served, requests = None, True, tuple[WaitingRequest, ...]()
        if found.is_open and before is None:
            served = await self._is_served(found)
            status = await self._status(found) if served else None
            if status is not None and status.waiting_for:
                requests = await self._requests(run.id, identity)
        state = chat_state(history, status, is_served=served, has_begun=form is not None)
        composer = None
        if isinstance(may(identity, _SENDERS, team), Allowed):
            wanted = form if isinstance(form, MessageForm) else TEXT
            composer = _composer(run.id, new_nonce(), wanted.kind, fields_of(wanted, {}))
        me = trail_name(identity, team)
        cards = await asyncio.to_thread(_cards, requests, identity)
        return chat_page(
            run.id, team, history, state, status, cards, composer, me, is_latest=before is None
        )

    async def _history(self, run: str, before: Cursor | None) -> ChatHistory:
        try:
            events = await read_session(self._access.pages, run, before, _EXCHANGES)
        except RPCError as error:
            raise call_error(run, error) from None
        return await asyncio.to_thread(exchanges_of, events, _EXCHANGES)

    async def _is_served(self, found: FoundRun) -> bool:
        with suppress(RPCError):  # the server does not say
            return await is_polled(self._access.client, found.description.task_queue)
        return True

    async def _status(self, found: FoundRun) -> RunStatus | None:
        with suppress(CommandError, TimeoutError):  # the page says so, and reads on
            async with asyncio.timeout(_STATUS_SECONDS):
                return await found.run.status()
        return None

    async def _requests(self, run: str, identity: Identity) -> tuple[WaitingRequest, ...]:
        with suppress(CommandError):
            found = await performed(
                self._access, "requests", {"run": run}, identity, WaitingRequests
            )
            return found.requests
        return ()

    async def send(self, request: Request, identity: Identity) -> Response:
        """Send a message, and lead back to the chat; the same form sends one message."""
        run = request.path_params["run"]
        form = await sent_form(request)
        found = await permitted_run(self._access, run, _SENDERS, identity, "message", changes=True)
        wanted = await self._forms.of(found)
        nonce = text_of(form, "nonce")
        if not isinstance(wanted, MessageForm) or wanted.kind == "text":
            schemas = wanted.schemas if isinstance(wanted, MessageForm) else ()
            message = session_message(schemas, text_message(text_of(form, "message")))
        else:
            typed, added = with_added(form, typed_in(form))
            filled = read_form(fields_of(wanted, typed.counts), typed)
            if added is not None:
                grown = with_added_item(filled.fields, added)
                return await self._again(request, found, identity, nonce, grown, "")
            if filled.has_problems:
                wrong = with_focus(filled.fields)
                notice = "Nothing was sent. The form has problems."
                return await self._again(request, found, identity, nonce, wrong, notice)
            message = filled.value
        id = message_id(nonce, json.dumps(message, sort_keys=True))
        await MessageToSession(self._access, identity, run, id, message).take()
        return RedirectResponse(f"{chat_url(run)}#end", 303)

    async def _again(
        self,
        request: Request,
        found: FoundRun,
        identity: Identity,
        nonce: str,
        fields: tuple[FormField, ...],
        notice: str,
    ) -> Response:
        """Return the chat with a form as it was typed; it does not change by itself.

        Who may send, and not read, gets only the form.
        """
        run, status = found.run.id, 422 if notice else 200
        composer = _composer(run, nonce, "fields", fields)
        if not isinstance(may(identity, (Role.VIEWER,), found.team), Allowed):
            return page_response(
                request, identity, "message.html", f"Message to {run}", composer, tab="chat",
                notice=notice, status=status,
            )  # fmt: skip
        page = await self._page(found, None, identity)
        if page.composer is not None:
            page = replace(page, composer=composer)
        return page_response(
            request, identity, "chat.html", f"{found.team}: {run}", page, tab="chat",
            notice=notice, status=status,
        )  # fmt: skip


def _composer(
    run: str, nonce: str, kind: Literal["text", "fields"], fields: tuple[FormField, ...]
) -> Composer:
    return Composer(chat_url(run), f"{API}{run_url(run)}/messages", nonce, kind, fields)


def _cards(requests: Sequence[WaitingRequest], identity: Identity) -> tuple[InboxCard, ...]:
    return tuple(inbox_card(waiting, identity) for waiting in requests)
