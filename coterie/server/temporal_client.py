"""The connection to Temporal, for commands and workers alike."""

import re
from datetime import timedelta

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode, TLSConfig

from coterie.failures import CommandError
from coterie.settings import Settings
from coterie.storage.large_values import storage_of

_SOME_SECONDS = timedelta(seconds=10)


async def connect(settings: Settings, address: str) -> Client:
    """A client of the server at the address, its namespace looked up.

    Raises:
        CommandError: nothing answers there, it does not let us in, or has no such namespace.
    """
    try:
        client = await Client.connect(
            address,
            namespace=settings.namespace,
            api_key=settings.api_key,
            tls=tls_of(settings),
            data_converter=storage_of(settings).converter,
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
                f"the server at {address} has no namespace {settings.namespace!r}; make it there, "
                "or set COTERIE_NAMESPACE to one that it has"
            ) from None
        if error.status in (RPCStatusCode.UNAUTHENTICATED, RPCStatusCode.UNAVAILABLE):
            raise CommandError(f"the server at {address} refuses us: {error.message}") from None
        # An account may be let into a namespace and yet not be allowed to describe it.


def tls_of(settings: Settings) -> bool | TLSConfig:
    """Whether the connection is encrypted, and with which certificates.

    Raises:
        CommandError: a file that the settings name cannot be read.
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
            f"the TLS file {error.filename} cannot be read: {error.strerror}"
        ) from None
    return TLSConfig(server_root_ca_cert=ca, client_cert=certificate, client_private_key=key)


def _reason(error: Exception) -> str:
    """What the operating system or the server said, out of a chain of wrappings."""
    text = str(error)
    said = re.search(r'message: "([^"]+)"', text) or re.search(r'error: "([^"]+)"', text)
    return said[1] if said else text.replace("\n", " ").strip()[:200]
