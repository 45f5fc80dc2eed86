"""Remembering across runs, in a file and in PostgreSQL: by meaning, per owner, bounded."""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from coterie.activities.tool_functions.knowledge.memory import (
    memory_store,
    postgres_memory,
    sqlite_memory,
)
from coterie.activities.tool_functions.knowledge.memory.memory_store import (
    ListedMemory,
    MemoryFilter,
    Owner,
)
from coterie.activities.tool_functions.knowledge.memory.opened_memory import (
    MEMORY_FILE,
    opened_memory,
)
from coterie.activities.tool_functions.knowledge.memory.postgres_memory import close_databases
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.memory_access import MemoryAccess
from coterie.dsl.model.memory_terms import MemoryOwner
from coterie.dsl.values import Json
from tests.support.databases.postgres_server import postgres
from tests.support.tool_functions import call

__all__ = ["postgres"]

ANN = MemoryOwner(scope="user", name="ann@example.com")
BEN = MemoryOwner(scope="user", name="ben@example.com")


@pytest.fixture(params=["file", "postgres"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    if request.param == "file":
        yield Workspace(tmp_path)
        return
    address: str = request.getfixturevalue("postgres")
    yield Workspace(tmp_path, memory=MemoryAccess("MEMORY_URL", address, request.node.name))
    close_databases()


async def store(
    workspace: Workspace,
    text: str,
    memory: MemoryOwner | None = None,
    *,
    untrusted: bool = False,
    **more: JsonValue,
) -> Json:
    given: Json = {"text": text, **more}
    stored = await call(workspace, "Memory.store", given, memory=memory, untrusted=untrusted)
    return cast("Json", stored)


async def recall(
    workspace: Workspace, query: str, memory: MemoryOwner | None = None, **more: JsonValue
) -> list[Json]:
    data = await call(workspace, "Memory.search", {"query": query, **more}, memory=memory)
    return cast("list[Json]", cast("Json", data)["memories"])


async def texts(workspace: Workspace, query: str, memory: MemoryOwner | None = None) -> set[str]:
    return {str(one["text"]) for one in await recall(workspace, query, memory, max_results=20)}


def listed(workspace: Workspace, chosen: MemoryFilter | None = None) -> list[ListedMemory]:
    with opened_memory(workspace, "a test") as opened:
        return opened.entries(chosen or MemoryFilter(), 100, time.time())


def forget(workspace: Workspace, chosen: MemoryFilter) -> int:
    with opened_memory(workspace, "a test") as opened:
        return opened.forget(chosen, time.time())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Move the clock of the calls."""
    moved = [0.0]
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + moved[0])

    def move(seconds: float) -> None:
        moved[0] += seconds

    return move


def limit(monkeypatch: pytest.MonkeyPatch, name: str, value: int) -> None:
    for module in (memory_store, sqlite_memory, postgres_memory):
        monkeypatch.setattr(module, name, value)


async def test_what_was_stored_is_recalled_by_meaning_in_later_runs(workspace: Workspace) -> None:
    await store(workspace, "The customer prefers to be called in the morning.")
    await store(workspace, "Tests of the cart need a database.")
    (best, _) = await recall(workspace, "When should I phone them?")
    assert best["text"] == "The customer prefers to be called in the morning."
    assert best["topic"] == "general"
    assert str(best["stored"]).endswith("+00:00")


async def test_a_name_is_found_by_its_letters(workspace: Workspace) -> None:
    await store(workspace, "Ask for the ticket ABX-4711 when the cart is slow.")
    for number in range(6):
        await store(workspace, f"The cart was slow on day {number}.")
    (best, *_) = await recall(workspace, "ABX-4711")
    assert "ABX-4711" in str(best["text"])


async def test_the_same_text_is_stored_once_and_a_name_replaces_its_entry(
    workspace: Workspace,
) -> None:
    first = await store(workspace, "The port is 80.")
    again = await store(workspace, "The port is 80.")
    assert (first["replaced"], again) == (False, {**first, "replaced": True})
    await store(workspace, "The host is a.", name="host")
    changed = await store(workspace, "The host is b.", name="host")
    assert changed == {"id": "host", "topic": "general", "replaced": True, "forgotten": 0}
    assert await texts(workspace, "host and port") == {"The port is 80.", "The host is b."}


async def test_topics_are_apart(workspace: Workspace) -> None:
    await store(workspace, "Blue is nice.", topic="colours")
    await store(workspace, "Blue whales are large.", topic="animals")
    found = await recall(workspace, "blue", topics=["animals"])
    assert [one["topic"] for one in found] == ["animals"]


async def test_a_long_entry_is_recalled_once_by_its_best_part(workspace: Workspace) -> None:
    parts = ["Filler about nothing at all. " * 30, "The password of the door is swordfish."]
    await store(workspace, "\n\n".join([parts[0], parts[1], parts[0]]), name="long")
    (found,) = await recall(workspace, "What is the password of the door?")
    assert found["id"] == "long"
    assert "swordfish" in str(found["text"])


async def test_owners_never_see_each_other(workspace: Workspace) -> None:
    await store(workspace, "Ann likes tea.", ANN)
    await store(workspace, "Ben likes coffee.", BEN)
    await store(workspace, "The kitchen is closed.")
    team = MemoryOwner(scope="team", name="ann@example.com")
    await store(workspace, "The team drinks water.", team)
    assert await texts(workspace, "What to drink?", ANN) == {"Ann likes tea."}
    assert await texts(workspace, "What to drink?", BEN) == {"Ben likes coffee."}
    assert await texts(workspace, "What to drink?", team) == {"The team drinks water."}
    assert await texts(workspace, "What to drink?") == {"The kitchen is closed."}


async def test_an_entry_is_found_among_many_of_others(workspace: Workspace) -> None:
    for number in range(60):  # more than a search compares
        await store(workspace, f"Ben drinks coffee number {number}.", BEN)
    await store(workspace, "Ann drinks tea.", ANN)
    assert await texts(workspace, "Ben drinks coffee", ANN) == {"Ann drinks tea."}


async def test_a_call_for_a_user_is_refused_where_the_run_has_none(workspace: Workspace) -> None:
    nobody = MemoryOwner(scope="user")
    for function, given in (("Memory.store", {"text": "x"}), ("Memory.search", {"query": "x"})):
        with pytest.raises(ApplicationError, match=r"has no user.*orchestration\.user") as caught:
            await call(workspace, function, cast("Json", given), memory=nobody)
        assert caught.value.non_retryable


async def test_an_entry_expires_and_a_new_store_makes_it_last(
    workspace: Workspace, clock: Callable[[float], None]
) -> None:
    brief = ANN.model_copy(update={"expires": 60.0})
    await store(workspace, "The train is late.", brief)
    await store(workspace, "The train is blue.", brief)
    clock(40)
    await store(workspace, "The train is late.", brief)
    clock(40)
    assert await texts(workspace, "train", ANN) == {"The train is late."}
    assert [one.text for one in listed(workspace)] == ["The train is late."]
    assert [one.text for one in listed(workspace, MemoryFilter(expired=True))] == [
        "The train is blue."
    ]
    await store(workspace, "Another day.", ANN)  # which clears what has expired
    assert listed(workspace, MemoryFilter(expired=True)) == []
    assert len(listed(workspace)) == 2


async def test_storing_without_an_expiry_keeps_an_entry(
    workspace: Workspace, clock: Callable[[float], None]
) -> None:
    await store(workspace, "Keep this.", MemoryOwner(expires=60.0))
    await store(workspace, "Keep this.")
    clock(100)
    assert await texts(workspace, "keep") == {"Keep this."}


async def test_the_oldest_entries_of_a_full_topic_are_forgotten(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, "MAX_ENTRIES", 2)
    for text in ("one", "two"):
        await store(workspace, text, ANN)
    await store(workspace, "of ben", BEN)
    third = await store(workspace, "three", ANN)
    assert third["forgotten"] == 1
    assert await texts(workspace, "one two three", ANN) == {"two", "three"}
    assert await texts(workspace, "ben", BEN) == {"of ben"}


async def test_a_memory_has_a_limited_number_of_topics(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, "MAX_TOPICS", 2)
    await store(workspace, "x", ANN, topic="one")
    await store(workspace, "x", ANN, topic="two")
    with pytest.raises(ApplicationError, match="use one of them") as caught:
        await store(workspace, "x", ANN, topic="three")
    assert caught.value.non_retryable
    await store(workspace, "y", ANN, topic="two")
    await store(workspace, "x", BEN, topic="three")


async def test_expired_entries_that_wait_to_be_deleted_keep_no_topic_out(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, clock: Callable[[float], None]
) -> None:
    limit(monkeypatch, "MAX_TOPICS", 2)
    limit(monkeypatch, "MAX_SWEPT", 1)
    brief = MemoryOwner(expires=60.0)
    for name in ("first", "second"):
        for topic in ("a", "b"):
            await store(workspace, name, brief, topic=topic, name=name)
    clock(61)
    await store(workspace, "It rains.", topic="c")
    assert await texts(workspace, "weather") == {"It rains."}


async def test_workers_that_store_at_the_same_time_lose_nothing(workspace: Workspace) -> None:
    names = [f"entry {number % 5}" for number in range(20)]
    await asyncio.gather(*(store(workspace, f"about {name}", name=name) for name in names))
    assert sorted(one.id for one in listed(workspace)) == sorted(set(names))
    assert await texts(workspace, "about an entry") == {f"about {name}" for name in set(names)}


async def test_people_list_what_is_remembered_and_forget_it(workspace: Workspace) -> None:
    await store(workspace, "Ann lives in Bonn.", ANN, untrusted=True, topic="home", name="city")
    await store(workspace, "Ann is tall.", ANN)
    await store(workspace, "Ben lives in Rome.", BEN)
    (city,) = listed(workspace, MemoryFilter(ids=("city",)))
    assert city.owner == Owner("user", "ann@example.com")
    assert (city.topic, city.text, city.untrusted) == ("home", "Ann lives in Bonn.", True)
    assert city.run == "test"
    assert forget(workspace, MemoryFilter(scope="user", name="ann@example.com", topic="home")) == 1
    assert await texts(workspace, "Where do they live?", ANN) == {"Ann is tall."}
    assert forget(workspace, MemoryFilter(scope="user", name="ann@example.com")) == 1
    assert [one.text for one in listed(workspace)] == ["Ben lives in Rome."]
    assert forget(workspace, MemoryFilter(expired=True)) == 0


async def test_hostile_texts_are_stored_as_they_are(workspace: Workspace) -> None:
    text = "'); drop table coterie_memories; -- \" % :name {{ x }} \u202e"
    owner = MemoryOwner(scope="user", name="ann' or '1'='1")
    stored = await store(workspace, text, owner, name="x' or 1=1 --")
    assert stored["id"] == "x' or 1=1 --"
    for query in (text, "' OR '1'='1", '"unbalanced', "* ^ NEAR(", "!!!", "a & b | !c :* <->"):
        assert await texts(workspace, query, owner) == {text}
    assert await texts(workspace, text, ANN) == set()
    assert forget(workspace, MemoryFilter(ids=("x' or 1=1 --",))) == 1


async def test_an_empty_memory_recalls_nothing(workspace: Workspace) -> None:
    assert await recall(workspace, "anything") == []
    assert not (workspace.root / ".coterie").exists()


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        ("Memory.store", {"text": " "}),
        ("Memory.store", {"text": "x" * 8001}),
        ("Memory.store", {"text": "x", "topic": "../up"}),
        ("Memory.store", {"text": "a\0b"}),
        ("Memory.store", {"text": "x", "name": "\ud800"}),
        ("Memory.store", {"text": "x", "scope": "user"}),
        ("Memory.store", {"text": "x", "expires": 1}),
        ("Memory.search", {"query": ""}),
        ("Memory.search", {"query": "a\0b"}),
        ("Memory.search", {"query": "x", "topics": ["\0"]}),
        ("Memory.search", {"query": "x", "max_results": 21}),
        ("Memory.search", {"query": "x", "user": "ann@example.com"}),
    ],
)
async def test_calls_out_of_bounds_are_refused(
    workspace: Workspace, function: str, wanted: Json
) -> None:
    with pytest.raises(ApplicationError) as caught:
        await call(workspace, function, wanted)
    assert caught.value.non_retryable
    assert caught.value.type == "FunctionRefused"


async def test_what_is_forgotten_leaves_the_file(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    await store(workspace, "The word is xylophone.", name="secret")
    file = workspace.state_dir / MEMORY_FILE

    def holds(word: bytes) -> bool:
        return any(word in part.read_bytes() for part in file.parent.glob("memories.db*"))

    assert holds(b"xylophone")
    assert forget(workspace, MemoryFilter(ids=("secret",))) == 1
    assert not holds(b"xylophon")
    assert file.stat().st_mode & 0o777 == 0o600


async def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    await store(workspace, "x")
    with sqlite3.connect(workspace.state_dir / MEMORY_FILE) as database:
        database.execute("pragma user_version = 99")
    database.close()
    with pytest.raises(ApplicationError, match="upgrade Coterie"):
        await store(workspace, "y")
