"""Whether a request comes from our own pages: the address that it names, and who sent it.

Cookies do not separate ports, and `SameSite` does not either: a page of another program on this
machine sends our cookies along. So a request that changes something must say that our own page made
it (`Sec-Fetch-Site`, which no page can set), or carry a token, which no page of others knows.
"""

from collections.abc import Collection, Sequence
from typing import Literal

_READING = ("GET", "HEAD", "OPTIONS")

Crossing = Literal["other site", "other origin", "no origin"]
"""Why a request that changes something is not from our own page."""


def crossing(
    method: str, sites: Sequence[str], origins: Sequence[str], own: str
) -> Crossing | None:
    """Return why a request may not change anything; None if it may, or only reads.

    Args:
        method: Of the request.
        sites: The values of its headers `Sec-Fetch-Site`.
        origins: The values of its headers `Origin`.
        own: The origin of ours that it names.
    """
    if method.upper() in _READING:
        return None
    if sites:  # every current browser sends it, and it wins over `Origin`
        return None if set(sites) == {"same-origin"} else "other site"
    if not origins:
        return "no origin"
    return None if len(origins) == 1 and origins[0] == own else "other origin"


def own_origin(hosts: Sequence[str], own: Collection[str]) -> str | None:
    """Return the address of ours that a request names; None for another, led to us by an attacker.

    Args:
        hosts: The values of its headers `Host`.
        own: Our origins, like `https://coterie.example.com` and `http://127.0.0.1:8080`.
    """
    host = hosts[0].lower() if len(hosts) == 1 else ""
    return next((origin for origin in own if host in _hosts(origin)), None)


def _hosts(origin: str) -> tuple[str, ...]:
    scheme, _, host = origin.lower().partition("://")
    port = {"http": ":80", "https": ":443"}[scheme]
    return (host, host + port) if ":" not in host.rpartition("]")[2] else (host,)


def own_path(target: str | None) -> str:
    """Return where to go after sign-in: a path of ours, else the first page."""
    if target is None or not target.startswith("/") or target[1:2] in ("/", "\\"):
        return "/"
    if len(target) > 1000 or any(not " " < character < "\x7f" for character in target):
        return "/"
    return target
