"""The number of a turn counts the whole conversation, however much of it the model sees."""

import pytest

from activities.contracts import Conversation
from activities.storage.blobs import MemoryBlobs
from activities.storage.conversations import Conversations, Turn


@pytest.mark.parametrize("window", [None, 1, 2])
async def test_the_number_of_a_turn_does_not_depend_on_the_window(window: int | None) -> None:
    conversations = Conversations(MemoryBlobs())
    head, numbers = None, list[int]()
    for prompt in "abcd":
        turn = conversations.open(Conversation(head=head, turns=window), "run")
        await turn.earlier()
        numbers.append(turn.number)
        head = await turn.add(prompt, "yes")
    assert numbers == [1, 2, 3, 4]


async def test_turns_of_an_older_worker_are_counted_as_far_as_they_are_read() -> None:
    conversations = Conversations(MemoryBlobs())
    first = await conversations.add(Turn(prompt="a", answer="b"), "run")
    second = await conversations.add(Turn(parent=first, prompt="a", answer="b"), "run")
    turn = conversations.open(Conversation(head=second), "run")
    await turn.earlier()
    assert turn.number == 3


@pytest.mark.parametrize(
    ("turns", "characters", "seen"),
    [(None, None, "abcd"), (None, 8, "cd"), (None, 11, "cd"), (None, 3, ""), (1, 8, "d")],
)
async def test_a_window_holds_the_latest_whole_turns_that_fit(
    turns: int | None, characters: int | None, seen: str
) -> None:
    conversations = Conversations(MemoryBlobs())
    head = None
    for prompt in "abcd":
        turn = conversations.open(Conversation(head=head), "run")
        await turn.earlier()
        head = await turn.add(prompt, "yes")
    window = Conversation(head=head, turns=turns, characters=characters)
    last = conversations.open(window, "run")
    asked = [message.text for message in await last.earlier() if message.role == "user"]
    assert ("".join(asked), last.number) == (seen, 5)
