"""The two addresses of event streams: one run, or all runs of a page."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from urllib.parse import unquote

from fastapi import Request, Response
from starlette.routing import BaseRoute, Route

from coterie.failures import CommandError
from coterie.gateway.endpoints import API, error_response, identity_of
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import SIGNED_OUT, Rejection, failed_request
from coterie.gateway.operations.performance import permitted_run
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_listing import VIEWERS
from coterie.gateway.streams.cursors import Cursor, parse_joint
from coterie.gateway.streams.event_source import EventSourceResponse
from coterie.gateway.streams.event_stream import EventStream, StreamRequest
from coterie.gateway.streams.stream_hub import StreamHub

MAX_RUNS = 64
"""Of one stream: their cursors must fit into one header."""
START = "start"
"""Instead of a cursor: all events of a run."""


def event_routes(hub: StreamHub, access: RunAccess) -> Sequence[BaseRoute]:
    """Return the routes of event streams."""

    async def events_of_run(request: Request) -> Response:
        identity = identity_of(request)
        if identity is None:
            return error_response(SIGNED_OUT)
        try:
            run = unquote(request.path_params["run"])
            asked = run_request(run, request.query_params, request.headers, identity.expires)
            return await _events_response(hub, access, asked, identity)
        except CommandError as error:
            return error_response(failed_request(error))

    async def events_of_runs(request: Request) -> Response:
        identity = identity_of(request)
        if identity is None:
            return error_response(SIGNED_OUT)
        try:
            runs = request.query_params.getlist("runs")
            asked = joint_request(runs, request.query_params, request.headers, identity.expires)
            return await _events_response(hub, access, asked, identity)
        except CommandError as error:
            return error_response(failed_request(error))

    return (
        Route(f"{API}/runs/{{run}}/events", events_of_run, methods=["GET"]),
        Route(f"{API}/events", events_of_runs, methods=["GET"]),
    )


def run_request(
    run: str, query: Mapping[str, str], headers: Mapping[str, str], expires: float | None
) -> StreamRequest:
    """Read what a client asks for about one run.

    A client that comes back sends `Last-Event-ID`, which is later than the `after` of its address.

    Raises:
        InvalidCursor: The position is none.
    """
    text = headers.get("last-event-id", "") or query.get("after", "")
    if text in ("", START):
        return StreamRequest((run,), whole=text == START, expires=expires)
    return StreamRequest((run,), {0: Cursor.parse(text)}, expires=expires)


def joint_request(
    runs: Sequence[str],
    query: Mapping[str, str],
    headers: Mapping[str, str],
    expires: float | None,
) -> StreamRequest:
    """Read what a client asks for about several runs; raises like `run_request`."""
    named = tuple(dict.fromkeys(run for run in runs if run))
    if not 0 < len(named) <= MAX_RUNS:
        raise Rejection(
            422,
            "invalid",
            f"a stream has 1 to {MAX_RUNS} runs, and this request names {len(named)}",
            "Send `runs=` once for each run, and ask for further runs in another stream.",
        )
    text = headers.get("last-event-id", "") or query.get("after", "")
    after = {} if text in ("", START) else parse_joint(text, len(named))
    return StreamRequest(named, after, whole=text == START, is_joint=True, expires=expires)


async def _events_response(
    hub: StreamHub, access: RunAccess, asked: StreamRequest, identity: Identity
) -> Response:
    """Return the stream, once it is known that there is something to follow.

    Raises:
        CommandError: The identity may not see a run, it does not exist, or the server is silent.
    """
    await asyncio.gather(
        *(permitted_run(access, run, VIEWERS, identity, "events") for run in asked.runs)
    )
    messages: AsyncGenerator[bytes] = EventStream(hub, asked).messages()
    return EventSourceResponse(messages, await anext(messages))
