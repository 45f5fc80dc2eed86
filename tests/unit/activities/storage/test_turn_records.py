"""Turns as messages: what is bound to a beginning, and results that another agent has left."""

import pytest

from coterie.activities.providers.message_json import content_to_json
from coterie.activities.providers.message_model import (
    Extra,
    ModelMessage,
    OpaquePart,
    Part,
    StoredPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    unbound,
)
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.providers.translation.request_checks import check_request
from coterie.activities.storage.turn_records import (
    Turn,
    left_results,
    messages_of,
    with_question,
    with_results,
)

EXTRA: Extra = {"gemini": {"signature": "S"}}
CALL = ToolCallPart("c0", "look", "{}")


@pytest.mark.parametrize(
    ("part", "kept"),
    [
        (ThinkingPart("p", "m", {}), None),
        (OpaquePart("p", {}), None),
        (TextPart("a", EXTRA), TextPart("a")),
        (ToolCallPart("c0", "look", "{}", EXTRA), CALL),
        (StoredPart("f"), StoredPart("f")),
    ],
)
def test_what_is_bound_to_the_beginning_of_a_conversation_is_dropped(
    part: Part, kept: Part | None
) -> None:
    assert unbound((part,)) == (() if kept is None else (kept,))


@pytest.mark.parametrize(
    ("turn", "reply"),
    [
        (Turn(answer="yes"), (TextPart("yes"),)),
        (Turn(answered="yes"), (TextPart("yes"),)),
        (Turn(answered=content_to_json((ThinkingPart("p", "m", {}), CALL))), (CALL,)),
    ],
)
def test_a_turn_without_bound_parts_says_the_same(turn: Turn, reply: tuple[Part, ...]) -> None:
    assert turn.without_bound_parts().reply == reply
    changed = turn.model_copy(update={"answered": "no", "prompt": "Well?"})
    assert (changed.reply, changed.question) == ((TextPart("no"),), (TextPart("Well?"),))


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ((), ()),
        ((TextPart(" \n"),), ()),
        ((ThinkingPart("p", "m", {}),), ()),
        ((OpaquePart("p", {}), TextPart("")), ()),
        ((TextPart("a"), ThinkingPart("p", "m", {})), (TextPart("a"),)),
        ((CALL, ThinkingPart("p", "m", {}), ThinkingPart("p", "m", {})), (CALL,)),
        ((ThinkingPart("p", "m", {}), CALL), (ThinkingPart("p", "m", {}), CALL)),
        ((OpaquePart("p", {}), TextPart("a")), (OpaquePart("p", {}), TextPart("a"))),
    ],
)
def test_a_stored_answer_never_ends_in_what_its_vendor_refuses(
    content: tuple[Part, ...], kept: tuple[Part, ...]
) -> None:
    assert Turn(answered=content_to_json(content)).reply == kept
    check_request(ModelRequest("m", conversation_with(content)))


def conversation_with(content: tuple[Part, ...]) -> tuple[ModelMessage, ...]:
    """What a model gets after such an answer, which an older worker may have stored."""
    turn = Turn(asked="Go.", answered=content_to_json(content), opening="o")
    earlier = messages_of([turn], "o")
    results = with_results(earlier, (TextPart("And now?"),))
    return with_question(earlier, ModelMessage("user", results))


def test_only_results_of_the_calls_of_the_last_message_were_left() -> None:
    left = (ToolResultPart("c0", "wet"), ToolResultPart("c1", "dry"), TextPart("Go."))
    turn = Turn(left=content_to_json(left))
    asked = ModelMessage("assistant", (CALL,))
    assert left_results([asked], turn) == left[:1]
    assert left_results([], turn) == ()
    assert left_results([asked], Turn()) == ()


def test_the_length_of_a_turn_counts_what_is_read_of_it() -> None:
    asked = content_to_json((ToolResultPart("c0", "wet"), TextPart("Go."), StoredPart("f" * 64)))
    answered = content_to_json((ThinkingPart("p", "m", {}), TextPart("So:"), CALL))
    assert Turn(asked=asked, answered=answered).length == len("wet" + "Go." + "So:" + "{}")


@pytest.mark.parametrize(
    ("before", "joined"),
    [
        ((TextPart("a"),), (TextPart("a\n\nb"),)),
        ((TextPart("a", EXTRA),), (TextPart("a", EXTRA), TextPart("b"))),
        ((TextPart("a"), StoredPart("f")), (TextPart("a"), StoredPart("f"), TextPart("b"))),
    ],
)
def test_two_messages_of_a_user_become_one(
    before: tuple[Part, ...], joined: tuple[Part, ...]
) -> None:
    asked = with_question([ModelMessage("user", before)], ModelMessage.of("user", "b"))
    assert asked == (ModelMessage("user", joined),)
