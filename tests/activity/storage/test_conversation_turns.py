"""The number of a turn counts the whole conversation, however much of it the model sees."""

import pytest

from coterie.activities.contracts import Conversation
from coterie.activities.providers.message_model import ImagePart, ModelMessage, StoredPart, TextPart
from coterie.activities.storage.blobs import MemoryBlobs
from coterie.activities.storage.conversations import Conversations, Turn
from coterie.activities.storage.media import MAX_REQUEST_BYTES, MediaUnusable, StoredMedia
from coterie.activities.storage.open_conversation import AddedTurn, OpenConversation
from tests.support.simulation.counted_blobs import CountedBlobs


@pytest.mark.parametrize("window", [None, 1, 2])
async def test_the_number_of_a_turn_does_not_depend_on_the_window(window: int | None) -> None:
    conversations = Conversations(MemoryBlobs())
    head, numbers = None, list[int]()
    for prompt in "abcd":
        turn = OpenConversation(conversations, Conversation(head=head, turns=window), "run")
        await turn.earlier()
        numbers.append(turn.number)
        head = await turn.add(AddedTurn(prompt, "yes"))
    assert numbers == [1, 2, 3, 4]


async def test_turns_of_an_older_worker_are_counted_as_far_as_they_are_read() -> None:
    conversations = Conversations(MemoryBlobs())
    first = await conversations.add(Turn(prompt="a", answer="b"), "run")
    second = await conversations.add(Turn(parent=first, prompt="a", answer="b"), "run")
    turn = OpenConversation(conversations, Conversation(head=second), "run")
    await turn.earlier()
    assert turn.number == 3


@pytest.mark.parametrize(
    ("turns", "characters", "seen"),
    [
        (None, None, "abcd"),
        (None, 8, "cd"),
        (None, 11, "cd"),
        (None, 3, ""),
        (1, 8, "d"),
        (2, None, "cd"),
        (3, 99, "bcd"),
    ],
)
async def test_a_window_holds_the_latest_whole_turns_that_fit(
    turns: int | None, characters: int | None, seen: str
) -> None:
    conversations = Conversations(MemoryBlobs())
    head = None
    for prompt in "abcd":
        turn = OpenConversation(conversations, Conversation(head=head), "run")
        await turn.earlier()
        head = await turn.add(AddedTurn(prompt, "yes"))
    window = Conversation(head=head, turns=turns, characters=characters)
    last = OpenConversation(conversations, window, "run")
    asked = [message.text for message in await last.earlier() if message.role == "user"]
    assert ("".join(asked), last.number) == (seen, 5)


async def test_a_conversation_that_nobody_has_read_begins() -> None:
    turn = OpenConversation(Conversations(MemoryBlobs()), Conversation(), "run")
    assert (turn.number, turn.turns, turn.tokens) == (1, 1, None)
    assert await turn.left_results(None, ()) == ()


@pytest.mark.parametrize(("characters", "tokens"), [(None, 100), (6, 100), (5, None)])
async def test_what_a_vendor_counted_holds_only_for_a_whole_conversation(
    characters: int | None, tokens: int | None
) -> None:
    conversations = Conversations(MemoryBlobs())
    head = await conversations.add(Turn(prompt="ask", answer="yes", tokens=100), "run")
    turn = OpenConversation(conversations, Conversation(head=head, characters=characters), "run")
    await turn.earlier()
    assert turn.tokens == tokens


async def test_a_window_reads_no_more_turns_than_it_needs() -> None:
    blobs = CountedBlobs()
    writer, head = Conversations(blobs), None
    for letter in "abcd":
        head = await writer.add(Turn(parent=head, prompt=letter, answer="yes"), "run")
    window = Conversation(head=head, characters=5)
    await OpenConversation(Conversations(blobs), window, "run").earlier()
    assert len(blobs.reads) == 2


async def test_a_turn_keeps_what_the_model_saw_by_its_name() -> None:
    blobs = MemoryBlobs()
    name = await blobs.put(b"GIF89a" + bytes(2_000_000), "run")
    conversations = Conversations(blobs)
    asked = (TextPart("What is it?"), StoredPart(name))
    head = await OpenConversation(conversations, Conversation(), "run").add(
        AddedTurn("What is it?", "A cat.", asked[1:])
    )
    assert len(await blobs.get(head, "run")) < 200
    earlier = await OpenConversation(conversations, Conversation(head=head), "run").earlier()
    assert earlier == (ModelMessage("user", asked), ModelMessage.of("assistant", "A cat."))
    (first, _) = await StoredMedia(blobs, "run").shown(earlier)
    assert isinstance(first.content[1], ImagePart)
    assert (first.content[1].media_type, len(first.content[1].data)) == ("image/gif", 2_000_006)


async def test_no_request_shows_other_stored_values_or_too_much() -> None:
    blobs = MemoryBlobs()
    media = StoredMedia(blobs, "run")
    text = await blobs.put(b'{"secret": 1}', "run")
    with pytest.raises(MediaUnusable, match="is not an image or a PDF document"):
        await media.shown([ModelMessage("user", (StoredPart(text),))])
    size = MAX_REQUEST_BYTES // 6
    names = [await blobs.put(b"GIF89a" + bytes([one]) * size, "run") for one in range(6)]
    with pytest.raises(MediaUnusable, match="shows 6 images and documents of more than"):
        await media.shown([ModelMessage("user", tuple(map(StoredPart, names)))])
