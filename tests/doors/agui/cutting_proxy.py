"""A proxy that cuts the answers of a server after some bytes, as bad networks do."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from random import Random

_BYTES = (150, 700)
"""Of an answer before it is cut: some have not even their whole header."""


class CuttingProxy:
    """Passes connections on, and cuts so many of them."""

    def __init__(self, port: int, cuts: int, seed: int) -> None:
        self.cuts = 0
        """So far."""
        self._port = port
        self._wanted = cuts
        self._random = Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def serve(self) -> None:
        """Pass connections on until it is closed."""
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _pass(self, client: socket.socket) -> None:
        is_cut = self.cuts < self._wanted
        left = self._random.randint(*_BYTES) if is_cut else 1 << 40
        with (
            client,
            suppress(OSError),
            socket.create_connection(("127.0.0.1", self._port)) as server,
        ):
            threading.Thread(target=_copy, args=(client, server), daemon=True).start()
            while left > 0 and (part := server.recv(4096)):
                client.sendall(part[:left])
                left -= len(part)
            if is_cut and left <= 0:
                self.cuts += 1
            for end in (client, server):
                end.shutdown(socket.SHUT_RDWR)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while part := source.recv(65536):
            target.sendall(part)


@contextmanager
def cutting_proxy(port: int, cuts: int, seed: int = 7) -> Generator[CuttingProxy]:
    """A proxy in front of a port of this machine."""
    proxy = CuttingProxy(port, cuts, seed)
    thread = threading.Thread(target=proxy.serve, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.close()
