"""How HTTP connections are made: through which proxies, and which certificates they trust."""

import ssl
from collections.abc import Mapping
from functools import cache
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
DIRECT: Final[Mapping[str, None]] = {
    f"all://{f'[{host}]' if ':' in host else host}": None for host in _LOOPBACK
}
"""`mounts` of an httpx2 client: addresses of this machine are never reached through a proxy."""


@cache
def trusted(*, environment: bool = True) -> ssl.SSLContext:
    """Return the authorities whose certificates count, for all connections of this process.

    To read them takes 20 ms of CPU, in which a worker does nothing else, so a new client does not
    read them again.

    Args:
        environment: Whether the variables `SSL_CERT_FILE` and `SSL_CERT_DIR` name them.
    """
    import httpx2  # late: a command that names a proxy does not need it

    return httpx2.create_ssl_context(trust_env=environment)


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
