"""`Cache.put` and `Cache.get`: only an equal key finds a result, also after the worker restarts."""

import os
from pathlib import Path

import pytest
from pydantic import JsonValue

from coterie.activities.tool_functions.knowledge.result_cache import (
    CACHE_FOLDER,
    MAX_ENTRIES,
    CachedValue,
    CacheKey,
    NewCacheEntry,
    StoredCacheEntry,
    get_cached,
    put_cached,
)
from coterie.activities.workspace.function_base import FunctionContext, Workspace
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal

KEY: JsonValue = {"goal": "Mend it.", "details": {"files": ["a.py"]}, "plan": "d1"}


@pytest.fixture
def context(tmp_path: Path) -> FunctionContext:
    return FunctionContext(Workspace(tmp_path), key="call")


async def put(context: FunctionContext, key: JsonValue, value: JsonValue) -> StoredCacheEntry:
    return await put_cached(NewCacheEntry(space="plans", key=key, value=value), context)


async def get(context: FunctionContext, key: JsonValue, space: str = "plans") -> CachedValue:
    return await get_cached(CacheKey(space=space, key=key), context)


async def test_an_equal_key_finds_the_value_whatever_the_order_of_its_fields(
    context: FunctionContext, tmp_path: Path
) -> None:
    assert await get(context, KEY) == CachedValue(found=False, value=None, stored=None)
    assert (await put(context, KEY, [1])).replaced is False
    same: JsonValue = {"plan": "d1", "details": {"files": ["a.py"]}, "goal": "Mend it."}
    restarted = FunctionContext(Workspace(tmp_path), key="another")
    found = await get(restarted, same)
    assert (found.found, found.value) == (True, [1])
    assert found.stored is not None
    assert (await put(context, KEY, None)).replaced is True
    assert (await get(context, KEY)).found  # null is a value


@pytest.mark.parametrize(
    "other",
    [
        {"goal": "Mend it", "details": {"files": ["a.py"]}, "plan": "d1"},
        {"goal": "Mend it.", "details": {"files": ["b.py"]}, "plan": "d1"},
        {"goal": "Mend it.", "details": {"files": ["a.py"]}, "plan": "d2"},
        None,
    ],
)
async def test_another_key_or_another_space_finds_nothing(
    context: FunctionContext, other: JsonValue
) -> None:
    await put(context, KEY, [1])
    assert not (await get(context, other)).found
    assert not (await get(context, KEY, space="other")).found


async def test_the_oldest_entries_go_first(context: FunctionContext) -> None:
    folder = context.workspace.state_dir / CACHE_FOLDER / "plans"
    for number in range(MAX_ENTRIES):
        await put(context, number, number)
    for age, file in enumerate(sorted(folder.glob("*.json"))):
        os.utime(file, (1000 + age, 1000 + age))
    first = min(folder.glob("*.json"))
    assert (await put(context, "new", 1)).forgotten == 1
    assert not first.exists()
    assert (await get(context, "new")).found
    assert len(list(folder.glob("*.json"))) == MAX_ENTRIES


async def test_a_damaged_file_is_no_value_and_is_replaced(context: FunctionContext) -> None:
    await put(context, KEY, [1])
    (file,) = (context.workspace.state_dir / CACHE_FOLDER / "plans").glob("*.json")
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text('{"key": 1, "va')
    assert not (await get(context, KEY)).found
    await put(context, KEY, [2])
    assert (await get(context, KEY)).value == [2]


async def test_a_folder_that_cannot_be_reached_is_a_failure_with_its_reason(
    context: FunctionContext,
) -> None:
    context.workspace.state_dir.mkdir()
    (context.workspace.state_dir / CACHE_FOLDER).write_text("in the way")
    with pytest.raises(FunctionFailure, match="the cache cannot be written: "):
        await put(context, KEY, [1])
    with pytest.raises(FunctionFailure, match="the cache cannot be read: "):
        await get(context, KEY)


async def test_a_value_that_is_too_large_is_refused(context: FunctionContext) -> None:
    with pytest.raises(FunctionRefusal, match="the value has 200,003 bytes; at most 200,000"):
        await put(context, KEY, "x" * 200_001)
    with pytest.raises(FunctionRefusal, match="the key has"):
        await get(context, "x" * 200_001)
