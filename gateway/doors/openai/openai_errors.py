"""Errors in the form of OpenAI's API: our code, sentence and fix, where its clients read them."""

import json
from typing import Final

from pydantic import ValidationError
from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coterie.dsl.values import Json
from coterie.gateway.operations.error_reports import ErrorReport, FailedRequest, Rejection
from coterie.gateway.request_gate import OPENAI_PATHS, is_below

_NO_RETRY: Final = frozenset({409, 500})
"""Statuses after which the client's library asks again by itself, although nothing has changed."""
_MAX_BODY: Final = 64 * 1024
_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class ParameterRejection(Rejection):
    """A parameter of a request that the door refuses."""

    def __init__(self, parameter: str, message: str, fix: str = "") -> None:
        super().__init__(400, "invalid", message, fix)
        self.parameter = parameter


def error_object(failed: FailedRequest, parameter: str | None = None) -> Json:
    """Return an error as OpenAI's clients read it."""
    report = failed.report
    text = f"{report.message}. {report.fix}" if report.fix else report.message
    return {
        "message": text,
        "type": _type_of(failed.status),
        "param": parameter,
        "code": report.code,
    }


def _type_of(status: int) -> str:
    match status:
        case 401:
            return "authentication_error"
        case 403:
            return "permission_error"
        case 429:
            return "rate_limit_error"
        case _ if status >= 500:
            return "server_error"
        case _:
            return "invalid_request_error"


def openai_response(failed: FailedRequest, parameter: str | None = None) -> Response:
    """Return the response for a request that failed."""
    headers = {**_HEADERS, **({"x-should-retry": "false"} if failed.status in _NO_RETRY else {})}
    body = json.dumps({"error": error_object(failed, parameter)})
    return Response(body, failed.status, headers, "application/json")


class OpenAiErrors:
    """Gives the errors of the gateway itself OpenAI's form, at the addresses of this door."""

    def __init__(self, app: ASGIApp) -> None:
        """Take the whole application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; translate the answer if it is an error."""
        if scope["type"] != "http" or not _is_ours(scope["path"]):
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        body = bytearray()

        async def translated(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and message["status"] >= 400:
                start = message
                return
            if start is None or message["type"] != "http.response.body":
                await send(message)
                return
            body.extend(message.get("body", b"")[: _MAX_BODY - len(body)])
            if not message.get("more_body", False):
                content = _with_our_error(start["status"], bytes(body))
                headers = MutableHeaders(scope=start)
                headers["content-length"] = str(len(content))
                await send(start)
                await send({"type": "http.response.body", "body": content})

        await self._app(scope, receive, translated)


def _is_ours(path: str) -> bool:
    return any(is_below(path, root) for root in OPENAI_PATHS)


def _with_our_error(status: int, body: bytes) -> bytes:
    try:
        report = ErrorReport.model_validate_json(body)
    except ValidationError:
        return body
    return json.dumps({"error": error_object(FailedRequest(status, report))}).encode()
