"""Say how connections go through the proxies that the worker's environment names."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
DIRECT: Final[Mapping[str, None]] = {
    f"all://{f'[{host}]' if ':' in host else host}": None for host in _LOOPBACK
}
"""`mounts` of an httpx2 client: addresses of this machine are never reached through a proxy."""


def proxy_of(url: str) -> str | None:
    """Return host and port of the proxy for an address, without its credentials; None if direct."""
    try:
        target = urlsplit(url)
        host = target.hostname or ""
        proxies = getproxies()
        address = proxies.get(target.scheme) or proxies.get("all")
        if not address or host in _LOOPBACK or proxy_bypass(host):
            return None
        proxy = urlsplit(address if "://" in address else f"//{address}")
        return f"{proxy.hostname}:{proxy.port}" if proxy.port else proxy.hostname
    except ValueError:  # neither is an address
        return None
