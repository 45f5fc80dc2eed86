"""A text in progress shows no secret, wherever its pieces are cut, and never takes words back."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.dsl.known_secrets import KnownSecrets
from coterie.dsl.redacted_stream import MAX_TAIL, RedactedStream

KEY = "hunter2-Xk29vQzL-7sWm4TtE"
SHAPED = "sk-ant-no-real-key-of-anyone-0000"
TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"
KNOWN = KnownSecrets([KEY, "short-one"])
SECRETS = (KEY, SHAPED, TOKEN, "short-one", f"Bearer {'a1' * 20}", "https://bob:pa55word@host/x")
HIDDEN_PARTS = (KEY, SHAPED, TOKEN, "short-one", "a1" * 20, "bob:pa55word")

words = st.text(st.sampled_from("ab cé\n,.:/-"), max_size=30)
secret_texts = st.lists(words | st.sampled_from(SECRETS), max_size=6).map(" ".join)

MAX_CHANGE = 3
"""So many characters are not yet taken for the beginning of a secret."""


def shown_for(pieces: list[str]) -> list[tuple[int, str]]:
    """What a reader gets after each piece."""
    stream = RedactedStream(KNOWN)
    seen: list[tuple[int, str]] = []
    for piece in pieces:
        stream.write(piece)
        seen.append(stream.tail())
    return seen


def tells(text: str) -> bool:
    """Whether a text has more of a secret than the few characters that begin it."""
    return any(
        part[at : at + 8] in text
        for part in HIDDEN_PARTS
        for at in range(len(part) - 7)
        if not re.fullmatch(r"[abc .:/,-]*", part[at : at + 8])
    )


@settings(max_examples=60)
@given(secret_texts, st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_no_cut_between_pieces_lets_a_secret_out(text: str, sizes: list[int]) -> None:
    pieces: list[str] = []
    at = 0
    while at < len(text):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(text[at : at + size])
        at += size
    seen = shown_for(pieces)
    assert not any(tells(shown) for _, shown in seen)
    for (_, earlier), (_, later) in pairwise(seen):
        assert later.startswith(earlier[:-MAX_CHANGE] if len(earlier) > MAX_CHANGE else "")


@given(secret_texts)
def test_a_finished_text_is_shown_as_one_that_came_at_once(text: str) -> None:
    (*_, (start, shown)) = shown_for([*text, "; "])
    assert start == 0
    assert shown == KNOWN.without(text) + "; "


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_deep_in_a_long_text_stays_hidden(secret: str) -> None:
    text = ("word " * 400 + secret + " ") * 4
    seen = shown_for([text[at : at + 67] for at in range(0, len(text), 67)])
    assert not any(tells(shown) for _, shown in seen)
    whole = KNOWN.without(text)
    for start, shown in seen:
        sure = shown[:-MAX_CHANGE]
        assert whole[start : start + len(sure)] == sure
    assert all(len(shown) <= MAX_TAIL for _, shown in seen)
    start, shown = seen[-1]
    assert start + len(shown) >= len(whole) - 1


def test_words_that_begin_like_no_secret_are_shown_at_once() -> None:
    assert shown_for(["A wo", "rd on its w"])[-1] == (0, "A word on its w")


def test_a_text_without_blanks_stays_cheap_and_whole() -> None:
    text = "漢字" * 5_000
    start, shown = shown_for([text[at : at + 50] for at in range(0, len(text), 50)])[-1]
    assert (start, shown) == (len(text) - MAX_TAIL, text[-MAX_TAIL:])


@pytest.mark.parametrize("word", ["word ", "x"])
def test_the_beginning_of_a_text_stays_until_so_much_follows(word: str) -> None:
    text = word * (3_000 // len(word))
    start, shown = shown_for([text[at : at + 50] for at in range(0, len(text), 50)])[-1]
    assert (start, shown[:1_000]) == (0, text[:1_000])


def test_half_a_character_harms_nobody() -> None:
    assert shown_for(["a \ud83d"])[-1] == (0, "a ?")
