"""Connections of HTTP clients: each request arrives in time, and each connection has a place."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Generic, TypeVar, cast

import h11
from starlette.responses import PlainTextResponse, Response
from uvicorn.protocols.http.h11_impl import H11Protocol

Connection = TypeVar("Connection")


class ConnectionPlaces(Generic[Connection]):
    """The open connections, each in one of two kinds of places."""

    def __init__(
        self, strangers: int, per_address: int, authorized: int, per_identity: int | None = None
    ) -> None:
        """Take the greatest numbers of each kind; without one per identity, it may have all."""
        self._max_strangers = strangers
        self._max_per_address = per_address
        self._max_authorized = authorized
        self._max_per_identity = authorized if per_identity is None else per_identity
        self._strangers: dict[Connection, str] = {}
        """With their addresses, oldest first."""
        self._authorized: dict[Connection, str] = {}
        """With their identities."""

    def open(self, connection: Connection, address: str) -> Connection | None:
        """Give a new connection the place of a stranger.

        Returns:
            The stranger that must be closed for it.
        """
        self._strangers[connection] = address
        addresses = list(self._strangers.values())
        if addresses.count(address) > self._max_per_address:
            return self._oldest_of(address)
        if len(addresses) > self._max_strangers:
            return self._oldest_of(max(dict.fromkeys(addresses), key=addresses.count))
        return None

    def authorize(self, connection: Connection, identity: str = "") -> bool:
        """Move a connection that showed who it is; False if all those places are taken."""
        if self._authorized.get(connection) == identity:
            return True
        others = [its for other, its in self._authorized.items() if other is not connection]
        if len(others) >= self._max_authorized or others.count(identity) >= self._max_per_identity:
            return False
        self._strangers.pop(connection, None)
        self._authorized[connection] = identity
        return True

    def close(self, connection: Connection) -> None:
        """Free the place of a connection."""
        self._strangers.pop(connection, None)
        self._authorized.pop(connection, None)

    def _oldest_of(self, address: str) -> Connection:
        oldest = next(connection for connection, its in self._strangers.items() if its == address)
        del self._strangers[oldest]
        return oldest


CONNECTION = "connection"
"""The key of an `HttpConnection` in the state of an ASGI scope."""
REQUEST_SENDER = "coterie_sender"
"""The key of the `Sender` of a request in it."""
REQUEST_SIGNER = "coterie_signer"
"""The key of what returns who signs the caller's decisions under a name; None: nobody."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Times in seconds, and numbers of connections."""

    header: float = 10.0
    """From the start of a connection, or its last response, to the end of a request's header."""
    body: float = 30.0
    """From the end of the header to the end of the body."""
    unread: float = 5.0
    """From an early answer to the end of what the client still sends."""
    header_bytes: int = 16 * 1024
    """Of the request line and the header together."""
    authorized: int = 200
    authorized_per_identity: int | None = None
    """None: one identity may have all."""
    strangers: int = 256
    """Connections that have not shown who they are."""
    strangers_per_address: int = 128
    backlog: int = 64
    """Connections accepted at once: fewer than the strangers of one address, so that a client's
    request is read before newer connections take its place."""
    sessions: int = 100
    """The oldest idle one makes room for the next."""


RefuseHead = Callable[[HTTPStatus], Response]
"""Returns the response for a request whose line or header cannot be read, or is too long."""


def plain_refusal(status: HTTPStatus) -> Response:
    """Return the refusal in one word of HTTP."""
    return PlainTextResponse(f"{status.phrase}\n", status)


class _LingeringTransport:
    """A transport that ends with its client where that is still sending.

    A connection that is closed with bytes unread resets, and its client loses the answer.
    """

    def __init__(self, transport: asyncio.Transport, connection: "HttpConnection") -> None:
        self._transport = transport
        self._connection = connection
        self.is_lingering = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        return self.is_lingering or self._transport.is_closing()

    def close(self) -> None:
        if self.is_closing() or not self._connection.has_unread:
            self._transport.close()
            return
        self.is_lingering = True
        self._transport.write_eof()
        self._transport.resume_reading()
        self._connection.loop.call_later(self._connection.unread_time, self._transport.abort)


class HttpConnection(H11Protocol):
    """A connection that ends when a request does not arrive in time, or its place is taken."""

    def __init__(
        self,
        limits: ConnectionLimits,
        refuse_head: RefuseHead,
        places: "ConnectionPlaces[HttpConnection]",
        **options: Any,
    ) -> None:
        """Take the limits, the places of all connections, and what uvicorn gives."""
        super().__init__(**options)
        self.conn = h11.Connection(h11.SERVER, limits.header_bytes)
        self._limits = limits
        self._refuse_head = refuse_head
        self.app_state = {**self.app_state, CONNECTION: self}
        self._places = places
        self._awaited: type[h11.IDLE] | type[h11.SEND_BODY] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def authorize(self, identity: str = "") -> bool:
        """Keep the connection, which has shown who it is; False if there are too many."""
        return self._places.authorize(self, identity)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, and wait for a request."""
        self._lingering = _LingeringTransport(transport, self)
        super().connection_made(cast("asyncio.Transport", self._lingering))
        oldest = self._places.open(self, self.client[0] if self.client else "")
        if oldest is not None:
            oldest.transport.abort()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the place."""
        self._places.close(self)
        self._expect(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what arrives; drop it once the answer is sent."""
        if not self._lingering.is_lingering:
            super().data_received(data)

    @property
    def has_unread(self) -> bool:
        """Whether the client has not sent its request to the end, as far as we have read."""
        return self.conn.their_state in (h11.SEND_BODY, h11.ERROR)

    @property
    def unread_time(self) -> float:
        """How long what a client still sends is dropped, in seconds."""
        return self._limits.unread

    def handle_events(self) -> None:
        """Read, then wait for what is missing."""
        super().handle_events()
        self._watch()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()  # half of an answer is on its way
            return
        if self.cycle:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        status = self._unreadable()
        response = self._refuse_head(status)
        headers = [*response.raw_headers, (b"connection", b"close")]
        for event in (
            h11.Response(status_code=status, headers=headers, reason=status.phrase.encode()),
            h11.Data(data=bytes(response.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _unreadable(self) -> HTTPStatus:
        unread, _ = self.conn.trailing_data
        if len(unread) <= self._limits.header_bytes:
            return HTTPStatus.BAD_REQUEST
        if b"\n" in unread:
            return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        return HTTPStatus.REQUEST_URI_TOO_LONG

    def _watch(self) -> None:
        state = self.conn.their_state
        self._expect(state if state in (h11.IDLE, h11.SEND_BODY) else None)

    def _expect(self, part: Any) -> None:
        """Limit the time of a part of a request; data does not extend it."""
        if part is self._awaited:
            return
        self._awaited = part
        if self._timer is not None:
            self._timer.cancel()
        seconds = self._limits.header if part is h11.IDLE else self._limits.body
        self._timer = self.loop.call_later(seconds, self.transport.abort) if part else None


def connection_maker(
    limits: ConnectionLimits, refuse_head: RefuseHead = plain_refusal
) -> Callable[..., HttpConnection]:
    """Return what makes the connections of one server, which share its places."""
    places: ConnectionPlaces[HttpConnection] = ConnectionPlaces(
        limits.strangers,
        limits.strangers_per_address,
        limits.authorized,
        limits.authorized_per_identity,
    )
    return partial(HttpConnection, limits, refuse_head, places)
