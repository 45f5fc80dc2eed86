"""Choose the server of a command: the one in COTERIE_ADDRESS, or the project's own."""

import asyncio
from dataclasses import dataclass
from urllib.parse import quote

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
    """Base URL of the UI; None if unknown."""
    embedded: Embedded | None = None

    def ui_of(self, run: str) -> str | None:
        """Return the URL of a run in the UI."""
        if self.ui is None:
            return None
        return ui_address(self.ui, self.client.namespace, run)


def ui_address(ui: str, namespace: str, run: str) -> str:
    """Return the URL of a run in a UI."""
    return f"{ui}/namespaces/{quote(namespace, safe='')}/workflows/{quote(run, safe='')}"


async def open_connection(settings: Settings, *, start: bool = False) -> Connection:
    """Connect; start the embedded server if it has data, or if asked to.

    Raises:
        CommandError: There is no server, or nothing has run here.
    """
    if settings.address is not None:
        client = await connect(settings, settings.address)
        return Connection(client, settings.address, settings.ui)
    server = EmbeddedServer(settings)
    if not start and not server.has_data():
        raise CommandError(
            f"nothing has run in {settings.project} yet; `coterie run --help` shows how to "
            "start a run; for another server, set COTERIE_ADDRESS"
        )
    record = await asyncio.to_thread(server.ensure)
    client = await connect(settings, record.address)
    return Connection(client, record.address, record.ui, Embedded(server, record))
