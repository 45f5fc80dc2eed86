"""Answer requests for pages: with a page, or with a page that says why there is none."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from urllib.parse import quote

from markupsafe import Markup
from pydantic import ValidationError
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from coterie.dsl.errors import InvalidDocument
from coterie.failures import CommandError
from coterie.gateway.console.inbox_page import ProblemPage
from coterie.gateway.console.page_templates import SERVED_POLICY, ExampleOffer, PageFrame, render
from coterie.gateway.console.states.latest_pages import LatestPages, ShownPage
from coterie.gateway.endpoints import identity_of
from coterie.gateway.identity.access_rules import administrators
from coterie.gateway.identity.access_settings import load_access
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import (
    SIGNED_OUT,
    UNEXPECTED,
    FailedRequest,
    Rejection,
    failed_request,
    invalid_input,
    problems_of,
)
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.request_gate import MAX_BODY, BodyTooLargeError

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": SERVED_POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Of every page."""
SIGN_IN = "/sign-in"
_PASSING = ("unanswered", "no_worker", "not_begun", "reading")
"""Codes of what may be over in a moment: the page looks again by itself."""
_UNREACHABLE = ("unanswered", "too_slow")
"""Codes of a server that does not answer: the page of before is better than none."""
_RETRY_SECONDS = 3
_TECHNICAL = ("pick", "run", "team", "action", "decision", "payload_before", "nonce", "in_chat")
"""Fields that nobody typed: kept, and not shown."""
_MAX_KEPT = 100
"""Fields of a form that a page keeps after an error."""
_UNREADABLE = "unreadable_body"
_MAX_FIELDS = 2_000
"""Of one form: its choices, and what else it has."""

Handler = Callable[[Request, Identity], Awaitable[Response]]
_log = logging.getLogger("coterie")

_NO_ROLE = "You have no role here yet"
_TITLES = {
    "signed_out": "You are signed out",
    "not_allowed": "You may not do this",
    "unknown_run": "There is no such run",
    "unknown_team": "There is no such team",
    "unknown_report": "There is no such report",
    "no_session": "This run is no session",
    "message_refused": "The session refused the message",
    "unknown_path": "There is no such page",
    "no_worker": "No worker answers",
    "not_begun": "The run has not begun",
    "reading": "Older events are being read",
    "unanswered": "Temporal does not answer",
    "refused": "Nothing was changed",
    "not_empty": "Your folder has files",
    "too_slow": "This takes too long",
    "unexpected": "Something went wrong here",
}
_FIXES = {
    "signed_out": "Sign in again. On your own machine, open the link that `coterie serve` printed.",
    "unknown_path": "Check the address. Inbox, Runs and Teams lead to every page.",
    "unknown_run": "The server deletes ended runs after its retention time, 72 hours if nobody "
    "changed it. To keep one, write its page with `coterie report RUN -o run.html`, or raise the "
    "retention of the namespace.",
    "no_worker": "Start `coterie worker` in the project of the run; then try again.",
    "unanswered": "The gateway keeps trying. Check that the server of Temporal runs, with "
    "`coterie doctor`.",
}


class PageResponse(Response):
    """A page, and what it was made from."""

    def __init__(self, shown: ShownPage, status: int = 200) -> None:
        """Render it."""
        self.shown = shown
        html = render(shown.template, shown.frame, shown.page, shown.actions)
        super().__init__(html, status, HEADERS, media_type="text/html; charset=utf-8")


def page_response(
    request: Request,
    identity: Identity | None,
    template: str,
    title: str,
    page: object,
    *,
    actions: object = None,
    tab: str = "",
    notice: str = "",
    unserved: str = "",
    example: ExampleOffer | None = None,
    refreshes: int = 0,
    events: str = "",
    status: int = 200,
) -> PageResponse:
    """Return a page as a response."""
    viewer = "" if identity is None else identity.name or identity.subject
    frame = PageFrame(
        "served",
        title,
        SERVED_POLICY,
        Markup(),
        viewer=viewer,
        tab=tab,
        notice=notice,
        is_refused=status >= 400,
        unserved=unserved,
        example=example,
        refreshes=refreshes,
        events=events,
        is_whole=request.query_params.get("all") == "1",
    )
    return PageResponse(ShownPage(template, frame, page, actions), status)


