"""The two addresses of event streams: one run, or all runs of a page."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from coterie.failures import CommandError
from coterie.gateway.identity.identity import Identity
from coterie.gateway.streams.cursors import Cursor, parse_joint
from coterie.gateway.streams.event_source import EventSourceResponse
from coterie.gateway.streams.event_stream import EventStream, StreamRequest
from coterie.gateway.streams.stream_hub import StreamHub

MAX_RUNS = 64
"""Of one stream: their cursors must fit into one header."""
START = "start"
"""Instead of a cursor: all events of a run."""

MayView = Callable[[str, Identity], Awaitable[None]]
"""Raises CommandError unless the identity may see the run."""
IdentityOf = Callable[[Request], Identity | None]
Refuse = Callable[[CommandError], Response]
"""Makes the response for a request that fails."""


class InvalidStreamRequest(CommandError):
    """A request that names no runs, or too many."""


def stream_routes(
    hub: StreamHub,
    identity_of: IdentityOf,
    may_view: MayView,
    refuse: Refuse,
    signed_out: Callable[[], Response],
    prefix: str = "/v1",
) -> Sequence[BaseRoute]:
    """Return the routes of event streams.

    Args:
        hub: Follows the runs.
        identity_of: Returns who asks.
        may_view: Checks that an identity may see a run.
        refuse: Makes the response of an error.
        signed_out: Makes the response for a request that does not show who asks.
        prefix: Of the paths.
    """

    async def events_of_run(request: Request) -> Response:
        identity = identity_of(request)
        if identity is None:
            return signed_out()
        try:
            run = unquote(request.path_params["run"])
            await may_view(run, identity)
            asked = run_request(run, request.query_params, request.headers, identity.expires)
            return await events_response(hub, asked)
        except CommandError as error:
            return refuse(error)

    async def events_of_runs(request: Request) -> Response:
        identity = identity_of(request)
        if identity is None:
            return signed_out()
        try:
            runs = request.query_params.getlist("runs")
            asked = joint_request(runs, request.query_params, request.headers, identity.expires)
            for run in asked.runs:
                await may_view(run, identity)
            return await events_response(hub, asked)
        except CommandError as error:
            return refuse(error)

    return (
        Route(f"{prefix}/runs/{{run}}/events", events_of_run, methods=["GET"]),
        Route(f"{prefix}/events", events_of_runs, methods=["GET"]),
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
        raise InvalidStreamRequest(
            f"a stream has 1 to {MAX_RUNS} runs, and this request names {len(named)}; repeat "
            "`runs=` for each run, and ask for further runs in another stream"
        )
    text = headers.get("last-event-id", "") or query.get("after", "")
    after = {} if text in ("", START) else parse_joint(text, len(named))
    return StreamRequest(named, after, whole=text == START, is_joint=True, expires=expires)


async def events_response(hub: StreamHub, asked: StreamRequest) -> Response:
    """Return the stream, once it is known that there is something to follow.

    Raises:
        CommandError: The only run that was asked for does not exist, or the server is silent.
    """
    messages: AsyncGenerator[bytes] = EventStream(hub, asked).messages()
    first = await anext(messages)
    return EventSourceResponse(messages, first)
