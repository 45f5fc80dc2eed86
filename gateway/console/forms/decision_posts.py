"""The form that decides one request: what it changes, and how it comes back with its problems."""

import asyncio
from dataclasses import replace
from urllib.parse import urlencode

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from coterie.dsl.json_values import json_digest
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.gateway.console.fields.filled_forms import (
    FilledForm,
    read_form,
    with_added_item,
    with_focus,
)
from coterie.gateway.console.fields.form_fields import Typed
from coterie.gateway.console.fields.schema_forms import edit_form
from coterie.gateway.console.forms.sent_forms import (
    Pick,
    has_fields,
    picks_of,
    text_of,
    typed_in,
    with_added,
)
from coterie.gateway.console.inbox_page import Draft, inbox_page
from coterie.gateway.console.served_pages import page_response, sent_form
from coterie.gateway.identity.console_address import chat_url
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import Rejection, failed_request
from coterie.gateway.operations.operations_table import performed
from coterie.gateway.operations.request_decisions import WaitingRequest, WaitingRequests
from coterie.gateway.operations.run_access import RunAccess
from coterie.workflows.core.requests import Decision, Pending

_UNCHANGED = "Nothing is decided yet. "


class DecisionPosts:
    """Decides requests, one at a time."""

    def __init__(self, access: RunAccess) -> None:
        """Take the runs, and the project."""
        self._access = access

    async def decide(self, request: Request, identity: Identity) -> Response:
        """Decide a request; a form with problems comes back as it was typed."""
        form = await sent_form(request)
        pick = _only_pick(form)
        if not has_fields(form):
            await self._decide(pick, _decision(form), identity)
            return _back(form, pick)
        waiting = await self._waiting(pick, identity)
        if waiting is None:  # decided meanwhile, or changed: the run says which
            await self._decide(pick, _decision(form), identity)
            return _back(form, pick)
        asked = waiting.request
        typed, added = with_added(form, typed_in(form))
        filled = await asyncio.to_thread(_filled_form, asked, typed)
        draft = Draft(pick.run, pick.request, with_focus(filled.fields), text_of(form, "comment"))
        if added is not None:
            grown = replace(draft, fields=with_added_item(filled.fields, added))
            return await self._page(request, identity, grown, "")
        decision = _decision(form)
        if decision["decision"] == "approve":
            if filled.has_problems:
                notice = f"{_UNCHANGED}The changed value has problems."
                return await self._page(request, identity, draft, notice)
            if json_digest(filled.value) != json_digest(asked.show):
                decision["payload"] = filled.value
        try:
            await self._decide(pick, decision, identity)
        except CommandError as error:
            if await self._waiting(pick, identity) is None:
                raise
            message = failed_request(error).report.message
            return await self._page(request, identity, draft, f"{_UNCHANGED}{message}")
        return _back(form, pick)

    async def _decide(self, pick: Pick, decision: Json, identity: Identity) -> None:
        asked: Json = {**pick._asdict(), **decision}
        await performed(self._access, "decide", asked, identity, Decision)

    async def _waiting(self, pick: Pick, identity: Identity) -> WaitingRequest | None:
        """Return a request as a person saw it; None if it has changed, or waits no more."""
        asked: Json = {"run": pick.run}
        found = await performed(self._access, "requests", asked, identity, WaitingRequests)
        return next(
            (
                waiting
                for waiting in found.requests
                if (waiting.request.id, waiting.request.digest) == (pick.request, pick.digest)
            ),
            None,
        )

    async def _page(
        self, request: Request, identity: Identity, draft: Draft, notice: str
    ) -> Response:
        """Return the request with what was typed; nothing else waits on this page."""
        asked: Json = {"run": draft.run}
        found = await performed(self._access, "requests", asked, identity, WaitingRequests)
        page = await asyncio.to_thread(inbox_page, found, identity, draft)
        return page_response(
            request, identity, "inbox.html", "Inbox", page, tab="inbox", notice=notice,
            status=422 if notice else 200,
        )  # fmt: skip


def _filled_form(asked: Pending, typed: Typed) -> FilledForm:
    return read_form(edit_form(asked.payload_schema, asked.show, typed.counts), typed)


def _only_pick(form: FormData) -> Pick:
    picks = picks_of(form)
    if len(picks) > 1:
        raise Rejection(422, "invalid", "the form names several requests", "Choose one.")
    return picks[0]


def _decision(form: FormData) -> Json:
    return {"decision": text_of(form, "decision"), "comment": text_of(form, "comment")}


def _back(form: FormData, pick: Pick) -> Response:
    """Lead to the inbox, or to the chat in which the request stands."""
    if "in_chat" in form:
        return RedirectResponse(f"{chat_url(pick.run)}#end", 303)
    done = urlencode({"done": text_of(form, "decision")})
    return RedirectResponse(f"/inbox?{done}", 303)
