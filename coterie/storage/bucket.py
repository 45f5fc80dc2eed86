"""Store blobs in an S3 (or compatible) bucket, for a fleet of workers. Needs the extra `s3`.

Payloads go through the SDK's own driver. Region, keys and endpoint come from the environment, as
for every AWS client (`AWS_REGION`, `AWS_ENDPOINT_URL`, ...).
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from temporalio.api.common.v1 import Payload
from temporalio.contrib.aws.s3driver import S3StorageDriver, S3StorageDriverClient
from temporalio.converter import (
    ExternalStorage,
    StorageDriver,
    StorageDriverClaim,
    StorageDriverRetrieveContext,
    StorageDriverSelectContext,
    StorageDriverStoreContext,
)

from coterie.activities.extra_packages import install_command
from coterie.activities.storage.absences import outlast_absence, seconds_to_store
from coterie.activities.storage.blobs import BlobDamaged, BlobMissing, BlobsUnusable, name_of
from coterie.dsl.visible import shortened_text
from coterie.failures import CommandError
from coterie.storage.stored_references import BUCKET_DRIVER, CheckedConverter, claim_problem
from coterie.storage.value_storage import Storage, is_for_storage
from coterie.storage.wire import THRESHOLD, LeanPayloadConverter

if TYPE_CHECKING:
    from types_aiobotocore_s3.client import S3Client

_CONCURRENT_REQUESTS = 3
"""Of one workflow task; the SDK's default."""


def bucket_storage(url: str) -> Storage:
    """Return the storage of `s3://bucket`.

    Raises:
        CommandError: The extra is not installed.
    """
    if find_spec("aioboto3") is None or find_spec("types_aiobotocore_s3") is None:
        raise CommandError(
            f"the storage {url} needs an S3 client, which is not installed: "
            f"{install_command('s3')}; or set COTERIE_STORAGE to a folder that all workers share"
        )
    bucket = url.removeprefix("s3://")
    client = BucketClient()
    driver = BucketDriver(client, bucket)

    def select(context: StorageDriverSelectContext, payload: Payload) -> StorageDriver | None:
        return driver if is_for_storage(payload) else None

    converter = CheckedConverter(
        bucket=bucket,
        payload_converter_class=LeanPayloadConverter,
        external_storage=ExternalStorage(
            drivers=[driver], driver_selector=select, payload_size_threshold=THRESHOLD
        ),
    )
    return Storage(converter, BucketBlobs(client, bucket), url, _CONCURRENT_REQUESTS)


class BucketClient(S3StorageDriverClient):
    """The SDK's adapter around a client that is opened on first use, in the current event loop."""

    def __init__(self) -> None:
        self._opening = asyncio.Lock()
        self._adapter: S3StorageDriverClient | None = None
        self._held = AsyncExitStack()

    def describe(self) -> Mapping[str, str]:
        """Return details for error messages."""
        return {} if self._adapter is None else self._adapter.describe()

    async def object_exists(self, *, bucket: str, key: str) -> bool:
        """Return whether the object exists."""
        return await (await self._open_client()).object_exists(bucket=bucket, key=key)

    async def put_object(self, *, bucket: str, key: str, data: bytes) -> None:
        """Write the object."""
        await (await self._open_client()).put_object(bucket=bucket, key=key, data=data)

    async def get_object(self, *, bucket: str, key: str) -> bytes:
        """Read the object."""
        return await (await self._open_client()).get_object(bucket=bucket, key=key)

    async def close(self) -> None:
        """Close the connections; later use reopens them."""
        self._adapter = None
        await self._held.aclose()

    async def _open_client(self) -> S3StorageDriverClient:
        async with self._opening:
            if self._adapter is None:
                import aioboto3
                from temporalio.contrib.aws.s3driver.aioboto3 import new_aioboto3_client

                session: Any = aioboto3.Session()  # the package is only partly typed
                client = await self._held.enter_async_context(session.client("s3"))
                self._adapter = new_aioboto3_client(cast("S3Client", client))
        return self._adapter


class BucketDriver(S3StorageDriver):
    """The SDK's driver, restricted to its bucket; its errors contain no hashes.

    It stores the result of an activity although the bucket is away for some seconds: the SDK calls
    it when the activity has returned, too late for the activity's own patience.
    """

    def __init__(self, client: BucketClient, bucket: str) -> None:
        super().__init__(client, bucket, driver_name=BUCKET_DRIVER)
        self._objects = client
        self._name = bucket

    async def store(
        self, context: StorageDriverStoreContext, payloads: Sequence[Payload]
    ) -> list[StorageDriverClaim]:
        """Store each payload; in an activity, again and again while it has time."""

        async def stored() -> list[StorageDriverClaim]:
            try:
                return await super(BucketDriver, self).store(context, payloads)
            except RuntimeError as error:  # the SDK's own, around what the client raised
                raise BlobsUnusable(_unwritable(self._name, error.__cause__ or error)) from None

        return await outlast_absence(stored, seconds_to_store())

    async def retrieve(
        self, context: StorageDriverRetrieveContext, claims: Sequence[StorageDriverClaim]
    ) -> list[Payload]:
        """Fetch the stored values concurrently."""
        return list(await asyncio.gather(*(self._payload(claim.claim_data) for claim in claims)))

    async def _payload(self, claim: Mapping[str, str]) -> Payload:
        problem = claim_problem(BUCKET_DRIVER, claim, self._name)
        if problem is not None:
            raise BlobDamaged(f"not a reference to a stored value: {problem}")
        data = await _object(self._objects, self._name, claim["key"], claim["hash_value"])
        return Payload.FromString(data)


class BucketBlobs:
    """Blobs as objects, separate for each run, so that an object is never older than its run."""

    def __init__(self, client: BucketClient, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    async def put(self, data: bytes, within: str) -> str:
        """Store bytes, and return their name."""
        name = name_of(data)
        try:
            await self._client.put_object(bucket=self._bucket, key=_key(name, within), data=data)
        except Exception as error:
            raise BlobsUnusable(_unwritable(self._bucket, error)) from None
        return name

    async def get(self, name: str, within: str) -> bytes:
        """Return the bytes stored under a name."""
        return await _object(self._client, self._bucket, _key(name, within), name)

    async def close(self) -> None:
        """Close the connections, including the driver's."""
        await self._client.close()


async def _object(client: BucketClient, bucket: str, key: str, name: str) -> bytes:
    """Fetch an object, and check that its content matches the name."""
    try:
        data = await client.get_object(bucket=bucket, key=key)
    except Exception as error:
        if _code(error) in ("NoSuchKey", "404"):
            raise BlobMissing(
                f"the value {name[:12]} is not in the storage s3://{bucket}: it was deleted there, "
                "or written to another storage"
            ) from None
        raise BlobsUnusable(
            f"could not read from the storage s3://{bucket}: {_reason(error)}"
        ) from None
    if name_of(data) != name:
        raise BlobDamaged(f"s3://{bucket}/{key} is damaged: its content does not match")
    return data


def _key(name: str, within: str) -> str:
    return f"coterie/conversations/{name_of(within.encode())[:32]}/{name}"


def _unwritable(bucket: str, error: BaseException) -> str:
    return f"could not write to the storage s3://{bucket}: {_reason(error)}"


def _code(error: BaseException) -> str:
    response = getattr(error, "response", None)
    if not isinstance(response, dict):
        return ""
    return str(cast("dict[str, dict[str, object]]", response).get("Error", {}).get("Code", ""))


def _reason(error: BaseException) -> str:
    return _code(error) or shortened_text(" ".join(str(error).split()), 200) or type(error).__name__
