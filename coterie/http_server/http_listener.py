"""Listen at a port of this machine, and serve an application there."""

import socket
from collections.abc import Generator
from contextlib import contextmanager

import uvicorn

from coterie.activities.os_errors import reason_of
from coterie.failures import CommandError

ADDRESS = "127.0.0.1"
_LOOKED_AT = 100
_MAX_PORT = 65_535


def listener(port: int, host: str = ADDRESS) -> socket.socket:
    """Return a socket at a port; 0 for a free one.

    Raises:
        CommandError: The port is taken, or not allowed.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server_socket = socket.socket(family, socket.SOCK_STREAM)
    server_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server_socket.bind((host, port))
        server_socket.listen()  # a client may connect as soon as it knows the address
    except (OSError, OverflowError) as error:
        server_socket.close()
        why = reason_of(error) if isinstance(error, OSError) else "no such port"
        raise CommandError(
            f"could not listen at {host}:{port}: {why}; {_other_port(host, port)}"
        ) from None
    return server_socket


def _other_port(host: str, taken: int) -> str:
    """Say which port to choose instead: the next one that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in range(taken + 1, min(taken + _LOOKED_AT, _MAX_PORT) + 1):
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
        return f"choose another one: --port {port} is free"
    return "choose another --port"


class HttpServer(uvicorn.Server):
    """A server that leaves signals to the command."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture none."""
        yield

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve; end every connection that is left when it stops, or is cancelled."""
        try:
            await super().serve(sockets)
        finally:
            for connection in [*self.server_state.connections]:
                connection.transport.abort()
