"""A payload that pretends to be a reference to a stored value is judged by its claim alone."""

import json
from hashlib import sha256
from pathlib import Path

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import FunctionResult
from coterie.activities.storage.blobs import BlobMissing
from coterie.storage.large_values import directory_storage
from coterie.storage.stored_references import CheckedConverter, claim_problem
from coterie.storage.wire import LeanPayloadConverter, data_converter
from tests.support.references import HASH, forged, reference

KEY = f"v0/ns/default/wt/TeamWorkflow/wi/a%2Fb/ri/null/d/sha256/{HASH}"
OURS = {"bucket": "team", "key": KEY, "hash_algorithm": "sha256", "hash_value": HASH}


def test_reference_that_coterie_wrote_is_followed() -> None:
    assert claim_problem("coterie.directory", {"sha256": HASH}) is None
    assert claim_problem("coterie.storage.bucket", OURS, "team") is None
    assert claim_problem("coterie.storage.bucket", {**OURS, "key": f"v0/d/sha256/{HASH}"}) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bucket": "other"}, "another bucket"),
        ({"key": f"secrets/d/sha256/{HASH}"}, "another prefix"),
        ({"key": f"coterie/conversations/{HASH}"}, "another prefix"),
        ({"key": f"v0/ns/../d/sha256/{HASH}"}, "another prefix"),
        ({"key": f"v0/ns/a/b/d/sha256/{HASH}"}, "another prefix"),
        ({"hash_value": "0" * 64}, "contradicts itself"),
        ({"hash_algorithm": "md5"}, "contradicts itself"),
        ({"more": "x"}, "other fields"),
    ],
)
def test_a_claim_outside_of_the_bucket_is_refused(change: dict[str, str], message: str) -> None:
    assert message in (claim_problem("coterie.storage.bucket", {**OURS, **change}, "team") or "")


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", HASH.upper(), HASH[:-1], f"{HASH}\n", "é" * 64, ""]
)
def test_a_claim_outside_of_the_folder_is_refused(name: str) -> None:
    assert claim_problem("coterie.directory", {"sha256": name}) is not None


@pytest.mark.parametrize("payload", forged(), ids=range(len(forged())))
async def test_a_forged_reference_fails_by_name_where_a_value_is_made_of_it(
    payload: Payload,
) -> None:
    [checked] = await data_converter._decode_reference_payload_sequence([payload])  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(ApplicationError, match="not a reference to a stored value") as failure:
        LeanPayloadConverter().from_payloads([checked], [dict])
    assert failure.value.non_retryable


async def test_a_well_shaped_reference_to_a_missing_value_stays_one() -> None:
    payload = reference("coterie.directory", {"sha256": HASH})
    for converter in (data_converter, CheckedConverter(bucket="team")):
        assert converter.checked(payload) is payload
        with pytest.raises(RuntimeError, match="TMPRL1105"):
            await converter.decode([payload])


async def test_a_stored_value_comes_back_through_the_check(tmp_path: Path) -> None:
    converter = directory_storage(tmp_path).converter
    value = FunctionResult(data="x" * 40_000)
    payloads = await converter.encode([value])
    assert b"coterie.directory" in payloads[0].data
    assert await converter.decode(payloads, [FunctionResult]) == [value]


async def test_the_error_of_a_changed_value_tells_no_hash_of_it(tmp_path: Path) -> None:
    storage = directory_storage(tmp_path)
    payloads = await storage.converter.encode([FunctionResult(data="x" * 40_000)])
    name = json.loads(payloads[0].data)["claimData"]["sha256"]
    (tmp_path / name[:2] / name).write_bytes(b"secret")
    with pytest.raises(BlobMissing) as error:
        await storage.converter.decode(payloads, [FunctionResult])
    assert sha256(b"secret").hexdigest() not in str(error.value)
