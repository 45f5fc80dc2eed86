"""Choose where large values and conversations are stored.

A payload above the threshold goes there if nobody reads it with the plain `temporal` CLI; the
history holds its name. Results, and answers to queries and updates, stay in full.
"""

from functools import cache
from pathlib import Path

from coterie.settings import STORED, Settings
from coterie.storage.folder import directory_storage
from coterie.storage.value_storage import Storage
from coterie.storage.wire import data_converter


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
