"""A fleet's storage: the SDK's driver and the AWS client against a server that speaks S3."""

import dataclasses
import json
import logging
from collections.abc import AsyncGenerator, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.converter import StorageDriverClaim, StorageDriverRetrieveContext
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from coterie.activities.contracts import FunctionResult
from coterie.activities.storage.absences import seconds_to_store
from coterie.activities.storage.blobs import BlobMissing, BlobsUnusable
from coterie.storage.bucket import BucketClient, BucketDriver, bucket_storage
from coterie.storage.value_storage import Storage
from tests.support.references import reference
from tests.support.servers.bucket_server import StandInBucket, bucket_server

Bucket = StandInBucket


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with bucket_server() as made:
        monkeypatch.setenv("AWS_ENDPOINT_URL", made.address)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        yield made


@pytest.fixture
async def storage(bucket: Bucket) -> AsyncGenerator[Storage]:
    made = bucket_storage("s3://team")
    yield made
    assert made.blobs is not None
    await made.blobs.close()


async def test_a_workflow_task_stores_several_values_at_once(storage: Storage) -> None:
    assert storage.concurrency > 1, "each waits for the network"


async def test_a_large_value_lies_in_the_bucket_and_comes_back(
    bucket: Bucket, storage: Storage
) -> None:
    value = FunctionResult(data="x" * 40_000)
    (payload,) = await storage.converter.encode([value])
    assert payload.ByteSize() < 500
    assert b"coterie.storage.bucket" in payload.data
    [path] = bucket.objects
    assert path.startswith("/team/v0/d/sha256/")
    assert await storage.converter.decode([payload], [FunctionResult]) == [value]


async def test_small_values_and_values_for_people_stay_in_history(
    bucket: Bucket, storage: Storage
) -> None:
    payloads: list[Payload] = await storage.converter.encode(
        [FunctionResult(data="x" * 1000), {"shown": "x" * 40_000}]
    )
    assert [len(payload.data) > 1000 for payload in payloads] == [True, True]
    assert bucket.objects == {}


async def test_a_turn_of_a_conversation_lies_apart_for_each_run(
    bucket: Bucket, storage: Storage
) -> None:
    blobs = storage.blobs
    assert blobs is not None
    name = await blobs.put(b"said", "one")
    await blobs.put(b"said", "two")
    assert len(bucket.objects) == 2
    assert await blobs.get(name, "one") == b"said"
    with pytest.raises(BlobMissing, match=r"not in the storage s3://team: it was deleted there"):
        await blobs.get(name, "three")


async def test_a_bucket_that_cannot_be_reached_is_one_sentence(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    blobs = storage.blobs
    assert blobs is not None
    with pytest.raises(BlobsUnusable, match=r"could not write to the storage s3://team: Could not"):
        await blobs.put(b"said", "one")


class Returning(logging.Handler):
    """Brings the bucket back once somebody has found that it is away."""

    def __init__(self, bucket: Bucket) -> None:
        super().__init__()
        self.bucket = bucket
        self.seen = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.seen += 1
        self.bucket.away = False


@pytest.fixture
def returning(bucket: Bucket) -> Iterator[Returning]:
    """The bucket is away, and returns when the first attempt to store has failed."""
    bucket.away = True
    handler = Returning(bucket)
    logger = logging.getLogger("coterie.activities.storage.absences")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


async def test_the_result_of_an_activity_is_stored_although_the_bucket_was_away(
    bucket: Bucket, storage: Storage, returning: Returning
) -> None:
    async def returned() -> list[Payload]:
        return await storage.converter.encode([FunctionResult(data="x" * 40_000)])

    env = ActivityEnvironment()
    env.info = dataclasses.replace(
        env.info,
        started_time=datetime.now(UTC),
        start_to_close_timeout=timedelta(minutes=10),
        heartbeat_timeout=timedelta(seconds=40),
    )
    [payload] = await env.run(returned)
    assert (returning.seen, len(bucket.objects)) == (1, 1)
    assert b"coterie.storage.bucket" in payload.data


async def test_a_value_outside_activities_is_tried_once(
    bucket: Bucket, storage: Storage, returning: Returning
) -> None:
    with pytest.raises(BlobsUnusable, match=r"could not write to the storage s3://team: "):
        await storage.converter.encode([FunctionResult(data="x" * 40_000)])
    assert (returning.seen, bucket.objects) == (0, {})


@pytest.mark.parametrize(
    ("passed", "start_to_close", "heartbeat", "left"),
    [
        (0, 600, 10, 5),
        (0, 600, None, 300),
        (598, 600, 10, 1),
        (600, 600, 10, None),
        (0, None, 10, 5),
    ],
)
async def test_a_result_waits_only_while_no_timeout_of_its_activity_can_pass(
    passed: float, start_to_close: float | None, heartbeat: float | None, left: float | None
) -> None:
    env = ActivityEnvironment()
    env.info = dataclasses.replace(
        env.info,
        started_time=datetime.now(UTC) - timedelta(seconds=passed),
        start_to_close_timeout=None
        if start_to_close is None
        else timedelta(seconds=start_to_close),
        heartbeat_timeout=None if heartbeat is None else timedelta(seconds=heartbeat),
    )
    assert env.run(seconds_to_store) == pytest.approx(left, abs=0.4)


async def test_a_claim_of_another_place_reaches_no_bucket(bucket: Bucket, storage: Storage) -> None:
    [payload] = await storage.converter.encode([FunctionResult(data="x" * 40_000)])
    bucket.objects["/other/v0/key"] = b"secret"
    asked = BucketDriver(BucketClient(), "team")  # its client is never opened: it has no loop yet
    for change in ({"bucket": "other"}, {"key": "other/key"}):
        claim = {**json.loads(payload.data)["claimData"], **change}
        forged = reference("coterie.storage.bucket", claim)
        with pytest.raises(ApplicationError, match="it names another"):
            await storage.converter.decode([forged], [FunctionResult])
        with pytest.raises(BlobMissing, match="it names another"):
            await asked.retrieve(StorageDriverRetrieveContext(), [StorageDriverClaim(claim)])


async def test_the_error_of_a_changed_object_tells_no_hash_of_it(
    bucket: Bucket, storage: Storage
) -> None:
    payloads = await storage.converter.encode([FunctionResult(data="x" * 40_000)])
    [path] = bucket.objects
    bucket.objects[path] = b"secret"
    with pytest.raises(BlobMissing, match="is damaged") as error:
        await storage.converter.decode(payloads, [FunctionResult])
    assert sha256(b"secret").hexdigest() not in str(error.value)
