"""What is absent from the storage may come back: its call is repeated. Malformed values stay so."""

from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.contracts import AgentRequest
from coterie.activities.storage.blobs import DirectoryBlobs
from tests.support.agents import RecordingModel, answer, environment, persona, request

SHOWS = persona(prompts={"user": "Look."})
VALUES = {"an image": b"\x89PNG\r\n\x1a\n", "a turn": b'{"prompt": "Hm?", "answer": "Hm."}'}
READS = pytest.mark.parametrize("kind", VALUES)


def reading(kind: str, name: str) -> AgentRequest:
    """A request that reads a stored value."""
    if kind == "a turn":
        return request({}, SHOWS, {"conversation": {"head": name}})
    return request({"input": {"stored_media": name}}, SHOWS)


async def tried(blobs: DirectoryBlobs, wanted: AgentRequest) -> bool | None:
    """Whether another attempt is worth it; None if this one succeeds."""
    activities = AgentActivities(RecordingModel(answer()), blobs=blobs)
    try:
        response = await environment().run(activities.run_agent, wanted)
    except ApplicationError as error:
        if error.type == "StorageUnusable":
            return not error.non_retryable
        raise
    assert response.success, response.error
    return None


@READS
async def test_a_value_that_is_absent_for_a_while_is_read_again(tmp_path: Path, kind: str) -> None:
    blobs = DirectoryBlobs(tmp_path / "blobs")
    wanted = reading(kind, await blobs.put(VALUES[kind], ""))
    blobs.folder.rename(tmp_path / "away")
    assert await tried(blobs, wanted) is True
    (tmp_path / "away").rename(blobs.folder)
    assert await tried(blobs, wanted) is None
    path = next(file for file in blobs.folder.rglob("*") if file.is_file())
    path.rename(tmp_path / "file")
    assert await tried(blobs, wanted) is True
    (tmp_path / "file").rename(path)
    assert await tried(blobs, wanted) is None


@READS
async def test_a_malformed_value_is_not_read_again(tmp_path: Path, kind: str) -> None:
    blobs = DirectoryBlobs(tmp_path / "blobs")
    wanted = reading(kind, await blobs.put(VALUES[kind], ""))
    path = next(file for file in blobs.folder.rglob("*") if file.is_file())
    path.write_bytes(b"x" * path.stat().st_size)
    assert await tried(blobs, wanted) is False


@pytest.mark.parametrize("stored", [b"[]", b"no JSON"])
async def test_what_is_no_turn_is_not_read_again(tmp_path: Path, stored: bytes) -> None:
    blobs = DirectoryBlobs(tmp_path / "blobs")
    wanted = reading("a turn", await blobs.put(stored, ""))
    assert await tried(blobs, wanted) is False


async def test_a_name_of_no_value_is_not_read_again(tmp_path: Path) -> None:
    blobs = DirectoryBlobs(tmp_path / "blobs")
    assert await tried(blobs, reading("a turn", "../elsewhere")) is False
