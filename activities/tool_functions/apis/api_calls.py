"""Send the request of a call to an HTTP API within bounds: addresses, redirects, size, time."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx2

from coterie.activities.proxies import trusted
from coterie.activities.tool_functions.apis.api_answers import ApiAnswer
from coterie.activities.tool_functions.web.page_download import guard_connections
from coterie.activities.tool_functions.web.public_addresses import AddressRefused, HostUnknown
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.activities.workspace.web_access import WebAccess
from coterie.dsl.apis.request_building import BuiltRequest

MAX_BYTES = 5_000_000
"""Of a decoded answer."""

_HEADERS = {
    "Accept": "application/json, text/*;q=0.8, */*;q=0.1",
    "Accept-Encoding": "gzip",
    "User-Agent": "Coterie",
}
_TEXTS = ("text/", "application/xml", "application/yaml", "application/x-yaml")
_DESCRIBING = (
    *("content-length", "content-type", "etag", "last-modified", "link", "location"),
    *("retry-after", "x-total-count"),
)
"""Headers that are of use to a caller who asks for headers alone."""


async def send(
    request: BuiltRequest,
    access: WebAccess,
    name: str,
    seconds: float,
    begin: Callable[[], Awaitable[None]],
) -> ApiAnswer:
    """Send a request once, and read its answer.

    Args:
        request: With what proves who calls; no failure shows it.
        access: Which private hosts the worker may reach.
        name: Of the operation, for people.
        seconds: Time limit of the call.
        begin: Called immediately before the request is sent; it may raise.

    Raises:
        FunctionRefusal: The address is not one that the worker may reach.
        FunctionFailure: No answer came, or none that can be read.
    """
    transport = httpx2.AsyncHTTPTransport(trusted(environment=False))
    guard_connections(transport, access)
    await begin()
    try:
        async with (
            asyncio.timeout(seconds),
            httpx2.AsyncClient(
                transport=transport, trust_env=False, timeout=seconds, headers=_HEADERS
            ) as client,
            client.stream(
                request.method, request.url, headers=request.headers, content=request.content
            ) as response,
        ):
            return await _read(response, name)
    except AddressRefused as error:
        raise FunctionRefusal(
            f"{error}; name it in `worker.web.private_hosts` if calls may reach it"
        ) from None
    except HostUnknown as error:
        raise FunctionFailure(str(error), may_pass=True, happened="no") from None
    except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
        why = "does not answer in time" if isinstance(error, httpx2.TimeoutException) else "is down"
        raise FunctionFailure(
            f"the server of {name} {why}, or refuses connections", may_pass=True, happened="no"
        ) from None
    except (TimeoutError, httpx2.TimeoutException):
        raise FunctionFailure(
            f"{name} did not answer within {seconds:g} s", may_pass=True
        ) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
        raise FunctionFailure(
            f"the answer of {name} cannot be read: {type(error).__name__}", may_pass=True
        ) from None


async def _read(response: httpx2.Response, name: str) -> ApiAnswer:
    media = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    described = {key: response.headers[key] for key in _DESCRIBING if key in response.headers}
    answer = ApiAnswer(response.status_code, media, "", described)
    content = bytearray()
    async for chunk in response.aiter_bytes():  # decoded, so that a small bomb counts in full
        content += chunk
        if len(content) > MAX_BYTES:
            raise _unusable(answer, f"the answer of {name} has more than {MAX_BYTES} bytes")
    if content and not _is_text(answer) and 200 <= answer.status < 300:
        raise _unusable(
            answer, f"{name} answered with the type {media!r}; only JSON and texts can be read"
        )
    return answer._replace(text=_text_of(response.charset_encoding, bytes(content)))


def _is_text(answer: ApiAnswer) -> bool:
    media = answer.type
    return answer.is_json or not media or media.startswith(_TEXTS) or media.endswith("+xml")


def _unusable(answer: ApiAnswer, why: str) -> FunctionFailure:
    """Return the failure of a call whose answer is of no use."""
    return FunctionFailure(why, happened="yes" if 200 <= answer.status < 300 else None)


def _text_of(charset: str | None, content: bytes) -> str:
    try:
        return content.decode(charset or "utf-8", errors="replace")
    except LookupError:
        return content.decode(errors="replace")
