"""A worker keeps the turns that it has read, up to a size, and those of a few forks."""

import pytest

from coterie.activities.storage.absences import lasting
from coterie.activities.storage.blobs import BlobMissing, MemoryBlobs
from coterie.activities.storage.conversations import Conversations
from coterie.activities.storage.turn_records import Opening, Turn
from coterie.dsl.model.plan import Persona
from tests.support.simulation.counted_blobs import CountedBlobs

SIZE = 1000
"""Characters of an answer, beside which the rest of a turn is small."""


async def three_turns(blobs: CountedBlobs) -> list[str]:
    """Store three turns of one size, and return their names."""
    writer = Conversations(blobs)
    return [await writer.add(Turn(answer=letter * SIZE), "run") for letter in "abc"]


@pytest.mark.parametrize(
    ("room", "order", "reads"),
    [
        (3.5, "abcabc", "abc"),
        (2.5, "abca", "abca"),
        (2.5, "abcb", "abc"),
        (2.5, "abacab", "abcb"),
        (1.5, "aba", "aba"),
        (0.5, "aabb", "ab"),
    ],
)
async def test_a_cache_drops_the_turn_that_was_not_used_for_the_longest_time(
    room: float, order: str, reads: str
) -> None:
    blobs = CountedBlobs()
    names = dict(zip("abc", await three_turns(blobs), strict=True))
    conversations = Conversations(blobs, int(room * SIZE))
    for letter in order:
        turn = await conversations.turn(names[letter], "run")
        assert turn.answer == letter * SIZE
    assert blobs.reads == [names[letter] for letter in reads]


@pytest.mark.parametrize(("missing", "reads"), [(0, "ab"), (1, "aba")])
async def test_a_cache_takes_as_many_bytes_as_it_may(missing: int, reads: str) -> None:
    blobs = CountedBlobs()
    names = dict(zip("abc", await three_turns(blobs), strict=True))
    room = 2 * len(await MemoryBlobs.get(blobs, names["a"], "run"))
    conversations = Conversations(blobs, room - missing)
    for letter in "aba":
        await conversations.turn(names[letter], "run")
    assert blobs.reads == [names[letter] for letter in reads]


async def test_a_stored_turn_has_what_it_says_and_no_more() -> None:
    blobs = MemoryBlobs()
    name = await Conversations(blobs).add(Turn(answer="a", number=2), "run")
    assert await blobs.get(name, "run") == b'{"number":2,"answer":"a"}'


async def test_a_turn_that_is_stored_is_kept_like_one_that_is_read() -> None:
    blobs = CountedBlobs()
    conversations = Conversations(blobs, int(2.5 * SIZE))
    names = [await conversations.add(Turn(answer=letter * SIZE), "run") for letter in "aaab"]
    for name in names:
        await conversations.turn(name, "run")
    assert blobs.reads == []


async def test_a_name_of_another_kind_of_record_is_refused_although_it_is_kept() -> None:
    conversations = Conversations(MemoryBlobs())
    name = await conversations.add(Turn(answer="a"), "run")
    with pytest.raises(BlobMissing, match="is not the opening of a conversation"):
        await conversations.opening(name, "run")
    persona = Persona(provider="p", model="m")
    opening = await conversations.add(Opening(agent="a", persona=persona), "run")
    with pytest.raises(BlobMissing, match="is not a turn of a conversation"):
        await conversations.turn(opening, "run")


async def test_the_four_forks_that_were_used_last_keep_what_they_have_read() -> None:
    conversations = Conversations(MemoryBlobs())
    forks = [conversations.of_run(f"fork{number}", ["run"]) for number in range(4)]
    assert conversations.of_run("fork0", ["run"]) is forks[0]
    conversations.of_run("fork4", ["run"])
    assert conversations.of_run("fork0", ["run"]) is forks[0]
    assert conversations.of_run("fork1", ["run"]) is not forks[1]
    assert conversations.of_run("run", []) is conversations


async def test_the_first_reader_of_a_stored_value_does_not_ask_the_storage() -> None:
    stored = CountedBlobs()
    blobs = lasting(stored)
    assert blobs is not None
    assert lasting(blobs) is blobs, "activities that share it find what the other stored"
    name, large = await blobs.put(b"page", "run"), await blobs.put(b"x" * 4_000_001, "run")
    name = await blobs.put(b"page", "run")
    for reads in ([], [name]):
        assert await blobs.get(name, "run") == b"page"
        assert stored.reads == reads
    await blobs.get(large, "run")
    assert stored.reads == [name, large]
