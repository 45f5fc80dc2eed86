"""Listen at a port of this machine, and serve an application there."""

import socket
from collections.abc import Generator
from contextlib import contextmanager

import uvicorn

from coterie.activities.os_errors import reason_of
from coterie.failures import CommandError

ADDRESS = "127.0.0.1"


def listener(port: int) -> socket.socket:
    """Return a socket at a port of this machine; 0 for a free one.

    Raises:
        CommandError: The port is taken, or not allowed.
    """
    server_socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server_socket.bind((ADDRESS, port))
        server_socket.listen()  # a client may connect as soon as it knows the address
    except (OSError, OverflowError) as error:
        server_socket.close()
        why = reason_of(error) if isinstance(error, OSError) else "no such port"
        raise CommandError(
            f"could not listen at {ADDRESS}:{port}: {why}; choose another --port"
        ) from None
    return server_socket


class HttpServer(uvicorn.Server):
    """A server that leaves signals to the command."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture none."""
        yield
