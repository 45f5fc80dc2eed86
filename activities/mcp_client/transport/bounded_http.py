"""An HTTP transport that reads no endless answer into memory, and notes what becomes of a call.

The SDK bounds single events of a stream; a plain answer is bounded here.
"""

from collections.abc import AsyncIterator

import httpx2

from coterie.activities.mcp_client.transport.call_progress import CURRENT_CALL
from coterie.activities.mcp_client.transport.message_bounds import (
    MAX_LINE,
    MAX_VALUES,
    has_too_many_values,
)

_EVENTS = "text/event-stream"
_SESSION = "Mcp-Session-Id"


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """Fails an answer that is too large, or compressed although nobody asked for that."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, and return its answer with a bounded body."""
        request.headers["Accept-Encoding"] = "identity"
        response = await self._send_request(request)
        if response.headers.get("Content-Encoding", "identity") != "identity":
            await response.aclose()
            raise httpx2.ReadError("the answer is compressed")
        stream = response.stream
        if response.headers.get("Content-Type", "").startswith(_EVENTS):
            return response
        assert isinstance(stream, httpx2.AsyncByteStream)
        response.stream = _BoundedStream(stream)
        return response

    async def _send_request(self, request: httpx2.Request) -> httpx2.Response:
        call = CURRENT_CALL.get()
        try:
            response = await super().handle_async_request(request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            if call is not None:
                call.note_unconnected()
            raise
        if call is not None:
            call.note_status(response.status_code, in_session=_SESSION in request.headers)
        return response


class _BoundedStream(httpx2.AsyncByteStream):
    """A body that fails once it is too large, and comes as a whole."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = bytearray()
        async for chunk in self._stream:
            body += chunk
            if len(body) > MAX_LINE:
                raise httpx2.ReadError(f"the answer has more than {MAX_LINE} bytes")
        whole = bytes(body)
        if has_too_many_values(whole):
            raise httpx2.ReadError(f"the answer has more than {MAX_VALUES} values")
        yield whole

    async def aclose(self) -> None:
        await self._stream.aclose()
