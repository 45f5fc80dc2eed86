"""A model whose answers are written down: each call gets the answer of one entry."""

from abc import ABC, abstractmethod
from datetime import datetime

from coterie.activities.contracts import StartedBatch
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.providers.scripts.script import ScriptedAnswer
from coterie.activities.providers.scripts.scripted_completion import completion_of_entry


class ScriptedAnswers(ABC):
    """Answers as a provider does; a subclass says which entry, and how its time passes."""

    async def complete(self, request: ModelRequest) -> Completion:
        """Return the answer of the entry for this call.

        Raises:
            ProviderFailure: No entry matches, or the entry is an error.
        """
        entry = self._entry(request)
        await self._take_time(entry.seconds, request)
        return completion_of_entry(entry, request)

    async def submit(self, request: ModelRequest, custom_id: str, since: datetime) -> str:
        """Take the call as a batch, which is the same one in every attempt.

        Raises:
            ProviderFailure: No entry matches.
        """
        self._entry(request)
        return custom_id

    async def collect(self, request: ModelRequest, batch: StartedBatch) -> Completion | None:
        """Return the entry's answer as soon as the batch has taken its time.

        Raises:
            ProviderFailure: The entry is an error.
        """
        entry = self._entry(request)
        return None if batch.waited < entry.batch_seconds else completion_of_entry(entry, request)

    async def cancel(self, batch: StartedBatch) -> None:  # noqa: B027  # no subclass has to
        """Do nothing: no answer is lost."""

    async def close(self) -> None:  # noqa: B027  # no subclass has to
        """Do nothing."""

    @abstractmethod
    def _entry(self, request: ModelRequest) -> ScriptedAnswer:
        """Return the entry for a call.

        Raises:
            ProviderFailure: No entry matches; says which one to add.
        """

    @abstractmethod
    async def _take_time(self, seconds: float, request: ModelRequest) -> None:
        """Let the time of an answer pass."""
