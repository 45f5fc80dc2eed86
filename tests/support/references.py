"""Payloads that are, or pretend to be, references to stored values."""

import json

from temporalio.api.common.v1 import Payload

HASH = "ab" * 32

_PROTO = {
    "encoding": b"json/protobuf",
    "messageType": b"temporal.api.sdk.v1.ExternalStorageReference",
}


def reference(driver: str, claim: dict[str, str]) -> Payload:
    """A reference as Temporal's library writes it."""
    text = json.dumps({"driverName": driver, "claimData": claim})
    return Payload(metadata=_PROTO, data=text.encode())


def forged() -> list[Payload]:
    """Every kind of pretence that Temporal's library would fail over."""
    legacy = {"encoding": b"json/external-storage-reference"}
    marked = {"encoding": b"json/plain", "__temporal_external_storage_reference": b"true"}
    return [
        reference("nobody.has.it", {"sha256": HASH}),
        reference("coterie.directory", {"sha256": "../../../etc/passwd"}),
        reference("coterie.directory", {}),
        reference("coterie.storage.bucket", {"bucket": "b", "key": "../x", "hash_value": HASH}),
        Payload(metadata=_PROTO, data=b"{no json"),
        Payload(metadata=_PROTO, data=b'{"driverName": 3}'),
        Payload(metadata=_PROTO, data=b"[" * 100_000),
        Payload(metadata=_PROTO, data=b"\xff\xfe"),
        Payload(metadata=legacy, data=b'{"driver_name": "coterie.directory"}'),
        Payload(metadata=legacy, data=b"{no json"),
        Payload(metadata=marked, data=b'"x"'),
    ]
