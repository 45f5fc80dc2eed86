"""Bound the answers that the HTTP clients of the SDKs read into memory.

A hook and no transport of our own: the proxies that the environment names stay in use.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final, TypeVar

import httpx2

from coterie.activities.proxies import DIRECT, trusted

MAX_ANSWER: Final = 20_000_000
"""Bytes of one plain answer."""
MAX_STREAM: Final = 100_000_000
"""Bytes of one answer in events, each of which brings a few characters of the text."""
MAX_LINE: Final = 10_000_000
"""Bytes of one line of events; the SDKs copy all of a line with each piece of it."""

_PLAIN: Final = "identity"
_HttpClient = TypeVar("_HttpClient", bound=httpx2.AsyncClient)


class UnboundedAnswer(httpx2.StreamError):
    """An answer is larger than any answer of a model, or may become so when it is unpacked."""


def bounded(http_client: Callable[..., _HttpClient]) -> _HttpClient:
    """Return an SDK's HTTP client that gives up such an answer."""
    headers: Mapping[str, str] = {"Accept-Encoding": _PLAIN}
    hooks: Mapping[str, list[Any]] = {"response": [_bound]}
    return http_client(headers=headers, event_hooks=hooks, mounts=DIRECT, verify=trusted())


async def _bound(response: httpx2.Response) -> None:
    if response.headers.get("Content-Encoding", _PLAIN) != _PLAIN:
        raise UnboundedAnswer("it is compressed, although the request refuses that")
    in_events = response.headers.get("Content-Type", "").startswith("text/event-stream")
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _BoundedStream(response.stream, in_events=in_events)


class _BoundedStream(httpx2.AsyncByteStream):
    """A body that fails once it is too large."""

    def __init__(self, stream: httpx2.AsyncByteStream, *, in_events: bool) -> None:
        self._stream = stream
        self._most = MAX_STREAM if in_events else MAX_ANSWER
        self._in_events = in_events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = line = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > self._most:
                raise UnboundedAnswer(f"it has more than {self._most} bytes")
            if self._in_events:
                end = chunk.rfind(b"\n")
                line = line + len(chunk) if end < 0 else len(chunk) - end - 1
                if line > MAX_LINE:
                    raise UnboundedAnswer(f"a line of it has more than {MAX_LINE} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
