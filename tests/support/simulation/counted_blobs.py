"""A storage that counts what is read of it."""

from coterie.activities.storage.blobs import MemoryBlobs


class CountedBlobs(MemoryBlobs):
    """Keeps blobs in memory, and the names of those that were read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[str] = []

    async def get(self, name: str, within: str) -> bytes:
        self.reads.append(name)
        return await super().get(name, within)
