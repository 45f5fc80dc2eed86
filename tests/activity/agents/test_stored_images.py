"""An agent shows its model the stored images of its run, and of the runs it was forked from."""

import pytest

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.contracts import AgentResponse
from coterie.activities.providers.message_model import ImagePart
from coterie.activities.storage.blobs import BlobMissing, MemoryBlobs
from tests.support.agents import RecordingModel, answer, environment, persona, request

PNG = b"\x89PNG\r\n\x1a\n"
SHOWS = persona(prompts={"user": "Look."})


class BlobsOfRuns(MemoryBlobs):
    """Keeps the values of each run apart."""

    async def put(self, data: bytes, within: str) -> str:
        name = await super().put(data, within)
        self._blobs[f"{within}/{name}"] = data
        return name

    async def get(self, name: str, within: str) -> bytes:
        if f"{within}/{name}" not in self._blobs:
            raise BlobMissing(f"{within} has no {name}")
        return await super().get(name, within)


@pytest.mark.parametrize(
    ("owner", "in_activity", "origins"),
    [("test", True, ()), ("older", True, ("older",)), ("local", False, ())],
)
async def test_an_image_of_the_run_or_its_origins_reaches_the_model(
    owner: str, in_activity: bool, origins: tuple[str, ...]
) -> None:
    blobs, model = BlobsOfRuns(), RecordingModel(answer())
    name = await blobs.put(PNG, owner)
    activities = AgentActivities(model, blobs=blobs)
    wanted = request({"input": {"stored_media": name}}, SHOWS, {"origins": origins})
    run = activities.run_agent
    made = environment()
    response = await (made.run(run, wanted) if in_activity else run(wanted))
    assert isinstance(response, AgentResponse)
    assert response.success
    assert ImagePart("image/png", PNG) in model.requests[0].messages[0].content
