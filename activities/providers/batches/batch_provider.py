"""What a provider with a batch API can do: take a call now, and answer it within a day."""

from datetime import datetime
from typing import Protocol, runtime_checkable

from coterie.activities.contracts import FailureType, StartedBatch
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure


@runtime_checkable
class BatchProvider(Protocol):
    """A provider that also takes calls as batches, one call in each."""

    async def submit(self, request: ModelRequest, custom_id: str, since: datetime) -> str:
        """Submit the call, unless a batch with its `custom_id` is there; return the batch's id.

        Args:
            request: The call.
            custom_id: Identifies the call permanently.
            since: No batch of this call can be older.

        Raises:
            ProviderFailure: It was not taken.
        """
        ...

    async def collect(self, request: ModelRequest, batch: StartedBatch) -> Completion | None:
        """Return the answer; None while the provider works on it.

        Raises:
            ProviderFailure: There will be no answer, or the provider did not say.
        """
        ...

    async def cancel(self, batch: StartedBatch) -> None:
        """Cancel the batch; its answer is not wanted any more.

        Raises:
            ProviderFailure: The provider did not take the request.
        """
        ...


def ended_without_answer(provider: str, batch: StartedBatch, how: str) -> ProviderFailure:
    """Build the failure of a batch that has ended without an answer: another model may have one."""
    return ProviderFailure(
        FailureType.PROVIDER_UNAVAILABLE,
        f"the batch {batch.id} of {provider} has {how} before it was answered",
        retryable=False,
    )


def without_batches(provider: str) -> ProviderFailure:
    """Build the failure for a provider that takes no batches."""
    return ProviderFailure(
        FailureType.PROVIDER_REFUSED,
        f"provider {provider!r} has no batch API: remove `batch` from the persona, or choose "
        "another provider",
        retryable=False,
    )
