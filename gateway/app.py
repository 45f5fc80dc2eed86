"""The application: REST under `/v1` from the table of operations, with OpenAPI 3.1.

Nothing of it loads from elsewhere, and every error has our form.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from coterie.gateway.console.served_pages import problem_response
from coterie.gateway.endpoints import API, add_operation, error_response, identity_of
from coterie.gateway.event_routes import event_routes
from coterie.gateway.operations.error_reports import (
    SIGNED_OUT,
    UNEXPECTED,
    UNKNOWN_METHOD,
    UNKNOWN_PATH,
    UNREADABLE_BODY,
    FailedRequest,
    invalid_input,
)
from coterie.gateway.operations.operations_table import OPERATIONS
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.request_gate import (
    AGUI_PATH,
    MCP_PATH,
    Authenticate,
    RequestGate,
    is_below,
)
from coterie.gateway.streams.stream_hub import StreamHub
from coterie.version import own_version

_FAILURES: dict[int, FailedRequest] = {
    400: UNREADABLE_BODY,
    401: SIGNED_OUT,
    404: UNKNOWN_PATH,
    405: UNKNOWN_METHOD,
}
_DESCRIPTION = (
    "Runs of teams of LLM agents: see them, start them, decide what waits for people, steer them."
)


def application(
    access: RunAccess, authenticate: Authenticate, routes: Sequence[BaseRoute] = ()
) -> FastAPI:
    """Return the application of a gateway.

    Args:
        access: The runs, and the project.
        authenticate: Verifies who sends a request.
        routes: Further ones: sign-in, streams, pages. Below `/v1` they need an identity, too.
    """
    app = FastAPI(
        title="Coterie",
        description=_DESCRIPTION,
        version=own_version(),
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=True,
    )
    for operation in OPERATIONS:
        add_operation(app, operation, access)
    hub = StreamHub(access.pages)
    app.state.streams = hub
    app.state.access = access
    app.router.routes.extend(event_routes(hub, access))
    app.add_route(f"{API}/openapi.json", _openapi, include_in_schema=False)
    app.router.routes.extend(routes)
    app.add_exception_handler(RequestValidationError, _refuse_input)
    app.add_exception_handler(HTTPException, _refuse_request)
    app.add_exception_handler(Exception, _report_defect)
    app.add_middleware(RequestGate, authenticate=authenticate)
    return app


def streams_of(app: FastAPI) -> StreamHub:
    """Return what follows the runs for the streams; close it before the server stops."""
    hub = app.state.streams
    assert isinstance(hub, StreamHub)
    return hub


def openapi_of(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, which takes some time to make at first."""
    document = app.openapi()
    components = document.setdefault("components", {})
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "session": {"type": "apiKey", "in": "cookie", "name": "__Host-coterie"},
    }
    document["security"] = [{"token": []}, {"session": []}]
    return document


async def _openapi(request: Request) -> Response:
    document = await asyncio.to_thread(openapi_of, request.app)
    return JSONResponse(document, headers={"Cache-Control": "no-store"})


def _refuse_input(_: Request, error: Exception) -> Response:
    problems = cast("RequestValidationError", error).errors()
    if any(problem["type"] == "json_invalid" for problem in problems):
        return error_response(UNREADABLE_BODY)
    return error_response(invalid_input(problems, ""))


async def _refuse_request(request: Request, error: Exception) -> Response:
    refused = cast("HTTPException", error)
    failed = _FAILURES.get(refused.status_code)
    if failed is None:
        failed = UNEXPECTED
    if _wants_page(request):
        return await problem_response(request, identity_of(request), failed)
    return error_response(failed, refused.headers)


def _wants_page(request: Request) -> bool:
    """Return whether a browser asks for something outside the API."""
    path = request.url.path
    if any(is_below(path, root) for root in (API, MCP_PATH, AGUI_PATH)):
        return False
    return "text/html" in request.headers.get("accept", "")


def _report_defect(_: Request, __: Exception) -> Response:
    return error_response(UNEXPECTED)
