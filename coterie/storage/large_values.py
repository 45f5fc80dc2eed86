"""Where large values and conversations are kept: beside the embedded server, or as settings say.

What is larger than the threshold and nobody reads with the plain `temporal` CLI goes there, and
a history holds its name. Results, answers of queries and updates stay in full.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    DataConverter,
    ExternalStorage,
    StorageDriver,
    StorageDriverClaim,
    StorageDriverRetrieveContext,
    StorageDriverSelectContext,
    StorageDriverStoreContext,
)

from activities.storage.blobs import BlobMissing, Blobs, DirectoryBlobs
from coterie.settings import STORED, Settings
from coterie.storage.stored_references import (
    DIRECTORY_DRIVER,
    DIRECTORY_HASH,
    CheckedConverter,
    claim_fault,
)
from coterie.storage.wire import (
    MAY_BE_KEPT_OUTSIDE,
    THRESHOLD,
    LeanPayloadConverter,
    data_converter,
)

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Storage:
    """What a process of ours stores with."""

    converter: DataConverter
    """For its client."""
    blobs: Blobs | None
    """For conversations; None where nothing is stored."""
    told: str
    """Where, for people."""


def storage_of(settings: Settings) -> Storage:
    """The storage of these settings; the same for workers, commands and replays.

    Raises:
        CommandError: the bucket's client is not installed.
    """
    place = settings.storage
    if place is None and settings.address is None:
        return directory_storage(settings.state / STORED, private=True)
    if place is None or place == "none":
        return Storage(data_converter, None, "none")
    if place.startswith("s3://"):
        return _bucket(place)
    return directory_storage(Path(place))


@cache
def _bucket(place: str) -> Storage:
    """One for the whole process: it holds connections."""
    from coterie.storage.bucket import bucket_storage

    return bucket_storage(place)


def directory_storage(folder: Path, *, private: bool = False) -> Storage:
    """A folder that all processes of the runs see; a private one, those of one user."""
    blobs = DirectoryBlobs(folder, private=private)
    driver = DirectoryDriver(blobs)
    return Storage(
        DirectoryConverter(
            payload_converter_class=LeanPayloadConverter,
            external_storage=ExternalStorage(
                drivers=[driver], driver_selector=driver.select, payload_size_threshold=THRESHOLD
            ),
        ),
        blobs,
        str(folder),
    )


def is_for_storage(payload: Payload) -> bool:
    """Nobody reads it with the plain `temporal` CLI, or nobody could."""
    return MAY_BE_KEPT_OUTSIDE in payload.metadata or payload.metadata["encoding"] != b"json/plain"


class DirectoryDriver(StorageDriver):
    """Payloads as blobs of a folder."""

    def __init__(self, blobs: DirectoryBlobs) -> None:
        self._blobs = blobs

    def name(self) -> str:
        """What histories call it."""
        return DIRECTORY_DRIVER

    def select(self, context: StorageDriverSelectContext, payload: Payload) -> StorageDriver | None:
        """This driver, or None to leave the payload in history.

        Where nothing can be written, a value stays in history, as if there were no storage: it is
        never more than Temporal takes (`workflows/core/encoding.py`), and no run stands still.
        """
        if not is_for_storage(payload):
            return None
        if not self._blobs.takes(payload.ByteSize()):
            _LOG.warning(
                "the storage %s is full or cannot be written; a value of %d bytes stays in the "
                "run's history",
                self._blobs.folder,
                payload.ByteSize(),
            )
            return None
        return self

    async def store(
        self, context: StorageDriverStoreContext, payloads: Sequence[Payload]
    ) -> list[StorageDriverClaim]:
        """Keep each; what has equal content is kept once."""
        return [
            StorageDriverClaim(
                {
                    DIRECTORY_HASH: await self._blobs.put(
                        payload.SerializeToString(deterministic=True), ""
                    )
                }
            )
            for payload in payloads
        ]

    async def retrieve(
        self, context: StorageDriverRetrieveContext, claims: Sequence[StorageDriverClaim]
    ) -> list[Payload]:
        """What was kept."""
        return [await self._payload(claim) for claim in claims]

    async def _payload(self, claim: StorageDriverClaim) -> Payload:
        fault = claim_fault(DIRECTORY_DRIVER, claim.claim_data)
        if fault is not None:
            raise BlobMissing(f"not a reference to a stored value: {fault}")
        return Payload.FromString(await self._blobs.get(claim.claim_data[DIRECTORY_HASH], ""))


class DirectoryConverter(CheckedConverter):
    """The SDK's converter, without what only drivers need that look at who stores.

    The SDK makes converters anew for each payload to tell the driver whose it is: 50 microseconds
    for a payload that is not stored at all. Blobs are named by their content alone.
    """

    def _with_store_context(self, store_ctx: StorageDriverStoreContext) -> DataConverter:
        return self
