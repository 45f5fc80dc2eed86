"""Connect to Temporal, for commands and workers."""

import re
from datetime import timedelta

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode, TLSConfig

from coterie.dsl.visible import shortened_text
from coterie.failures import CommandError
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
    said = re.search(r'message: "([^"]+)"', text) or re.search(r'error: "([^"]+)"', text)
    return said[1] if said else shortened_text(text.replace("\n", " ").strip(), 200)
