"""The client of the library `arxiv`, which reads no endless answer.

The library takes no session from outside, so its own one gets a bounded adapter. A test holds this
place.
"""

from time import monotonic
from typing import Any

from arxiv import Client  # pyright: ignore[reportMissingTypeStubs]  # types are inline
from requests import PreparedRequest, RequestException, Response
from requests.adapters import HTTPAdapter

from coterie.activities.tool_functions.web.answer_bounds import AnswerUnbounded, read_bounded

_CHUNK_BYTES = 65_536
_SECONDS = 10.0
"""To connect, and between two parts of an answer."""


class _BoundedAdapter(HTTPAdapter):
    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        began = monotonic()
        kwargs = {**kwargs, "stream": True, "timeout": _SECONDS}
        response = super().send(request, *args, **kwargs)
        try:
            content = read_bounded(response.iter_content(_CHUNK_BYTES), began)
        except AnswerUnbounded as error:
            response.close()
            raise RequestException(str(error), request=request) from None
        response._content = content  # pyright: ignore[reportPrivateUsage]
        return response


def bounded_client(page_size: int) -> Client:
    """Return a client that asks once."""
    client = Client(page_size=page_size, num_retries=0)
    for scheme in ("https://", "http://"):
        client._session.mount(scheme, _BoundedAdapter())  # pyright: ignore[reportPrivateUsage]
    return client
