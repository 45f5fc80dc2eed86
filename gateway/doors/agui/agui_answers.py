"""Answer a request of AG-UI: check it, find or start its run, and stream what happens."""

import asyncio

from starlette.responses import Response

from coterie.gateway.doors.agui.agui_calls import AguiCall
from coterie.gateway.doors.agui.agui_inputs import read_input
from coterie.gateway.doors.agui.agui_stream import AguiClient, AguiStream
from coterie.gateway.doors.agui.agui_threads import AguiThreads
from coterie.gateway.doors.agui.stream_positions import position_in
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.streams.event_source import EventSourceResponse
from coterie.gateway.streams.stream_hub import StreamHub


async def answer_call(hub: StreamHub, access: RunAccess, call: AguiCall) -> Response:
    """Return the stream, once it is known that there is something to follow.

    Raises:
        CommandError: The request is refused, or the run cannot be followed.
        InvalidDocument: The team has problems.
    """
    asked = await asyncio.to_thread(read_input, call.body)
    position = position_in(call.last_event, asked.run)
    thread = await AguiThreads(access, call.team, call.identity).open(
        asked, resumes=bool(call.last_event)
    )
    client = AguiClient(call.identity, asked, thread, position)
    messages = AguiStream(hub, access, client).messages()
    return EventSourceResponse(messages, await anext(messages))
