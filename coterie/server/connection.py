"""Which server a command talks to: the one that COTERIE_ADDRESS names, or the project's own."""

import asyncio
from dataclasses import dataclass

from temporalio.client import Client

from coterie.failures import CommandError
from coterie.server.embedded_server import EmbeddedServer
from coterie.server.server_process import ServerRecord
from coterie.server.temporal_client import connect
from coterie.settings import Settings


@dataclass(frozen=True, slots=True)
class Embedded:
    """The project's own server, as this command found or started it."""

    server: EmbeddedServer
    record: ServerRecord


@dataclass(frozen=True, slots=True)
class Connection:
    """A connected client, and the server's address for people."""

    client: Client
    address: str
    ui: str | None
    """The base of the UI's addresses; None when it is not known."""
    embedded: Embedded | None = None

    def ui_of(self, run: str) -> str | None:
        """The page of a run."""
        if self.ui is None:
            return None
        return f"{self.ui}/namespaces/{self.client.namespace}/workflows/{run}"


async def open_connection(settings: Settings, *, start: bool = False) -> Connection:
    """Connect; the embedded server is brought up when it has data, or when asked to.

    Raises:
        CommandError: no server, or nothing was ever run here.
    """
    if settings.address is not None:
        client = await connect(settings, settings.address)
        return Connection(client, settings.address, settings.ui)
    server = EmbeddedServer(settings)
    if not start and not server.has_data():
        raise CommandError(
            f"nothing was run in {settings.project} yet; begin with `coterie run TEAM`, or set "
            "COTERIE_ADDRESS to the server that you mean"
        )
    record = await asyncio.to_thread(server.ensure)
    client = await connect(settings, record.address)
    return Connection(client, record.address, record.ui, Embedded(server, record))
