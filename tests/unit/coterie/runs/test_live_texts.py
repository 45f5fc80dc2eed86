"""What a person sees of an answer in progress: each character once, escaped, never silently cut."""

from coterie.activities.contracts import LiveTail
from coterie.activities.contracts.call_suffixes import step_of_id
from coterie.display.following.live_text_lines import FlowingText, last_lines
from coterie.runs.live_texts import LiveAnswer, TextFollower

CALL = "0003.review.write"


def writing(text: str, start: int = 0, attempt: int = 1, call: str = CALL) -> LiveAnswer:
    return LiveAnswer(call, step_of_id(call, {}), LiveTail(attempt=attempt, start=start, text=text))


def test_each_character_is_new_once() -> None:
    follower = TextFollower()
    looks = [("", 0), ("One", 0), ("One", 0), ("One two", 0), ("wo three", 5)]
    pieces = [piece for look in looks for piece in follower.pieces([writing(*look)])]
    assert [(piece.text, piece.missed, piece.begins) for piece in pieces] == [
        ("One", 0, True),
        (" two", 0, False),
        (" three", 0, False),
    ]


def test_what_nobody_saw_is_counted() -> None:
    follower = TextFollower()
    follower.pieces([writing("One")])
    (piece,) = follower.pieces([writing("end", start=10)])
    assert (piece.text, piece.missed) == ("end", 7)


def test_a_text_shortened_by_a_late_redaction_repeats_nothing() -> None:
    follower = TextFollower()
    follower.pieces([writing("The key is sk-")])
    assert follower.pieces([writing("The key is ***")]) == []


def test_another_attempt_starts_again() -> None:
    follower = TextFollower()
    follower.pieces([writing("One two three")])
    (piece,) = follower.pieces([writing("Uno", attempt=2)])
    assert (piece.text, piece.begins) == ("Uno", True)


def test_flowing_text_names_its_call_and_ends_its_line() -> None:
    shown: list[str] = []
    text = FlowingText(shown.append)
    text.show([writing("One\n")])
    text.show([writing("One\ntwo\x1b[31m")])
    text.show([writing("Uno", attempt=2)])
    text.show([writing("Uno", attempt=2), writing("Eins", call="0004.review.check")])
    text.show([writing("x", start=9, call="0004.review.check")])
    text.show([])
    assert "".join(shown) == (
        "      review/write writes:\n"
        "      | One\n"
        "      | two\\u001b[31m\n"
        "      review/write writes (attempt 2):\n"
        "      | Uno\n"
        "      review/check writes:\n"
        "      | Eins[... 5 characters ...]x \u2026\n"
    )


def test_the_last_lines_fit_and_say_that_more_came_before() -> None:
    text = "".join(f"line {number}\n" for number in range(40))
    lines = list(last_lines([writing(text, attempt=3)], 60))
    assert lines[0] == "  review/write writes (attempt 3):"
    assert lines[1] == "    | \u2026"
    assert "    | line 39" in lines
    assert len(lines) <= 10
    assert all(len(line) <= 40 for line in lines)
    assert list(last_lines([writing(" ")], 30)) == ["  review/write writes:"]
    assert "\x1b" not in "".join(last_lines([writing("a\x1b[2Jb", start=7)], 30))
