"""Providers whose calls are metered; the calls of a server that does not count are estimated."""

from coterie.activities.agents.agent_base import ProviderAccess
from coterie.activities.attempts import check_attempt
from coterie.activities.context_windows import ContextWindows
from coterie.activities.metering import Meter
from coterie.activities.providers.input_estimate import counted_or_estimated, estimated_input
from coterie.activities.providers.provider import Completion, ModelProvider, ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure


class MeteredProviders:
    """Providers that report every call to the meter."""

    def __init__(
        self, providers: ProviderAccess, meter: Meter, windows: ContextWindows | None = None
    ) -> None:
        self._providers = providers
        self._meter = meter
        self._windows = windows or ContextWindows()

    def get(self, name: str) -> ModelProvider:
        """Return the provider of that name.

        Raises:
            ProviderFailure: It does not exist, or its key is missing.
        """
        return _MeteredProvider(name, self._providers.get(name), self._meter, self._windows)


class _MeteredProvider:
    def __init__(
        self, name: str, provider: ModelProvider, meter: Meter, windows: ContextWindows
    ) -> None:
        self._name = name
        self._provider = provider
        self._meter = meter
        self._windows = windows

    async def complete(self, request: ModelRequest) -> Completion:
        await check_attempt()
        tokens = estimated_input(request)
        await self._windows.check(self._name, request, tokens)
        try:
            with self._meter.in_progress(self._name, request.model, tokens):
                completion = await self._provider.complete(request)
        except ProviderFailure as failure:
            if failure.usage is not None:
                counted = counted_or_estimated(failure.usage, request)
                await self._meter.take(self._name, request.model, *counted)
            raise
        counted = counted_or_estimated(completion.usage, request, completion.content)
        await self._meter.take(self._name, request.model, *counted, completion.seconds)
        return completion

    async def close(self) -> None:
        """Do nothing: the worker closes the providers that it opened."""
