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
