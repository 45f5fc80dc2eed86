"""What a site's `robots.txt` allows, by RFC 9309.

A site without the file allows everything (any status from 400 to 499). A site whose file cannot be
read allows nothing for now: the RFC wants that of servers that fail, so the call may pass later.
"""

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit, urlunsplit

import httpx2

from coterie.activities.process_pool.work import WorkEnded, WorkRunner
from coterie.activities.tool_functions.web.page_work import ALLOWS, RobotsQuestion
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal

PRODUCT = "Coterie"
"""The product token that a file may name in `User-agent`."""

MAX_SIZE = 512_000
"""Bytes of a file that are read; the RFC wants at least 500 KiB."""

_MAX_REDIRECTS = 5
_MAX_AGE = 3_600.0
"""Seconds for which a file counts; the RFC allows a day."""
_MAX_SITES = 200


class _File(NamedTuple):
    """The file of a site at a time."""

    read: float
    text: str | None
    """None if the site has no file."""


class RobotsFiles:
    """The files that were read lately, of a bounded number of sites."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _File] = OrderedDict()

    async def check(
        self,
        client: httpx2.AsyncClient,
        url: str,
        refuse: Callable[[str], None],
        runner: WorkRunner,
    ) -> None:
        """Return if a site allows that a page is read.

        Args:
            client: Reads the file.
            url: Of the page.
            refuse: Raises FunctionRefusal for an address that the worker does not read.
            runner: Judges the file, which is a stranger's.

        Raises:
            FunctionRefusal: It does not.
            FunctionFailure: The file cannot be read.
        """
        site = _site(url)
        entry = self._known.get(site)
        if entry is None or monotonic() - entry.read > _MAX_AGE:
            text = await _text(client, site, refuse)
            entry = self._known[site] = _File(monotonic(), text)
        self._known.move_to_end(site)
        while len(self._known) > _MAX_SITES:
            self._known.popitem(last=False)
        if entry.text is not None and not await _allows(entry.text, url, site, runner):
            raise FunctionRefusal(
                f"the site's {site}/robots.txt does not allow {PRODUCT} to read this page; read "
                "another page, or set `worker.web.robots: false` if you have the site's permission"
            )


async def _allows(text: str, url: str, site: str, runner: WorkRunner) -> bool:
    try:
        return await runner.run(ALLOWS, RobotsQuestion(text=text, url=url, product=PRODUCT))
    except WorkEnded as end:
        raise _unreadable(site, str(end)) from None


def _site(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme.lower(), parts.netloc.rpartition("@")[2].lower(), "", "", ""))


async def _text(client: httpx2.AsyncClient, site: str, refuse: Callable[[str], None]) -> str | None:
    """Return the file of a site; None if it has none."""
    url = f"{site}/robots.txt"
    for _ in range(_MAX_REDIRECTS + 1):
        refuse(url)
        try:
            async with client.stream("GET", url) as response:
                if response.is_redirect:
                    url = urljoin(url, response.headers.get("location", ""))
                    continue
                return await _body(response, site)
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise _unreadable(site, type(error).__name__) from None
    return None  # as the RFC has it for more redirects


async def _body(response: httpx2.Response, site: str) -> str | None:
    status = response.status_code
    if 400 <= status < 500:
        return None
    if status != 200:
        raise _unreadable(site, f"status {status}")
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk[: MAX_SIZE - len(content)]
        if len(content) == MAX_SIZE:
            break
    return content.decode(errors="replace")


def _unreadable(site: str, why: str) -> FunctionFailure:
    return FunctionFailure(
        f"{site}/robots.txt cannot be read ({why}), so nobody knows whether the site allows this; "
        "try later",
        may_pass=True,
    )
