"""The beginning of a compacted conversation: the summary, the prompt of the step, whole turns."""

import pytest
from pydantic import JsonValue

from coterie.activities.providers.message_json import content_to_json
from coterie.activities.providers.message_model import (
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from coterie.activities.storage.compacted_turns import compacted, step_prompt
from coterie.activities.storage.turn_records import SUMMARY, Turn

RESULT = ToolResultPart("c0", "wet")
THOUGHT = ThinkingPart("scripted", "demo", {"signature": "S"})


def asking(*parts: Part) -> JsonValue:
    return content_to_json(parts)


def turns(shape: str) -> list[Turn]:
    """Turns by letters: a capital begins a step, a small one continues it."""
    return [
        Turn(
            number=number,
            asked=asking(RESULT, TextPart(letter)),
            answered=asking(THOUGHT, TextPart(f"said {letter}"), ToolCallPart("c1", "look", "{}")),
            continues=letter.islower(),
            tokens=100,
            opening="opening",
        )
        for number, letter in enumerate(shape, 1)
    ]


@pytest.mark.parametrize(
    ("shape", "cut", "prompt"),
    [
        ("Abc", 2, "A"),
        ("Abc", 1, "A"),
        ("Abc", 0, None),
        ("Abc", 3, "A"),
        ("AbCd", 2, None),
        ("AbCd", 3, "C"),
        ("AbCD", 3, None),
        ("AbCD", 4, "D"),
        ("abc", 1, "a"),
        ("A", 1, "A"),
        ("A", 0, None),
    ],
)
def test_the_prompt_of_the_step_in_progress_returns_if_the_summary_replaces_it(
    shape: str, cut: int, prompt: str | None
) -> None:
    assert step_prompt(turns(shape), cut) == (() if prompt is None else (TextPart(prompt),))


def test_a_conversation_without_a_kept_turn_is_the_summary_and_the_prompt() -> None:
    (root,) = compacted(turns("Abc"), 3, "Known.", (TextPart("A"),))
    assert root == Turn(number=3, opening="opening", asked="A", answered=[], summary="Known.")


def test_kept_turns_stay_whole_without_what_is_bound_to_the_old_beginning() -> None:
    first, last = compacted(turns("AbcdE")[:4], 2, "Known.", (TextPart("A"),))
    reply = content_to_json((TextPart("said c"), ToolCallPart("c1", "look", "{}")))
    assert first == Turn(
        number=3,
        opening="opening",
        asked=content_to_json((TextPart("A"), TextPart("c"))),
        answered=reply,
        summary="Known.",
        continues=False,
    )
    assert (last.number, last.continues, last.tokens, last.summary) == (4, True, None, "")
    assert last.question == (RESULT, TextPart("d"))
    assert first.question[0] == TextPart(f"{SUMMARY}\n\nKnown.\n\n")
