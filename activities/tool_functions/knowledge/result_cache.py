"""`Cache.put` and `Cache.get`: results of earlier runs of a project, found again by an equal key.

A key is any JSON value; two are equal if their JSON is. Nothing is found by similarity: that is
`Memory.search`.
"""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from coterie.activities.contracts import FailureType
from coterie.activities.os_errors import reason_of
from coterie.activities.storage.absences import outlast_absence
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.activities.workspace.project_files import private_folder, write_private
from coterie.dsl.values import Documented, Frozen

MAX_ENTRIES = 100
"""Of one space; the oldest go first."""
MAX_SIZE = 200_000
"""Bytes of JSON of one value, and of one key."""

CACHE_FOLDER = "cache"
"""Below the worker's state."""

_SPACE = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
_ERRORS = {
    FailureType.FUNCTION_REFUSED: "the key or the value is too large",
    FailureType.FUNCTION_FAILED: (
        "the worker cannot read or write its files, such as on a full disk"
    ),
}


class CacheKey(Documented):
    """Which result."""

    space: str = Field(default="general", pattern=_SPACE)
    """Keys of different spaces never meet."""
    key: JsonValue
    """All that the result depends on."""


class CachedValue(Documented):
    """What is known for the key."""

    found: bool
    """Whether there is a value."""
    value: JsonValue
    """The value; null if there is none."""
    stored: str | None
    """When it was stored, in ISO 8601; null if there is none."""


class NewCacheEntry(CacheKey):
    """A result, for runs with the same key."""

    value: JsonValue
    """The result."""


class StoredCacheEntry(Documented):
    """The entry as stored."""

    replaced: bool
    """Whether there was a value with this key."""
    forgotten: int
    """Oldest entries that the space lost because it has more than 100."""


class _Entry(Frozen):
    """One file: the key is kept, so that a look at the folder says what is there."""

    key: JsonValue
    value: JsonValue
    stored: str


async def get_cached(value: CacheKey, context: FunctionContext) -> CachedValue:
    """Find the value of a key.

    Raises:
        FunctionRefusal: The key is too large.
        FunctionFailure: The file cannot be read.
    """
    file = _file(context, value)
    try:
        entry = await outlast_absence(lambda: FUNCTION_THREADS.run(_read, file))
    except OSError as error:
        why = f"the cache cannot be read: {reason_of(error)}"
        raise FunctionFailure(why, may_pass=True) from None
    if entry is None:
        return CachedValue(found=False, value=None, stored=None)
    return CachedValue(found=True, value=entry.value, stored=entry.stored)


async def put_cached(value: NewCacheEntry, context: FunctionContext) -> StoredCacheEntry:
    """Store a value.

    Raises:
        FunctionRefusal: The key or the value is too large.
        FunctionFailure: The file cannot be written.
    """
    file = _file(context, value)
    _check_size("value", value.value)
    try:
        return await outlast_absence(lambda: FUNCTION_THREADS.run(_store_entry, file, value))
    except OSError as error:
        why = f"the cache cannot be written: {reason_of(error)}"
        raise FunctionFailure(why, may_pass=True) from None


def _file(context: FunctionContext, value: CacheKey) -> Path:
    text = _check_size("key", value.key)
    name = hashlib.sha256(text.encode()).hexdigest()[:32]
    return context.workspace.state_dir / CACHE_FOLDER / value.space / f"{name}.json"


def _check_size(what: str, value: JsonValue) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    size = len(text.encode())
    if size > MAX_SIZE:
        raise FunctionRefusal(f"the {what} has {size:,} bytes; at most {MAX_SIZE:,} are allowed")
    return text


def _read(file: Path) -> _Entry | None:
    try:
        return _Entry.model_validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None  # never stored, or such as a file that a crash or a person cut short


def _store_entry(file: Path, value: NewCacheEntry) -> StoredCacheEntry:
    replaced = file.exists()
    private_folder(file.parent.parent)
    private_folder(file.parent)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    entry = _Entry(key=value.key, value=value.value, stored=now)
    write_private(file, entry.model_dump_json())
    files = sorted(file.parent.glob("*.json"), key=_count_entries)
    old = [old_file for old_file in files[:-MAX_ENTRIES] if old_file != file]
    for old_file in old:
        old_file.unlink(missing_ok=True)
    return StoredCacheEntry(replaced=replaced, forgotten=len(old))


def _count_entries(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:  # another worker has just removed it
        return 0


GET_CACHED = ToolFunction[CacheKey, CachedValue](
    name="Cache.get",
    description="Finds a result that an earlier run of this project stored under the same key.",
    effect="read",
    input=TypeAdapter(CacheKey),
    output=TypeAdapter(CachedValue),
    run=get_cached,
    timeout=30.0,
    errors=_ERRORS,
    labels=("private", "untrusted"),
)

PUT_CACHED = ToolFunction[NewCacheEntry, StoredCacheEntry](
    name="Cache.put",
    description="Stores a result for later runs of this project with the same key.",
    effect="idempotent",
    input=TypeAdapter(NewCacheEntry),
    output=TypeAdapter(StoredCacheEntry),
    run=put_cached,
    timeout=30.0,
    errors=_ERRORS,
)
