"""A pattern means what it means in ECMA 262: its spaces, and a dot that stops at the line's end."""

import pytest

from coterie.dsl.json_schema.patterns import schema_pattern


@pytest.mark.parametrize("space", [*"\t\n\v\f\r \u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f"])
def test_every_space_of_the_standard_is_one(space: str) -> None:
    assert schema_pattern(r"^\s$").search(space)
    assert schema_pattern(r"^[a\s]$").search(space)
    assert not schema_pattern(r"^\S$").search(space)


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        (r"^\s$", "\u3000", True),
        (r"^\s$", "\ufeff", True),
        (r"^\s$", "\u200b", False),
        (r"^\S\S$", "ab", True),
        (r"^.$", "a", True),
        *((r"^.$", end, False) for end in "\n\r\u2028\u2029"),
        (r"^[.]$", ".", True),
        (r"^[.]$", "a", False),
        (r"^[^.]$", "\n", True),
        (r"^\.$", "a", False),
        (r"^\[.$", "[\n", False),
        (r"^\[.$", "[a", True),
        (r"^[\].]$", "a", False),
        (r"^[\].]$", ".", True),
        (r"^[a].$", "a\n", False),
        (r"^[[].$", "[\n", False),
        (r"^[a-c\s.]+$", "a .", True),
        (r"^a]\S$", "a] ", False),
    ],
)
def test_a_dot_and_a_space_keep_their_meaning_inside_a_class_and_outside(
    pattern: str, text: str, fits: bool
) -> None:
    assert bool(schema_pattern(pattern).search(text)) is fits


@pytest.mark.parametrize("pattern", [r"[\S]", r"[^a\S]", "\\", "["])
def test_a_pattern_that_cannot_be_translated_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        schema_pattern(pattern)


def test_the_refusal_of_a_class_without_spaces_says_what_is_not_supported() -> None:
    with pytest.raises(ValueError, match=r"^`\\S` inside `\[\.\.\.\]` is not supported$"):
        schema_pattern(r"[\S]")
