"""What every storage of large values has, wherever it keeps them."""

from dataclasses import dataclass

from temporalio.api.common.v1 import Payload
from temporalio.converter import DataConverter

from coterie.activities.storage.blobs import Blobs
from coterie.storage.wire import MAY_BE_KEPT_OUTSIDE

ONE_BY_ONE = 1
"""The SDK then starts no asyncio task for each payload, also for those that stay in the history: a
twentieth of a worker's CPU."""


@dataclass(frozen=True, slots=True)
class Storage:
    """What a process needs to store values."""

    converter: DataConverter
    """For its client."""
    blobs: Blobs | None
    """For conversations; None without a storage."""
    location: str
    """The location, for people."""
    concurrency: int = ONE_BY_ONE
    """Values of one workflow task that a worker stores or loads at the same time."""


def is_for_storage(payload: Payload) -> bool:
    """Return whether nobody reads the payload with the plain `temporal` CLI."""
    return MAY_BE_KEPT_OUTSIDE in payload.metadata or payload.metadata["encoding"] != b"json/plain"
