"""Turn a broken connection into a ProviderFailure. Imports httpx2, so only SDK adapters use it.

The SDKs wrap some of these errors and pass others on unchanged, especially in streams, so this
module examines the cause and not the wrapper.
"""

from json import JSONDecodeError

import httpx2
from pydantic import ValidationError

from coterie.activities.providers.bounded_answers import UnboundedAnswer
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.providers.provider_failures import (
    Endpoint,
    ProviderFailure,
    disconnected,
    malformed,
    stalled,
    unreachable,
    unreadable,
)

TRANSPORT_ERRORS = (httpx2.HTTPError, httpx2.StreamError, TimeoutError, ValueError)
"""Errors that the SDKs pass on unchanged. A ValueError is an unreadable body: invalid JSON, invalid
text, or missing fields."""


def from_transport(endpoint: Endpoint, request: ModelRequest, error: Exception) -> ProviderFailure:
    """Build the failure for a connection error, whether or not an SDK wrapped it."""
    match _cause(error):
        case UnboundedAnswer() as cause:
            return unreadable(endpoint, str(cause))
        case httpx2.ConnectError() | httpx2.ConnectTimeout() | httpx2.ProxyError() as cause:
            return unreachable(endpoint, str(cause) or type(cause).__name__)
        case httpx2.TimeoutException() | TimeoutError():
            return stalled(endpoint, request.timeout)
        case httpx2.TransportError() | httpx2.StreamError() as cause:
            return disconnected(endpoint, str(cause) or type(cause).__name__)
        case ValidationError() as cause:
            first = cause.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            reason = f"{where}: {first['msg']}" if where else first["msg"]
            if first["type"] == "json_invalid":  # cut off, or a page of a gateway
                return malformed(endpoint, reason)
            return unreadable(endpoint, reason)
        case JSONDecodeError() | UnicodeError() as cause:
            return malformed(endpoint, str(cause))
        case ValueError() as cause:
            return unreadable(endpoint, str(cause))
        case cause:
            return disconnected(endpoint, type(cause).__name__)


def _cause(error: BaseException) -> BaseException:
    while not isinstance(error, TRANSPORT_ERRORS) and error.__cause__ is not None:
        error = error.__cause__
    return error