def answered(
    handler: Handler, latest: LatestPages | None = None
) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that answers who has an identity, and explains every refusal.

    Args:
        handler: Makes the page.
        latest: Where to keep the page for as long as the server does not answer; None for a form.
    """

    async def endpoint(request: Request) -> Response:
        identity = identity_of(request)
        if identity is None:
            return await problem_response(request, None, SIGNED_OUT)
        try:
            answer = await handler(request, identity)
            if latest is not None and isinstance(answer, PageResponse):
                latest.keep(identity, address_of(request), answer.shown)
            return answer
        except ValidationError as error:
            return await problem_response(request, identity, invalid_input(problems_of(error), ""))
        except (CommandError, InvalidDocument) as error:
            failed = failed_request(error)
            before = None if latest is None else latest.find(identity, address_of(request))
            if before is not None and failed.report.code in _UNREACHABLE:
                frame = replace(
                    before.shown.frame,
                    stale=before.at,
                    refreshes=_RETRY_SECONDS,
                    events="",
                    notice="",
                )
                return PageResponse(replace(before.shown, frame=frame), failed.status)
            return await problem_response(request, identity, failed)
        except BodyTooLargeError:  # the gate answers
            raise
        except Exception:
            _log.exception("a page of the console failed")
            return await problem_response(request, identity, UNEXPECTED)

    return endpoint


async def sent_form(request: Request) -> FormData:
    """Return the form of a request.

    Raises:
        Rejection: It cannot be read.
    """
    try:
        return await request.form(max_fields=_MAX_FIELDS, max_part_size=MAX_BODY)
    except (HTTPException, MultiPartException, ClientDisconnect) as error:
        because = error.detail if isinstance(error, HTTPException) else str(error)
        raise Rejection(
            400,
            _UNREADABLE,
            f"the form cannot be read ({because.rstrip('.') or 'it ended early'})",
            f"Open the page again, and send its form; one has at most {_MAX_FIELDS:,} fields.",
        ) from None


def address_of(request: Request) -> str:
    """Return the path of a request, with its query."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


async def problem_response(
    request: Request, identity: Identity | None, failed: FailedRequest
) -> Response:
    """Return the page of a request that failed; it keeps what a form held."""
    report, reads = failed.report, request.method in ("GET", "HEAD")
    here = address_of(request)
    fields = () if reads or report.code == _UNREADABLE else await _kept_fields(request)
    has_no_role = identity is not None and not identity.grants and report.code == "not_allowed"
    page = ProblemPage(
        title=_NO_ROLE if has_no_role else _TITLES.get(report.code, "This did not work"),
        message=f"{report.message[:1].upper()}{report.message[1:]}.",
        fix=_fix(request, failed),
        code=report.code,
        retry=here if reads and failed.status >= 500 else "",
        sign_in=f"{SIGN_IN}?to={quote(here if reads else '/')}" if identity is None else "",
        form_action=request.url.path,
        fields=tuple(field for field in fields if field[0] not in _TECHNICAL),
        hidden=tuple(field for field in fields if field[0] in _TECHNICAL),
        tone="waiting" if report.code in _PASSING else "bad",
    )
    waits = _RETRY_SECONDS if reads and report.code in _PASSING else 0
    return page_response(
        request, identity, "problem.html", page.title, page, status=failed.status, refreshes=waits
    )


def _fix(request: Request, failed: FailedRequest) -> str:
    """Return what the reader can do, in the words of a page."""
    report = failed.report
    if report.code == "not_allowed":
        whom = administrators_of(request)
        return f"Ask {whom} for the role." if whom else report.fix
    return _FIXES.get(report.code, report.fix)


def administrators_of(request: Request) -> str:
    """Return who grants roles in this project, in words; empty if `access` names nobody."""
    access = request.app.state.access
    if not isinstance(access, RunAccess):
        return ""
    try:
        return administrators(load_access(access.settings))
    except (CommandError, InvalidDocument):
        return ""


async def _kept_fields(request: Request) -> Sequence[tuple[str, str]]:
    try:
        form = await sent_form(request)
    except Rejection:
        return ()
    items = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
    return items[:_MAX_KEPT]
