"""Download a page within bounds: addresses, redirects, type, decoded size, time."""

import asyncio
from dataclasses import dataclass
from functools import partial
from urllib.parse import urljoin, urlsplit

import httpx2

from coterie.activities.process_pool.work import WorkRunner
from coterie.activities.proxies import trusted
from coterie.activities.tool_functions.web.public_addresses import (
    AddressRefused,
    HostUnknown,
    PublicNetwork,
)
from coterie.activities.tool_functions.web.robots import PRODUCT, RobotsFiles
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.activities.workspace.web_access import WebAccess
from coterie.dsl.safety.blocked_places import blocked_url
from coterie.dsl.safety.blocked_rules import blocked_text

MAX_BYTES = 5_000_000
"""Of a decoded page."""

MAX_REDIRECTS = 5

_TYPES = (
    *("text/", "application/json", "application/xml", "application/xhtml+xml"),
    *("application/javascript", "application/yaml", "application/x-yaml", "application/toml"),
)
_HEADERS = {
    "Accept": "text/html, text/*;q=0.9, application/json;q=0.8, application/xml;q=0.8",
    "Accept-Encoding": "gzip",
    "User-Agent": f"{PRODUCT} (an agent that reads one page for its user)",
}
_ROBOTS = RobotsFiles()
"""Of all calls of this worker."""
_BUSY = frozenset((408, 425, 429, 500, 502, 503, 504))
"""Statuses after which the same request may succeed."""


@dataclass(frozen=True, slots=True)
class Page:
    """A downloaded page."""

    url: str
    """Its address after redirects."""
    type: str
    """Its media type, without parameters."""
    charset: str | None
    content: bytes

    def decoded(self) -> str:
        """Return the content as text."""
        try:
            return self.content.decode(self.charset or "utf-8", errors="replace")
        except LookupError:
            return self.content.decode(errors="replace")


async def download(url: str, access: WebAccess, seconds: float, runner: WorkRunner) -> Page:
    """Download a page; the runner judges the site's robots.txt.

    Raises:
        FunctionRefusal: The worker does not allow the address, or a redirect to it.
        FunctionFailure: The page cannot be read, or is too large.
    """
    transport = httpx2.AsyncHTTPTransport(trusted(environment=False))
    guard_connections(transport, access)
    try:
        async with (
            asyncio.timeout(seconds),
            httpx2.AsyncClient(
                transport=transport, trust_env=False, timeout=seconds, headers=_HEADERS
            ) as client,
        ):
            return await _follow_redirects(client, url, access, runner)
    except TimeoutError:
        raise FunctionFailure(
            f"the page did not arrive within {seconds:g} s", may_pass=True
        ) from None
    except httpx2.TimeoutException:
        raise FunctionFailure("the server did not answer in time", may_pass=True) from None
    except AddressRefused as error:
        raise FunctionRefusal(f"{error}; the worker reads only public addresses") from None
    except HostUnknown as error:
        raise FunctionFailure(str(error)) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
        raise FunctionFailure(
            f"the page cannot be read: {type(error).__name__}", may_pass=True
        ) from None


def guard_connections(transport: httpx2.AsyncHTTPTransport, access: WebAccess) -> None:
    """Make a transport connect to checked addresses only.

    The pool takes its backend when it is made, and httpx2 passes none; a test holds this place.
    """
    pool = transport._pool  # pyright: ignore[reportPrivateUsage]
    pool._network_backend = PublicNetwork(access)  # pyright: ignore


async def _follow_redirects(
    client: httpx2.AsyncClient, url: str, access: WebAccess, runner: WorkRunner
) -> Page:
    """Follow redirects; check each address as if it were the first."""
    for _ in range(MAX_REDIRECTS + 1):
        _refuse_address(url, access)
        if access.robots:
            refuse = partial(_refuse_address, access=access)
            await _ROBOTS.check(client, url, refuse, runner)
        async with client.stream("GET", url) as response:
            if not response.is_redirect:
                return await _page(url, response)
            url = urljoin(url, response.headers.get("location", ""))
    raise FunctionFailure(f"the page redirects more than {MAX_REDIRECTS} times")


def _refuse_address(url: str, access: WebAccess) -> None:
    blocked = blocked_url(url)
    if blocked is not None:
        raise FunctionRefusal(f"the address is blocked: {blocked_text(*blocked)}")
    host = urlsplit(url).hostname or ""
    if not access.may_read(host):
        raise FunctionRefusal(
            f"the worker does not read pages of {host!r}; its `worker.web.hosts` allows: "
            f"{', '.join(access.hosts)}"
        )


async def _page(url: str, response: httpx2.Response) -> Page:
    if response.status_code >= 400:
        raise FunctionFailure(
            f"the server answered with status {response.status_code}",
            may_pass=response.status_code in _BUSY,
        )
    media = response.headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
    if not media.startswith(_TYPES) and not media.endswith(("+json", "+xml")):
        raise FunctionFailure(f"the page has the type {media!r}; only texts can be read")
    content = bytearray()
    async for chunk in response.aiter_bytes():  # decoded, so that a small bomb counts in full
        content += chunk
        if len(content) > MAX_BYTES:
            raise FunctionFailure(f"the page has more than {MAX_BYTES} bytes")
    return Page(url, media, response.charset_encoding, bytes(content))
