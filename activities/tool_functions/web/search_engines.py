"""The engines of `ddgs`, which read no endless answer.

`ddgs` takes no HTTP client from outside, so each engine gets its bounded one after it is made. A
test holds this place.
"""

from time import monotonic
from typing import Any, NamedTuple

from ddgs.base import BaseSearchEngine
from ddgs.ddgs import DDGS
from ddgs.exceptions import DDGSException, TimeoutException
from primp import Client

from coterie.activities.tool_functions.web.answer_bounds import read_bounded

__all__ = ["DDGSException", "SearchEngines", "TimeoutException"]


class _Answer(NamedTuple):
    """What `ddgs` reads of an answer."""

    status_code: int
    content: bytes
    text: str


class _BoundedClient:
    """An HTTP client of an engine."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:  # cookies and headers, which engines set
        return getattr(self._client, name)

    def request(self, *args: Any, **kwargs: Any) -> _Answer:
        """Request a page, and read it within the bounds."""
        began = monotonic()
        response = self._client.request(*args, **{**kwargs, "stream": True})
        try:
            content = read_bounded(response.iter_bytes(), began)
        finally:
            response.close()
        text = content.decode(response.encoding or "utf-8", "replace")
        return _Answer(response.status_code, content, text)


class SearchEngines(DDGS):
    """Asks engines whose answers are bounded."""

    def _get_engines(self, category: str, backend: str) -> list[BaseSearchEngine[Any]]:
        engines = super()._get_engines(category, backend)
        for engine in engines:
            client: Any = engine.http_client.client
            if not isinstance(client, _BoundedClient):
                engine.http_client.client = _BoundedClient(client)  # pyright: ignore
        return engines
