"""The address of a client: its own, or what a proxy that we know says of it."""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network
_PREFIX = 64
"""Bits of an IPv6 address that a provider gives one customer."""


def networks_of(texts: Iterable[str]) -> tuple[Network, ...]:
    """Return the networks that a configuration lists."""
    return tuple(ip_network(text) for text in texts)


def client_address(peer: str, forwarded: Sequence[str], proxies: Sequence[Network]) -> str:
    """Return the address of the client behind proxies of ours.

    Each proxy appends the address of who connected to it. So the list is read from its end, and
    only as far as proxies of ours wrote it: the rest is what the client claims.

    Args:
        peer: Who connected to us.
        forwarded: The values of all headers `X-Forwarded-For`, in order.
        proxies: The networks of our proxies.
    """
    claimed = [part.strip() for value in forwarded for part in value.split(",")]
    address = peer
    while claimed and _is_within(address, proxies):
        nearest = _address(claimed.pop())
        if nearest is None:
            break
        address = str(nearest)
    return address


def counted_as(address: str) -> str:
    """Return what limits count an address as: an IPv6 network of one customer, or an address."""
    known = _address(address)
    if isinstance(known, IPv6Address):
        return str(ip_network((known, _PREFIX), strict=False))
    return address if known is None else str(known)


def _is_within(address: str, networks: Sequence[Network]) -> bool:
    known = _address(address)
    return known is not None and any(known in network for network in networks)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text.strip("[]"))
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
