"""Ask a server again after a failure, unless asking again cannot help."""

import asyncio

from temporalio.service import RPCError, RPCStatusCode

_FIRST_SECONDS = 0.5
_MAX_SECONDS = 5.0
_LASTING = frozenset(
    {
        RPCStatusCode.NOT_FOUND,
        RPCStatusCode.PERMISSION_DENIED,
        RPCStatusCode.UNAUTHENTICATED,
    }
)


class Patience:
    """Waits longer with each failure of a request in succession."""

    def __init__(self) -> None:
        self._seconds = _FIRST_SECONDS

    async def wait(self, error: RPCError) -> None:
        """Wait before the next try; raises the error if no further try can help."""
        if error.status in _LASTING:
            raise error
        await asyncio.sleep(self._seconds)
        self._seconds = min(2 * self._seconds, _MAX_SECONDS)
