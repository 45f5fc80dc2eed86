"""Stored images and documents: what refers to them, and how much of them a model is shown."""

import pytest
from pydantic import JsonValue

from coterie.activities.providers.message_model import (
    ImagePart,
    ModelMessage,
    StoredPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from coterie.activities.storage import media
from coterie.activities.storage.blobs import BlobMissing, InheritedBlobs, MemoryBlobs
from coterie.activities.storage.conversations import Conversations
from coterie.activities.storage.media import MediaUnusable, StoredMedia, media_type, references
from coterie.activities.storage.open_conversation import result_parts
from coterie.dsl.tool_loop.exchange import ToolResult

NAME = "0123456789abcdef" * 4
OTHER = "f" * 64
PNG = b"\x89PNG\r\n\x1a\n"


def nested(value: JsonValue, times: int) -> JsonValue:
    for number in range(times):
        value = [value] if number % 2 else {"in": value}
    return value


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ({"stored_media": NAME}, [NAME]),
        ({"stored_media": NAME, "more": 1}, []),
        ({"stored_media": NAME[1:]}, []),
        ({"stored_media": 1}, []),
        (
            {"a": [{"stored_media": OTHER}, {"stored_media": NAME}, {"stored_media": OTHER}]},
            [OTHER, NAME],
        ),
        ({"a": {"stored_media": [{"stored_media": NAME}]}}, [NAME]),
        (nested({"stored_media": NAME}, 20), [NAME]),
        (nested({"stored_media": NAME}, 21), []),
        ("stored_media", []),
        (None, []),
    ],
)
def test_references_are_found_once_each_in_their_order(value: JsonValue, names: list[str]) -> None:
    assert references(value) == tuple(StoredPart(name) for name in names)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"%PDF-1.7", "application/pdf"),
        (b"RIFF\0\0\0\0WEBPVP8", "image/webp"),
        (b"RIFF\0\0\0\0WAVE", None),
        (b"AAAA\0\0\0\0WEBP", None),
        (b"text", None),
        (b"", None),
    ],
)
def test_the_first_bytes_prove_a_media_type(data: bytes, kind: str | None) -> None:
    assert media_type(data) == kind


async def stored(*values: bytes) -> tuple[StoredMedia, list[StoredPart]]:
    blobs = MemoryBlobs()
    parts = [StoredPart(await blobs.put(value, "r")) for value in values]
    return StoredMedia(blobs, "r"), parts


async def test_messages_are_shown_with_contents_in_the_place_of_references() -> None:
    shows, (one, two) = await stored(PNG + b"1", b"%PDF-2")
    image, document = ImagePart("image/png", PNG + b"1"), ImagePart("application/pdf", b"%PDF-2")
    text = TextPart("See.")
    bare = ToolResultPart("c0", "none")
    messages = (
        ModelMessage("user", (bare, ToolResultPart("c1", "seen", media=(one, document)), two)),
        ModelMessage("assistant", (text,)),
        ModelMessage("user", (one, text)),
    )
    assert await shows.shown(messages) == (
        ModelMessage(
            "user", (bare, ToolResultPart("c1", "seen", media=(image, document)), document)
        ),
        ModelMessage("assistant", (text,)),
        ModelMessage("user", (image, text)),
    )
    assert await shows.shown(messages[1:2]) == messages[1:2]


async def test_an_image_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "MAX_MEDIA_BYTES", 10)
    shows, (fits, large, text) = await stored(PNG + b"12", PNG + b"123", b"text")
    assert await shows.shown([ModelMessage("user", (fits,))])
    for part in (large, text):
        with pytest.raises(MediaUnusable, match="is not an image or a PDF document of at most 10"):
            await shows.shown([ModelMessage("user", (part,))])
    with pytest.raises(BlobMissing):
        await shows.shown([ModelMessage("user", (StoredPart(OTHER),))])


async def test_the_images_of_a_request_have_a_largest_size_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(media, "MAX_REQUEST_BYTES", 18)
    shows, (one, two, three) = await stored(PNG + b"1", PNG + b"2", PNG + b"3!")
    fits = [ModelMessage("user", (one, two)), ModelMessage("user", (one, one))]
    assert len(await shows.shown(fits)) == 2
    with pytest.raises(MediaUnusable, match="shows 2 images and documents of more than 18 bytes"):
        await shows.shown([ModelMessage("user", (one, three))])


async def test_a_fork_has_conversations_of_its_own_and_reads_those_of_its_origins() -> None:
    blobs = MemoryBlobs()
    all_runs = Conversations(blobs)
    assert all_runs.of_run("r", ()) is all_runs
    fork = all_runs.of_run("r", ("origin",))
    assert fork is not all_runs
    assert all_runs.of_run("r", ("origin",)) is fork
    assert all_runs.of_run("r", ("origin", "older")) is not fork
    name = await blobs.put(b'{"a": 1}', "origin")
    assert await fork.value(name, "r") == {"a": 1}


class ByRun(MemoryBlobs):
    """Keeps the blobs of each run apart."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: dict[str, MemoryBlobs] = {}

    async def put(self, data: bytes, within: str) -> str:
        return await self.runs.setdefault(within, MemoryBlobs()).put(data, within)

    async def get(self, name: str, within: str) -> bytes:
        return await self.runs.setdefault(within, MemoryBlobs()).get(name, within)


async def test_what_a_fork_reads_of_its_origins_becomes_its_own() -> None:
    blobs = ByRun()
    inherited = InheritedBlobs(blobs, ["newer", "older"])
    name = await blobs.put(b"data", "older")
    assert await inherited.get(name, "fork") == b"data"
    assert await blobs.get(name, "fork") == b"data"
    own = await inherited.put(b"own", "fork")
    assert await blobs.get(own, "fork") == b"own"
    with pytest.raises(BlobMissing):
        await inherited.get(OTHER, "fork")


async def test_a_result_shows_an_image_only_when_it_is_nothing_but_its_reference() -> None:
    blobs = MemoryBlobs()
    kept = await blobs.put(b'"beyond"', "r")
    listed = await blobs.put(b'{"a":["\xc3\xaf",1]}', "r")
    reference = f'{{"stored_media": "{NAME}"}}'
    padded = f'{{"stored_media": "{NAME}"{" " * (200 - len(reference))}}}'
    results = [
        ToolResult(text=reference),
        ToolResult(text=reference, failed=True),
        ToolResult(text=padded),
        ToolResult(text=f"{padded} "),
        ToolResult(text=f"[{reference}]"),
        ToolResult(text=f'{{"in": {reference}}}'),
        ToolResult(text="plain: "),
        ToolResult(text="start and ", kept=kept),
        ToolResult(text="", kept=listed),
    ]
    calls = [ToolCallPart(f"c{n}", "look", "{}") for n in range(len(results) + 1)]
    conversations = Conversations(blobs)
    shown = (StoredPart(NAME),)
    assert await result_parts(calls, results, lambda name: conversations.value(name, "r")) == (
        ToolResultPart("c0", reference, media=shown),
        ToolResultPart("c1", reference, is_error=True),
        ToolResultPart("c2", padded, media=shown),
        ToolResultPart("c3", f"{padded} "),
        ToolResultPart("c4", f"[{reference}]"),
        ToolResultPart("c5", f'{{"in": {reference}}}'),
        ToolResultPart("c6", "plain: "),
        ToolResultPart("c7", "start and beyond"),
        ToolResultPart("c8", '{"a":["ï",1]}'),
    )
