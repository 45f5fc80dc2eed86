"""Answer requests for pages: with a page, or with a page that says why there is none."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import quote

from markupsafe import Markup
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from coterie.dsl.errors import InvalidDocument
from coterie.failures import CommandError
from coterie.gateway.console.inbox_page import ProblemPage
from coterie.gateway.console.page_templates import SERVED_POLICY, PageFrame, render
from coterie.gateway.endpoints import identity_of
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import (
    SIGNED_OUT,
    UNEXPECTED,
    FailedRequest,
    failed_request,
    invalid_input,
    problems_of,
)

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": SERVED_POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Of every page."""
SIGN_IN = "/sign-in"
_PASSING = ("unanswered", "no_worker", "not_begun")
"""Codes of what may be over in a moment: the page looks again by itself."""
_RETRY_SECONDS = 3
_MAX_KEPT = 100
"""Fields of a form that a page keeps after an error."""

Handler = Callable[[Request, Identity], Awaitable[Response]]
_log = logging.getLogger("coterie")

_TITLES = {
    "signed_out": "You are signed out",
    "not_allowed": "You may not do this",
    "unknown_run": "There is no such run",
    "unknown_team": "There is no such team",
    "unknown_path": "There is no such page",
    "no_worker": "No worker answers",
    "not_begun": "The run has not begun",
    "unanswered": "Temporal does not answer",
    "refused": "Somebody was faster",
    "too_slow": "This takes too long",
    "unexpected": "Something went wrong here",
}
_FIXES = {
    "signed_out": "Sign in again. On your own machine, open the link that `coterie serve` printed.",
    "unknown_run": "The server deletes ended runs after its retention time, 72 hours if nobody "
    "changed it. To keep one, write its page with `coterie report RUN -o run.html`, or raise the "
    "retention of the namespace.",
    "no_worker": "Start `coterie worker` in the project of the run; then try again.",
    "unanswered": "The gateway keeps trying. Check that the server of Temporal runs, with "
    "`coterie doctor`.",
}


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
    refreshes: int = 0,
    events: str = "",
    status: int = 200,
) -> Response:
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
        refreshes=refreshes,
        events=events,
        is_whole=request.query_params.get("all") == "1",
    )
    html = render(template, frame, page, actions)
    return Response(html, status, HEADERS, media_type="text/html; charset=utf-8")


def answered(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that answers who has an identity, and explains every refusal."""

    async def endpoint(request: Request) -> Response:
        identity = identity_of(request)
        if identity is None:
            return await problem_response(request, None, SIGNED_OUT)
        try:
            return await handler(request, identity)
        except ValidationError as error:
            return await problem_response(request, identity, invalid_input(problems_of(error), ""))
        except (CommandError, InvalidDocument) as error:
            return await problem_response(request, identity, failed_request(error))
        except Exception:
            _log.exception("a page of the console failed")
            return await problem_response(request, identity, UNEXPECTED)

    return endpoint


async def problem_response(
    request: Request, identity: Identity | None, failed: FailedRequest
) -> Response:
    """Return the page of a request that failed; it keeps what a form held."""
    report, reads = failed.report, request.method in ("GET", "HEAD")
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    fields = () if reads else await _kept_fields(request)
    page = ProblemPage(
        title=_TITLES.get(report.code, "This did not work"),
        message=f"{report.message[:1].upper()}{report.message[1:]}.",
        fix=_FIXES.get(report.code, report.fix),
        code=report.code,
        retry=here if reads and failed.status >= 500 else "",
        sign_in=f"{SIGN_IN}?to={quote(here if reads else '/')}" if identity is None else "",
        form_action=request.url.path,
        fields=fields,
    )
    waits = _RETRY_SECONDS if reads and report.code in _PASSING else 0
    return page_response(
        request, identity, "problem.html", page.title, page, status=failed.status, refreshes=waits
    )


async def _kept_fields(request: Request) -> Sequence[tuple[str, str]]:
    form = await request.form()
    items = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
    return items[:_MAX_KEPT]
