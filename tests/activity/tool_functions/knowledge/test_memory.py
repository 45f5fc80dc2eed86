"""Remembering across runs: by meaning, per topic, repeatable and bounded."""

from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from coterie.activities.tool_functions.knowledge import long_term_memory
from coterie.activities.workspace.function_base import Workspace
from coterie.dsl.values import Json
from tests.support.tool_functions import call, refusal


async def store(root: Path, text: str, **more: JsonValue) -> Json:
    return cast("Json", await call(Workspace(root), "Memory.store", {"text": text, **more}))


async def recall(root: Path, query: str, **more: JsonValue) -> list[Json]:
    data = await call(Workspace(root), "Memory.search", {"query": query, **more})
    return cast("list[Json]", cast("Json", data)["memories"])


async def test_what_was_stored_is_recalled_by_meaning_in_later_runs(tmp_path: Path) -> None:
    await store(tmp_path, "The customer prefers to be called in the morning.")
    await store(tmp_path, "Tests of the cart need a database.")
    (best, _) = await recall(tmp_path, "When should I phone them?")
    assert best["text"] == "The customer prefers to be called in the morning."
    assert best["topic"] == "general"
    assert str(best["stored"]).endswith("+00:00")


async def test_the_same_text_is_stored_once_and_a_name_replaces_its_entry(tmp_path: Path) -> None:
    first = await store(tmp_path, "The port is 80.")
    again = await store(tmp_path, "The port is 80.")
    assert (first["replaced"], again) == (False, {**first, "replaced": True})
    await store(tmp_path, "The host is a.", name="host")
    changed = await store(tmp_path, "The host is b.", name="host")
    assert changed == {"id": "host", "topic": "general", "replaced": True, "forgotten": 0}
    texts = {str(one["text"]) for one in await recall(tmp_path, "host and port")}
    assert texts == {"The port is 80.", "The host is b."}


async def test_topics_are_apart(tmp_path: Path) -> None:
    await store(tmp_path, "Blue is nice.", topic="colours")
    await store(tmp_path, "Blue whales are large.", topic="animals")
    found = await recall(tmp_path, "blue", topics=["animals"])
    assert [one["topic"] for one in found] == ["animals"]


async def test_a_long_entry_is_recalled_once_by_its_best_part(tmp_path: Path) -> None:
    parts = ["Filler about nothing at all. " * 30, "The password of the door is swordfish."]
    await store(tmp_path, "\n\n".join([parts[0], parts[1], parts[0]]), name="long")
    (found,) = await recall(tmp_path, "What is the password of the door?")
    assert found["id"] == "long"
    assert "swordfish" in str(found["text"])


async def test_the_oldest_entries_of_a_full_topic_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_term_memory, "MAX_ENTRIES", 2)
    await store(tmp_path, "one")
    await store(tmp_path, "two")
    third = await store(tmp_path, "three")
    assert third["forgotten"] == 1
    assert {str(one["text"]) for one in await recall(tmp_path, "one two three")} == {"two", "three"}


async def test_an_empty_memory_recalls_nothing(tmp_path: Path) -> None:
    assert await recall(tmp_path, "anything") == []
    assert not (tmp_path / ".coterie").exists()


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        ("Memory.store", {"text": " "}),
        ("Memory.store", {"text": "x" * 8001}),
        ("Memory.store", {"text": "x", "topic": "../up"}),
        ("Memory.search", {"query": ""}),
        ("Memory.search", {"query": "x", "max_results": 21}),
    ],
)
async def test_calls_out_of_bounds_are_refused(
    tmp_path: Path, function: str, wanted: JsonValue
) -> None:
    assert (await refusal(Workspace(tmp_path), function, wanted)).non_retryable
