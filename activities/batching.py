"""Take a model call as a batch: the agent asks as always, and its turn ends before the answer.

The first attempt submits the call, and the turn reports the batch instead of an answer. A later
activity builds the same call again, and collects the answer if it is there. Every provider's calls
are metered; those of a server that does not count are estimated.
"""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import uuid4

from temporalio import activity

from coterie.activities.agents.agent_base import ProviderAccess
from coterie.activities.attempts import check_attempt
from coterie.activities.context_windows import ContextWindows
from coterie.activities.contracts import StartedBatch, first_id
from coterie.activities.metering import Meter
from coterie.activities.providers.batches.batch_provider import BatchProvider, without_batches
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
        self._meter.note_reasoning(request, completion.content)
        return completion

    async def close(self) -> None:
        """Do nothing: the worker closes the providers that it opened."""


_CLOCKS_DIFFER = timedelta(minutes=5)


class BatchInProgress(Exception):
    """The provider works on the call; the turn ends without an answer."""

    def __init__(self, batch: StartedBatch) -> None:
        self.batch = batch
        super().__init__(f"batch {batch.id} is in progress")


class BatchedProviders:
    """Providers that take the one call of a turn as a batch."""

    def __init__(
        self,
        providers: ProviderAccess,
        meter: Meter,
        windows: ContextWindows,
        started: StartedBatch | None,
    ) -> None:
        self._providers = providers
        self._meter = meter
        self._windows = windows
        self._started = started

    def get(self, name: str) -> ModelProvider:
        """Return the provider of that name.

        Raises:
            ProviderFailure: It does not exist, its key is missing, or it has no batch API.
        """
        provider = self._providers.get(name)
        if not isinstance(provider, BatchProvider):
            raise without_batches(name)
        return _BatchedProvider(name, provider, self._meter, self._windows, self._started)


class _BatchedProvider:
    def __init__(
        self,
        name: str,
        provider: BatchProvider,
        meter: Meter,
        windows: ContextWindows,
        started: StartedBatch | None,
    ) -> None:
        self._name = name
        self._provider = provider
        self._meter = meter
        self._windows = windows
        self._started = started

    async def complete(self, request: ModelRequest) -> Completion:
        """Return the answer of the batch.

        Raises:
            BatchInProgress: It was submitted, or has no answer yet.
            ProviderFailure: It was refused, or ended without an answer.
        """
        await check_attempt()
        batch = self._started
        if batch is None:
            await self._windows.check(self._name, request, estimated_input(request))
            custom_id, since = _call_of(request)
            id = await self._provider.submit(request, custom_id, since)
            raise BatchInProgress(StartedBatch(id=id, custom_id=custom_id))
        try:
            completion = await self._provider.collect(request, batch)
        except ProviderFailure as failure:
            if failure.usage is not None:
                counted = counted_or_estimated(failure.usage, request)
                await self._meter.take(self._name, request.model, *counted, batched=True)
            raise
        if completion is None:
            raise BatchInProgress(batch)
        counted = counted_or_estimated(completion.usage, request, completion.content)
        await self._meter.take(self._name, request.model, *counted, batched=True)
        self._meter.note_reasoning(request, completion.content)
        return completion


async def cancel_batch(providers: ProviderAccess, provider: str, batch: StartedBatch) -> None:
    """Cancel a batch that nobody waits for.

    Raises:
        ProviderFailure: The provider does not exist, or did not take the request.
    """
    batch_provider = providers.get(provider)
    if isinstance(batch_provider, BatchProvider):
        await batch_provider.cancel(batch)


def _call_of(request: ModelRequest) -> tuple[str, datetime]:
    """Return the id of the call, equal in all attempts, and the earliest time of its start."""
    if not activity.in_activity():  # outside an activity, where no later attempt looks for it
        return f"coterie-{uuid4().hex}", datetime.now(UTC)
    digest = sha256(first_id(request.call).encode()).hexdigest()[:40]
    return f"coterie-{digest}", activity.info().scheduled_time - _CLOCKS_DIFFER
