"""Images and PDF documents by reference: a value names the stored bytes, and a model sees them.

A reference is `{"stored_media": NAME}`. It is all that contexts, results and histories hold.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from coterie.activities.providers.message_model import (
    ImagePart,
    ModelMessage,
    Part,
    StoredPart,
    ToolResultPart,
)
from coterie.activities.storage.blobs import Blobs

REFERENCE = "stored_media"
"""The key of a reference."""

MAX_MEDIA_BYTES = 3_700_000
"""Of one image or document: vendors take 5 MB of base64."""

MAX_REQUEST_BYTES = 20_000_000
"""Of all images and documents of one request."""

_NAME = re.compile(r"[0-9a-f]{64}")
_MAX_DEPTH = 20
_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": "application/pdf",
}


class MediaUnusable(Exception):
    """A reference names what no model can see, or there is too much of it."""


def media_type(data: bytes) -> str | None:
    """Return the media type that the first bytes prove; None for all that models cannot see."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((name for begin, name in _BEGINNINGS.items() if data.startswith(begin)), None)


def references(value: JsonValue) -> tuple[StoredPart, ...]:
    """Return what a value refers to, each once, in its order."""
    return tuple(dict.fromkeys(_parts_in_value(value, _MAX_DEPTH)))


def _parts_in_value(value: JsonValue, depth: int) -> Iterator[StoredPart]:
    match value:
        case {"stored_media": str(name), **rest} if not rest and _NAME.fullmatch(name):
            yield StoredPart(name)
        case dict() if depth > 0:
            for item in value.values():
                yield from _parts_in_value(item, depth - 1)
        case list() if depth > 0:
            for item in value:
                yield from _parts_in_value(item, depth - 1)
        case _:
            return


@dataclass(frozen=True, slots=True)
class StoredMedia:
    """The images and documents that a run may show to models."""

    blobs: Blobs
    within: str
    """The run."""

    async def shown(self, messages: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
        """Return the messages with contents instead of references.

        Raises:
            MediaUnusable: A stored value is not an image or a PDF document, or all are too large.
            BlobMissing: A stored value is missing.
            BlobsUnusable: The storage cannot be reached.
        """
        images: dict[StoredPart, ImagePart] = {}
        for message in messages:
            for part in _stored_parts(message.content):
                if part not in images:
                    images[part] = await self._content(part)
        if sum(len(image.data) for image in images.values()) > MAX_REQUEST_BYTES:
            raise MediaUnusable(
                f"the conversation shows {len(images)} images and documents of more than "
                f"{MAX_REQUEST_BYTES} bytes together; show fewer of them"
            )
        if not images:
            return tuple(messages)
        return tuple(
            replace(message, content=tuple(_with(part, images) for part in message.content))
            for message in messages
        )

    async def _content(self, part: StoredPart) -> ImagePart:
        data = await self.blobs.get(part.name, self.within)
        kind = media_type(data)
        if kind is None or len(data) > MAX_MEDIA_BYTES:
            raise MediaUnusable(
                f"the stored value {part.name[:12]} is not an image or a PDF document of at most "
                f"{MAX_MEDIA_BYTES} bytes; only what `Files.view` stored can be shown"
            )
        return ImagePart(kind, data)


def _stored_parts(content: Sequence[Part]) -> Iterator[StoredPart]:
    for part in content:
        for item in part.media if isinstance(part, ToolResultPart) else (part,):
            if isinstance(item, StoredPart):
                yield item


def _with(part: Part, images: dict[StoredPart, ImagePart]) -> Part:
    match part:
        case StoredPart():
            return images[part]
        case ToolResultPart(media=media) if media:
            new_media = (images[item] if isinstance(item, StoredPart) else item for item in media)
            return replace(part, media=tuple(new_media))
        case _:
            return part
