"""Recognise references to stored values.

Anyone who can send a message can send a payload that imitates a reference. Temporal's library
follows references before the run sees them, and retries the workflow task on failure. So a payload
with a claim that Coterie never writes is replaced first, and fails its message or run with a clear
error. Only the form of the claim decides: a value that is missing now may exist later.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from google.protobuf.json_format import Parse, ParseError
from temporalio.api.common.v1 import Payload
from temporalio.api.sdk.v1.external_storage_pb2 import ExternalStorageReference
from temporalio.converter import (
    DataConverter,
    EncodingPayloadConverter,
    SerializationContext,
)
from temporalio.exceptions import ApplicationError

from coterie.workflows.core.decoding import INVALID_REFERENCE

DIRECTORY_DRIVER = "coterie.directory"
"""Appears in histories: never rename it."""
BUCKET_DRIVER = "coterie.storage.bucket"
"""Appears in histories: never rename it."""
DIRECTORY_HASH = "sha256"

_ENCODING = b"json/protobuf"
_OLD_ENCODING = b"json/external-storage-reference"
_MESSAGE = ExternalStorageReference.DESCRIPTOR.full_name.encode()
_MARKER = "__temporal_external_storage_reference"

_HASH = re.compile(r"[0-9a-f]{64}")
_BUCKET = re.compile(r"[A-Za-z0-9._:/-]{1,200}")
_SEGMENT = r"(?!\.{1,2}/)[A-Za-z0-9._~%-]+"
_KEY = re.compile(
    rf"v0(?:/ns/{_SEGMENT})?(?:/wt/{_SEGMENT}/wi/{_SEGMENT}/ri/{_SEGMENT}"
    rf"|/at/{_SEGMENT}/ai/{_SEGMENT}/ri/{_SEGMENT})?/d/sha256/([0-9a-f]{{64}})"
)


def is_reference(payload: Payload) -> bool:
    """Return whether Temporal's library takes the payload for a reference."""
    metadata = payload.metadata
    encoding = metadata.get("encoding")
    return (
        encoding == _OLD_ENCODING
        or (encoding == _ENCODING and metadata.get("messageType") == _MESSAGE)
        or _MARKER in metadata
    )


def reference_problem(payload: Payload, bucket: str | None = None) -> str | None:
    """Explain why Coterie did not write this reference, or return None.

    Args:
        payload: The apparent reference.
        bucket: The only valid bucket; None if the storage is not a bucket.
    """
    encoding = payload.metadata.get("encoding")
    if encoding != _ENCODING or payload.metadata.get("messageType") != _MESSAGE:
        return "it is not a reference of this version"
    try:
        reference = Parse(payload.data, ExternalStorageReference())
    except (ParseError, ValueError, RecursionError):
        return "it cannot be read"
    return claim_problem(reference.driver_name, dict(reference.claim_data), bucket)


def claim_problem(driver: str, claim: Mapping[str, str], bucket: str | None = None) -> str | None:
    """Explain why Coterie did not write this claim, or return None."""
    if driver == BUCKET_DRIVER:
        return _bucket_problem(claim, bucket)
    if driver != DIRECTORY_DRIVER:
        return "it names a storage that Coterie does not have"
    if set(claim) != {DIRECTORY_HASH} or not _HASH.fullmatch(claim[DIRECTORY_HASH]):
        return "its claim is not the name of a stored value"
    return None


def _bucket_problem(claim: Mapping[str, str], bucket: str | None) -> str | None:
    if set(claim) != {"bucket", "key", "hash_algorithm", "hash_value"}:
        return "its claim has other fields than Coterie writes"
    if bucket is not None and claim["bucket"] != bucket:
        return "it names another bucket"
    key = _KEY.fullmatch(claim["key"])
    if key is None:
        return "it names another prefix than that of stored values"
    is_well_named = _BUCKET.fullmatch(claim["bucket"]) and claim["hash_algorithm"] == "sha256"
    if not is_well_named or claim["hash_value"] != key[1]:
        return "its claim contradicts itself"
    return None


class InvalidReferenceConverter(EncodingPayloadConverter):
    """Raises an error when a payload that imitates a reference is decoded."""

    @property
    def encoding(self) -> str:
        """The encoding of such a payload."""
        return INVALID_REFERENCE.decode()

    def to_payload(self, value: object) -> Payload | None:
        """Encode nothing."""
        return None

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> object:
        """Raise an error.

        Raises:
            ApplicationError: It fails the run; any other error would retry its task forever.
        """
        message = f"not a reference to a stored value: {payload.data.decode(errors='replace')}"
        raise ApplicationError(message, type="InvalidReference", non_retryable=True)


@dataclass(frozen=True)
class CheckedConverter(DataConverter):
    """The SDK's converter, restricted to references that Coterie wrote."""

    bucket: str | None = None
    """The only valid bucket."""

    def with_context(self, context: SerializationContext) -> Self:
        """Return itself: no part of it needs to know whose payload it converts."""
        return self

    def checked(self, payload: Payload) -> Payload:
        """Return the payload, or a replacement for one that imitates a reference."""
        if not is_reference(payload):
            return payload
        problem = reference_problem(payload, self.bucket)
        if problem is None:
            return payload
        return Payload(metadata={"encoding": INVALID_REFERENCE}, data=problem.encode())

    async def _decode_reference_payload_sequence(
        self, payloads: Sequence[Payload]
    ) -> list[Payload]:
        """Check where the SDK looks for references encoded by a codec: we have none."""
        return [self.checked(payload) for payload in payloads]
