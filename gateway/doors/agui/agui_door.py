"""The address of AG-UI, one for each team. What speaks it is loaded at the first request."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from coterie.gateway.app import streams_of
from coterie.gateway.doors.agui.agui_calls import AguiCall
from coterie.gateway.endpoints import error_response, identity_of
from coterie.gateway.operations.error_reports import SIGNED_OUT, UNEXPECTED
from coterie.gateway.operations.expected_errors import EXPECTED_ERRORS, failed_work
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.request_gate import AGUI_PATH
from coterie.gateway.streams.stream_hub import StreamHub

_log = logging.getLogger("coterie")


AnswerAgui = Callable[[StreamHub, RunAccess, AguiCall], Awaitable[Response]]


def agui_routes(access: RunAccess) -> Sequence[BaseRoute]:
    """Return the route of the door."""

    async def run_agent(request: Request) -> Response:
        identity = identity_of(request)
        if identity is None:
            return error_response(SIGNED_OUT)
        team, last = request.path_params["team"], request.headers.get("last-event-id", "")
        call = AguiCall(team, await request.body(), last, identity)
        try:
            answer = await asyncio.to_thread(_load_answer)
            return await answer(streams_of(request.app), access, call)
        except EXPECTED_ERRORS as error:
            return error_response(failed_work(error))
        except Exception:
            _log.exception("the door of AG-UI failed")
            return error_response(UNEXPECTED)

    return (Route(f"{AGUI_PATH}/{{team:path}}", run_agent, methods=["POST"]),)


def _load_answer() -> AnswerAgui:
    from coterie.gateway.doors.agui.agui_answers import answer_call

    return answer_call
