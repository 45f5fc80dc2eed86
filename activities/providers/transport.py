"""A broken connection as a ProviderFailure. Imports httpx2, so only adapters to an SDK use it.

The SDKs wrap some of these errors and let others pass as they are, above all in streams, so
the cause is looked up rather than the wrapper.
"""

import httpx2
from pydantic import ValidationError

from activities.providers.provider import ModelRequest
from activities.providers.provider_failures import (
    Endpoint,
    ProviderFailure,
    disconnected,
    malformed,
    stalled,
    unreachable,
)

TRANSPORT_ERRORS = (httpx2.HTTPError, httpx2.StreamError, TimeoutError, ValueError)
"""What passes through the SDKs unwrapped. A ValueError is a body that cannot be read: JSON that
does not parse, bytes that are no text, an answer without the fields that its API promises."""


def from_transport(endpoint: Endpoint, request: ModelRequest, error: Exception) -> ProviderFailure:
    """The failure behind an error of the connection, wrapped by an SDK or not."""
    match _cause(error):
        case httpx2.ConnectError() | httpx2.ConnectTimeout() | httpx2.ProxyError() as cause:
            return unreachable(endpoint, str(cause) or type(cause).__name__)
        case httpx2.TimeoutException() | TimeoutError():
            return stalled(endpoint, request.timeout)
        case httpx2.TransportError() | httpx2.StreamError() as cause:
            return disconnected(endpoint, str(cause) or type(cause).__name__)
        case ValidationError() as cause:
            first = cause.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            return malformed(endpoint, f"{where}: {first['msg']}" if where else first["msg"])
        case ValueError() as cause:
            return malformed(endpoint, str(cause))
        case cause:
            return disconnected(endpoint, type(cause).__name__)


def _cause(error: BaseException) -> BaseException:
    while not isinstance(error, TRANSPORT_ERRORS) and error.__cause__ is not None:
        error = error.__cause__
    return error
