"""Connect commands and workers to a server: the one in COTERIE_ADDRESS, or the project's own."""

import asyncio
import re
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import quote

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode, TLSConfig

from coterie.dsl.visible import shortened_text
from coterie.failures import CommandError
from coterie.server.embedded_server import EmbeddedServer
from coterie.server.message_senders import SenderHeaders
from coterie.server.server_process import ServerRecord
from coterie.settings import Settings
from coterie.storage.large_values import storage_of

_SOME_SECONDS = timedelta(seconds=10)


async def connect(settings: Settings, address: str) -> Client:
    """Connect to the server at the address, and check the namespace.

    Raises:
        CommandError: Nothing answers there, access is denied, or the namespace does not exist.
    """
    try:
        client = await Client.connect(
            address,
            namespace=settings.namespace,
            api_key=settings.api_key,
            tls=tls_of(settings),
            data_converter=storage_of(settings).converter,
            interceptors=[SenderHeaders()],
        )
    except (RuntimeError, RPCError) as error:
        raise CommandError(
            f"no Temporal server answers at {address} ({_reason(error)}); start it, set "
            "COTERIE_ADDRESS, or unset it for the embedded server"
        ) from None
    await _check_namespace(client, settings, address)
    return client


async def _check_namespace(client: Client, settings: Settings, address: str) -> None:
    request = DescribeNamespaceRequest(namespace=settings.namespace)
    try:
        await client.workflow_service.describe_namespace(request, timeout=_SOME_SECONDS)
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            raise CommandError(
                f"the server at {address} has no namespace {settings.namespace!r}; create it, "
                "or set COTERIE_NAMESPACE to an existing one"
            ) from None
        if error.status in (RPCStatusCode.UNAUTHENTICATED, RPCStatusCode.UNAVAILABLE):
            raise CommandError(f"the server at {address} denies access: {error.message}") from None
        # An account may have access to a namespace without permission to describe it.


def tls_of(settings: Settings) -> bool | TLSConfig:
    """Return the TLS settings of the connection.

    Raises:
        CommandError: A certificate file cannot be read.
    """
    files = settings.tls_files
    if not settings.tls:
        return False
    try:
        ca, certificate, key = (
            path.read_bytes() if path else None for path in (files.ca, files.certificate, files.key)
        )
    except OSError as error:
        raise CommandError(
            f"could not read the TLS file {error.filename}: {error.strerror}"
        ) from None
    return TLSConfig(server_root_ca_cert=ca, client_cert=certificate, client_private_key=key)


def _reason(error: Exception) -> str:
    """Return the message of the operating system or the server from a chain of wrapped errors."""
    text = str(error)
    match = re.search(r'message: "([^"]+)"', text) or re.search(r'error: "([^"]+)"', text)
    return match[1] if match else shortened_text(text.replace("\n", " ").strip(), 200)


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
