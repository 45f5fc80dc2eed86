"""Choose where large values and conversations are stored: in a bucket, or in a folder.

A payload above the threshold goes there if nobody reads it with the plain `temporal` CLI; the
history holds its name. Results, and answers to queries and updates, stay in full.
"""

import logging
from collections.abc import Sequence
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

from coterie.activities.storage.blobs import BlobDamaged, DirectoryBlobs
from coterie.settings import STORED, Settings
from coterie.storage.stored_references import (
    DIRECTORY_DRIVER,
    DIRECTORY_HASH,
    CheckedConverter,
    claim_problem,
)
from coterie.storage.value_storage import Storage, is_for_storage
from coterie.storage.wire import THRESHOLD, LeanPayloadConverter, data_converter

_LOG = logging.getLogger(__name__)


def directory_storage(folder: Path, *, private: bool = False) -> Storage:
    """Return a folder as storage, shared by all processes of the runs, or private to one user."""
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


class DirectoryDriver(StorageDriver):
    """Stores payloads as blobs in a folder."""

    def __init__(self, blobs: DirectoryBlobs) -> None:
        self._blobs = blobs

    def name(self) -> str:
        """Return its name in histories."""
        return DIRECTORY_DRIVER

    def select(self, context: StorageDriverSelectContext, payload: Payload) -> StorageDriver | None:
        """Return this driver, or None to leave the payload in the history.

        If the storage is not writable, the value stays in the history: it is never larger than
        Temporal's limit (`workflows/core/encoding.py`), and no run stalls.
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
        """Store each payload; equal contents are stored once."""
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
        """Return the stored payloads."""
        return [await self._payload(claim) for claim in claims]

    async def _payload(self, claim: StorageDriverClaim) -> Payload:
        problem = claim_problem(DIRECTORY_DRIVER, claim.claim_data)
        if problem is not None:
            raise BlobDamaged(f"not a reference to a stored value: {problem}")
        return Payload.FromString(await self._blobs.get(claim.claim_data[DIRECTORY_HASH], ""))


class DirectoryConverter(CheckedConverter):
    """The SDK's converter, without the per-payload contexts that only some drivers need.

    The SDK creates new converters for each payload to tell the driver who owns it, which costs 50
    microseconds even for a payload that is not stored. Our blobs depend only on content.
    """

    def _with_store_context(self, store_ctx: StorageDriverStoreContext) -> DataConverter:
        return self


def storage_of(settings: Settings) -> Storage:
    """Return the configured storage; the same for workers, commands and replays.

    Raises:
        CommandError: The bucket's client is not installed.
    """
    storage = settings.storage
    if storage is None and settings.address is None:
        return directory_storage(settings.state / STORED, private=True)
    if storage is None or storage == "none":
        return Storage(data_converter, None, "none")
    if storage.startswith("s3://"):
        return _bucket(storage)
    return directory_storage(Path(storage))


@cache
def _bucket(storage: str) -> Storage:
    """Return the bucket's storage, one per process because it holds connections."""
    from coterie.storage.bucket import bucket_storage

    return bucket_storage(storage)
