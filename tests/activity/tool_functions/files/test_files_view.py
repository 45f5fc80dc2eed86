"""`Files.view`: what a model may see of the project, stored under its name."""

from pathlib import Path

import pytest

from coterie.activities.contracts import FailureType, FunctionRequest
from coterie.activities.storage.blobs import MemoryBlobs, name_of
from coterie.activities.storage.media import MAX_MEDIA_BYTES, media_type, references
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.workspace.function_base import Workspace
from coterie.dsl.values import Json
from tests.support.tool_functions import environment, refusal

PNG = b"\x89PNG\r\n\x1a\n1234"
A, B = "a" * 64, "b" * 64


async def test_an_image_is_stored_and_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(PNG)  # its content decides, not its name
    blobs = MemoryBlobs()
    functions = FunctionActivities(Workspace(tmp_path), blobs=blobs)
    request = FunctionRequest(skill="Files.view", input={"path": "a.txt"}, key="r/1")
    result = await environment().run(functions.call_function, request)
    assert result.data == {"stored_media": name_of(PNG)}
    assert await blobs.get(name_of(PNG), "r") == PNG


@pytest.mark.parametrize(
    ("path", "content", "type", "message"),
    [
        ("a.png", b"<svg/>", FailureType.FUNCTION_FAILED, "is not a PNG, JPEG, GIF or WebP image"),
        ("a.png", PNG + bytes(MAX_MEDIA_BYTES), FailureType.FUNCTION_FAILED, "at most 3700000"),
        ("b/../a.png", PNG, FailureType.FUNCTION_REFUSED, "'..'"),
        (".env", PNG, FailureType.FUNCTION_REFUSED, "may contain secrets"),
        ("a.png", PNG, FailureType.FUNCTION_FAILED, "needs a storage"),
    ],
)
async def test_what_no_model_may_or_can_see_is_refused(
    path: str, content: bytes, type: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / Path(path).name).write_bytes(content)
    error = await refusal(Workspace(tmp_path), "Files.view", {"path": path})
    assert error.type == type
    assert message in error.message


@pytest.mark.parametrize(
    ("content", "type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF1234WEBPVP8", "image/webp"),
        (b"RIFF1234WAVE", None),
        (b"%PDF-1.7", "application/pdf"),
        (b"", None),
    ],
)
def test_the_first_bytes_prove_the_media_type(content: bytes, type: str | None) -> None:
    assert media_type(content) == type


def test_references_are_found_in_order_and_once() -> None:
    value: Json = {"x": [{"stored_media": B}, {"y": {"stored_media": A}}], "z": {"stored_media": B}}
    assert [one.name for one in references(value)] == [B, A]
    assert references({"stored_media": A, "more": 1}) == ()
    assert references({"stored_media": "../a"}) == ()
    assert references(A) == ()
