"""Forms of pages: each performs an operation as the verified identity, and leads back to a page."""

import json
from collections.abc import Mapping
from typing import NamedTuple, cast
from urllib.parse import urlencode

from pydantic import JsonValue
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from coterie.dsl.strict_json import unsound_part
from coterie.dsl.values import Frozen, Json
from coterie.failures import CommandError
from coterie.gateway.console.fields.schema_forms import form_of, read_form
from coterie.gateway.console.inbox_page import inbox_page, run_url
from coterie.gateway.console.served_pages import page_response
from coterie.gateway.console.team_actions import team_view
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import Rejection, failed_request
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform
from coterie.gateway.operations.request_decisions import RequestsAsked, WaitingRequests
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_starts import StartedRun

STEERING = ("pause", "resume", "amend", "redirect", "skip", "retry", "fork", "cancel")
_MAX_PICKS = 200


class Pick(NamedTuple):
    """A request as the page showed it."""

    run: str
    request: str
    digest: str


class FormPosts:
    """What the forms of the console do."""

    def __init__(self, access: RunAccess) -> None:
        """Take the runs, and the project."""
        self._access = access

    async def decide(self, request: Request, identity: Identity) -> Response:
        """Decide the requests that a form names, each for itself."""
        form = await request.form()
        picks = picks_of(form)
        more = _decision(form)
        if len(picks) > 1:
            more.pop("payload", None)
        failures: list[str] = []
        for pick in picks:
            try:
                await self._perform("decide", {**pick._asdict(), **more}, identity)
            except CommandError as error:
                if len(picks) == 1:
                    raise
                report = failed_request(error).report
                failures.append(f"{pick.run}, {pick.request}: {report.message}")
        decided = len(picks) - len(failures)
        if not failures:
            done = urlencode({"done": more["decision"], "count": decided})
            return RedirectResponse(f"/inbox?{done}", 303)
        found = cast("WaitingRequests", await self._perform("requests", {}, identity))
        notice = f"{decided} of {len(picks)} decided. Not decided: {'; '.join(failures)}"
        return page_response(
            request, identity, "inbox.html", "Inbox", inbox_page(found), tab="inbox",
            notice=notice, status=409,
        )  # fmt: skip

    async def steer(self, request: Request, identity: Identity) -> Response:
        """Steer a run."""
        form = await request.form()
        action, run = _text(form, "action"), _text(form, "run")
        if action not in STEERING:
            raise Rejection(422, "invalid", "the form names no way to steer a run")
        asked: Json = {"run": run, "why": _text(form, "why")}
        for name in ("task", "team", "at"):
            if value := _text(form, f"field:{name}").strip():
                asked[name] = value
        if "field:updates" in form:
            asked["updates"] = _json(_text(form, "field:updates"), "the changes")
        output = await self._perform(action, asked, identity)
        started = getattr(output, "started", output)
        target = started.run if isinstance(started, StartedRun) else run
        return RedirectResponse(f"{run_url(target)}?{urlencode({'done': action})}", 303)

    async def start(self, request: Request, identity: Identity) -> Response:
        """Start a run of a team; a form with problems comes back as it was typed."""
        form = await request.form()
        team, id = _text(form, "team"), _text(form, "id").strip()
        described = await self._perform("team", {"team": team}, identity)
        schema = cast("Json | None", getattr(described, "context_schema", None)) or {}
        typed = {
            name.removeprefix("field:"): value
            for name, value in form.multi_items()
            if isinstance(value, str) and name.startswith("field:")
        }
        filled = read_form(form_of(schema), typed)
        if filled.has_problems:
            page, actions = await team_view(self._access, team, identity, filled.fields, id)
            return page_response(
                request, identity, "team.html", team, page, actions=actions, tab="teams",
                notice="The form has problems; nothing was started.", status=422,
            )  # fmt: skip
        asked: Json = {"team": team, "context": filled.value}
        if id:
            asked["id"] = id
        started = cast("StartedRun", await self._perform("start", asked, identity))
        return RedirectResponse(f"{run_url(started.run)}?done=start", 303)

    async def _perform(self, name: str, asked: Json, identity: Identity) -> Frozen:
        operation = operation_named(name)
        return await perform(
            self._access, operation, operation.input.model_validate(asked), identity
        )

    async def waiting(self, run: str | None, identity: Identity) -> WaitingRequests:
        """Return what waits, in one run or in all."""
        asked = RequestsAsked(run=run).model_dump(exclude_none=True)
        return cast("WaitingRequests", await self._perform("requests", asked, identity))


def picks_of(form: FormData) -> list[Pick]:
    """Return the requests that a form names.

    Raises:
        Rejection: It names none, or not as our pages do.
    """
    picks: list[Pick] = []
    for value in form.getlist("pick")[:_MAX_PICKS]:
        parts = _json(value if isinstance(value, str) else "", "the choice")
        if not isinstance(parts, dict) or not all(isinstance(p, str) for p in parts.values()):
            raise Rejection(422, "invalid", "the form does not name a request")
        names = cast("Mapping[str, str]", parts)
        picks.append(Pick(names.get("run", ""), names.get("request", ""), names.get("digest", "")))
    if not picks:
        raise Rejection(422, "invalid", "no request is chosen", "Choose at least one.")
    return picks


def _decision(form: FormData) -> Json:
    decision: Json = {
        "decision": _text(form, "decision"),
        "comment": _text(form, "comment"),
    }
    payload, before = _text(form, "payload"), _text(form, "payload_before")
    if payload.strip() and payload.split() != before.split():
        decision["payload"] = _json(payload, "the changed value")
    return decision


def _text(form: FormData, name: str) -> str:
    value = form.get(name)
    return value if isinstance(value, str) else ""


def _json(text: str, what: str) -> JsonValue:
    try:
        value = cast("JsonValue", json.loads(text))
    except (ValueError, RecursionError):
        raise Rejection(422, "invalid", f"{what} is not JSON", "Correct it.") from None
    unsound = unsound_part(value)
    if unsound is not None:
        raise Rejection(422, "invalid", f"in {what}, {unsound}")
    return value
