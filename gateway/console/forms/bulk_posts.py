"""Forms that act on many runs: a preview first, then the action, then what came of each run."""

from typing import Literal, cast

from pydantic import JsonValue
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from coterie.dsl.values import Json
from coterie.gateway.console.bulk_page import (
    ChosenRequest,
    ListedChoice,
    Verdict,
    outcome_row,
    preview_of_filter,
    preview_of_requests,
    preview_of_runs,
    progress_page,
)
from coterie.gateway.console.forms.sent_forms import (
    MAX_PICKS,
    json_of,
    picks_of,
    text_of,
)
from coterie.gateway.console.served_pages import page_response, sent_form
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.bulk_actions import (
    BulkPreview,
    BulkPreviewAsked,
    BulkProgress,
    StartedBulk,
)
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.operations_table import performed
from coterie.gateway.operations.request_decisions import WaitingRequests
from coterie.gateway.operations.run_access import RunAccess

_REFRESH_SECONDS = 1
_MAX_REQUESTS = 500


class BulkPosts:
    """Previews, starts and shows actions on many runs."""

    def __init__(self, access: RunAccess) -> None:
        """Take the runs, and the project."""
        self._access = access

    async def preview(self, request: Request, identity: Identity) -> Response:
        """Show what an action would touch; nothing is done yet."""
        form = await sent_form(request)
        why = text_of(form, "why")
        match text_of(form, "action"):
            case "decide":
                found = await self._chosen_requests(form, identity)
                page = preview_of_requests(_verdict(form), found, why)
            case "retry" | "cancel" as action if text_of(form, "scope") == "filter":
                asked: Json = {
                    name: text
                    for name in BulkPreviewAsked.model_fields
                    if name != "action" and (text := text_of(form, name).strip())
                }
                asked["action"] = action
                preview = await performed(
                    self._access, "preview_bulk", asked, identity, BulkPreview
                )
                page = preview_of_filter(preview, why)
            case "retry" | "cancel" as action:
                page = preview_of_runs(action, _chosen_runs(form), why)
            case _:
                raise Rejection(422, "invalid", "the form names no action on many runs")
        tab: Literal["inbox", "runs"] = "inbox" if page.action == "decide" else "runs"
        return page_response(
            request, identity, "bulk_preview.html", page.title.removesuffix("?"), page, tab=tab
        )

    async def start(self, request: Request, identity: Identity) -> Response:
        """Begin the action that the preview showed."""
        form = await sent_form(request)
        asked: Json = {
            "action": text_of(form, "action"),
            "runs": _items(form),
            "why": text_of(form, "why"),
        }
        if verdict := text_of(form, "decision"):
            asked["decision"] = verdict
        started = await performed(self._access, "bulk", asked, identity, StartedBulk)
        if started.bulk is not None and not started.refused:
            return RedirectResponse(f"/bulk/{started.bulk}", 303)
        rows = tuple(map(outcome_row, started.refused))
        return page_response(
            request, identity, "bulk_refused.html", "Not all may be touched", started,
            actions=rows, tab="runs", status=200 if started.bulk else 409,
        )  # fmt: skip

    async def progress(self, request: Request, identity: Identity) -> Response:
        """Show what came of an action, run by run."""
        asked: Json = {"bulk": request.path_params["bulk"]}
        found = await performed(self._access, "bulk_progress", asked, identity, BulkProgress)
        page = progress_page(found)
        return page_response(
            request, identity, "bulk.html", page.title, page, tab="runs",
            refreshes=0 if page.is_finished else _REFRESH_SECONDS,
        )  # fmt: skip

    async def _chosen_requests(self, form: FormData, identity: Identity) -> list[ChosenRequest]:
        picks = picks_of(form)
        asked: Json = {"limit": _MAX_REQUESTS}
        found = await performed(self._access, "requests", asked, identity, WaitingRequests)
        waiting = {(one.run, one.request.id, one.request.digest): one for one in found.requests}
        return [ChosenRequest(pick.run, pick.request, waiting.get(pick)) for pick in picks]


def _verdict(form: FormData) -> Verdict:
    match text_of(form, "decision"):
        case "approve" | "reject" as verdict:
            return verdict
        case _:
            raise Rejection(422, "invalid", "the form decides nothing", "Approve, or reject.")


def _chosen_runs(form: FormData) -> list[ListedChoice]:
    rows = [_mapping(value) for value in form.getlist("chosen")[:MAX_PICKS]]
    if not rows:
        raise Rejection(422, "invalid", "no run is chosen", "Choose at least one.")
    return [
        ListedChoice(
            _text(row, "run"),
            _text(row, "run_id"),
            row.get("is_open") is True,
            _text(row, "team"),
            _text(row, "state"),
        )
        for row in rows
    ]


def _items(form: FormData) -> list[JsonValue]:
    items = [_mapping(value) for value in form.getlist("item")[:MAX_PICKS]]
    if not items:
        raise Rejection(422, "invalid", "nothing is chosen", "Choose at least one.")
    return cast("list[JsonValue]", items)


def _mapping(value: object) -> Json:
    parts = json_of(value if isinstance(value, str) else "", "the choice")
    if not isinstance(parts, dict):
        raise Rejection(422, "invalid", "the form does not name a run")
    return parts


def _text(row: Json, key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""
