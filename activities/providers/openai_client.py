"""Open the official OpenAI client and explain its errors, for both of OpenAI's APIs."""

from openai import (
    APIError,
    APIStatusError,
    AsyncOpenAI,
    DefaultAsyncHttpxClient,
    OpenAIError,
    Timeout,
)

from coterie.activities.providers.bounded_answers import bounded
from coterie.activities.providers.http_statuses import from_status
from coterie.activities.providers.provider import ModelRequest, ProviderSettings
from coterie.activities.providers.provider_failures import Endpoint, ProviderFailure
from coterie.activities.providers.transport import TRANSPORT_ERRORS, from_transport

_CONNECT_SECONDS = 10.0

OPENAI_ERRORS = (OpenAIError, *TRANSPORT_ERRORS)
"""What a call raises: errors of the client, and those that it passes on."""


class OpenAIAccess:
    """A client, and the server that it talks to."""

    def __init__(self, settings: ProviderSettings) -> None:
        self.endpoint = Endpoint.of(settings)
        self.settings = settings
        self.is_own = settings.vendor_api in ("responses", "openai_chat")
        """Whether the server is OpenAI's own, or Azure's."""
        self.client = AsyncOpenAI(
            api_key=self.endpoint.key or "none",
            base_url=self.endpoint.base_url,
            max_retries=0,
            http_client=bounded(DefaultAsyncHttpxClient),
        )
        # The client has read more from the environment; only what the file declares counts.
        self.client.organization, self.client.project = settings.organization, settings.project
        self.client.admin_api_key = None
        self.client._custom_headers = {**settings.headers}  # pyright: ignore[reportPrivateUsage]

    def failure(self, request: ModelRequest, error: Exception) -> ProviderFailure:
        """Build the failure for an error that a call raised."""
        match error:
            case APIStatusError():
                status, headers = error.status_code, error.response.headers
                return from_status(self.endpoint, request, status, headers, error.body)
            case APIError(body=body) if body is not None:  # an event of a stream
                return self.reported(request, body)
            case _:
                return from_transport(self.endpoint, request, error)

    def reported(self, request: ModelRequest, error: object) -> ProviderFailure:
        """Build the failure for an error that an answer with status 200 contains."""
        return from_status(self.endpoint, request, 200, {}, {"error": error})


def timeout_of(request: ModelRequest) -> Timeout:
    """Return the timeouts of one call."""
    return Timeout(request.timeout, connect=min(request.timeout, _CONNECT_SECONDS))
