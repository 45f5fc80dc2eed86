"""Connect only to public addresses, checked when a connection is made.

A name can resolve to anything, and to something else at the next look-up. So the addresses are
resolved here, all of them are checked, and the connection goes to a checked address, not to the
name.
"""

import asyncio
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, Final, cast

import httpcore2

from coterie.activities.workspace.web_access import WebAccess

Address = IPv4Address | IPv6Address

_IPV6: Final = ip_network("2000::/3")
_REFUSED: Final = tuple(
    map(
        ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "2002::/16", "2001::/23", "3fff::/20", "2001:db8::/32"),
    )
)
"""Networks that Python counts as global, at least in part: relays, tunnels, documentation."""


class AddressRefused(Exception):
    """The host has an address that is not public."""


class HostUnknown(Exception):
    """The name of the host cannot be resolved."""


def is_public(address: Address) -> bool:
    """Return whether an address is one of the public internet."""
    if not address.is_global or address.is_multicast:
        return False
    if isinstance(address, IPv6Address) and address not in _IPV6:
        return False
    return not any(address in network for network in _REFUSED)


async def resolved(host: str, port: int) -> list[Address]:
    """Return the addresses of a host, in the order of the system.

    Raises:
        HostUnknown: It has none.
    """
    try:
        entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        raise HostUnknown(f"the host {host!r} is unknown") from None
    return list(dict.fromkeys(ip_address(str(entry[4][0]).partition("%")[0]) for entry in entries))


class PublicNetwork(httpcore2.AsyncNetworkBackend):
    """Opens connections to public addresses, and to private hosts that the worker allows."""

    def __init__(self, access: WebAccess) -> None:
        self._access = access
        self._inner = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # the interface of httpcore2
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to a checked address of the host.

        Raises:
            AddressRefused: One of its addresses is not public.
            HostUnknown: It has no address.
        """
        addresses = await resolved(host, port)
        if not self._access.may_be_private(host, port):
            private = [address for address in addresses if not is_public(address)]
            if private:
                raise AddressRefused(f"the host {host!r} has an address that is not public")
        error: Exception | None = None
        for address in addresses[:4]:
            try:
                return await self._inner.connect_tcp(
                    str(address), port, timeout, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as failure:
                error = failure
        assert error is not None
        raise error

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109  # the interface of httpcore2
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Refuse: pages are not read from sockets of this machine."""
        raise AddressRefused("sockets of this machine are not part of the web")

    async def sleep(self, seconds: float) -> None:
        """Wait between two attempts."""
        await asyncio.sleep(seconds)
