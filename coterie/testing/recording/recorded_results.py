"""Read the results of skills that a history only names."""

import json
from collections.abc import Iterable

from coterie.activities.contracts import SkillResult
from coterie.activities.storage.blobs import BlobMissing, Blobs, BlobsUnusable
from coterie.dsl.values import JsonValue
from coterie.failures import CommandError
from coterie.testing.recording.recorded_events import RecordedCallEvent


async def stored_results(
    calls: Iterable[RecordedCallEvent], blobs: Blobs | None, run: str
) -> dict[str, JsonValue]:
    """Return the results of calls of agents' tools, by the names of their stored values.

    Raises:
        CommandError: One is not in the storage, or there is no storage.
    """
    kept = [
        call.result.kept
        for call in calls
        if isinstance(call.result, SkillResult) and call.result.kept is not None
    ]
    found: dict[str, JsonValue] = {}
    for one in kept:
        if blobs is None:
            raise CommandError(
                f"a result of run {run!r} is a stored value, but no storage is configured here; "
                "set COTERIE_STORAGE to the storage of its workers"
            )
        try:
            found[one.name] = json.loads(await blobs.get(one.name, run))
        except (BlobMissing, BlobsUnusable) as error:
            raise CommandError(f"a result of run {run!r} cannot be recorded: {error}") from None
    return found
