"""Where a text is split: before headings, at blank lines if nearly full, and when it is full."""

import pytest

from coterie.activities.tool_functions.knowledge.chunks import MAX_CHARS, Chunk, chunks_of

HALF = MAX_CHARS // 2


def x(length: int) -> str:
    return "x" * length


@pytest.mark.parametrize(
    ("lines", "chunks"),
    [
        ([], []),
        (["", " "], []),
        (["", "a", ""], [(2, 2)]),
        (["", "", "a", "b", "", ""], [(3, 4)]),
        ([x(HALF - 1), x(HALF)], [(1, 2)]),
        ([x(HALF - 1), x(HALF + 1)], [(1, 1), (2, 2)]),
        ([x(MAX_CHARS), x(HALF - 1), x(HALF)], [(1, 1), (2, 3)]),
        ([x(MAX_CHARS), x(HALF - 1), x(HALF + 1)], [(1, 1), (2, 2), (3, 3)]),
        ([x(HALF - 1), "", "a"], [(1, 3)]),
        ([x(HALF), "", "a"], [(1, 1), (3, 3)]),
        ([x(HALF + 100), "a"], [(1, 2)]),
        (["a", "# b", "c"], [(1, 1), (2, 3)]),
        (["a", "class B:", "c"], [(1, 1), (2, 3)]),
        (["a", "```", "# b", "```", "# c"], [(1, 4), (5, 5)]),
    ],
)
def test_a_text_is_split_into_whole_lines(lines: list[str], chunks: list[tuple[int, int]]) -> None:
    found = list(chunks_of("\n".join(lines)))
    assert [(one.start_line, one.end_line) for one in found] == chunks
    assert [one.text for one in found] == ["\n".join(lines[a - 1 : b]) for a, b in chunks]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One", "One"),
        ("###### Six  ", "Six"),
        ("####### Seven", ""),
        ("#none", ""),
        ("def run(x):", "run"),
        ("    async def run(x):", "run"),
        ("Title\n---", "Title"),
        ("Title\n---\ntext", "Title"),
        ("Titles\n---", ""),
        ("Title\n======= ", "Title"),
        ("Title\n--", ""),
        ("\n---", ""),
        ("Title", ""),
        (f"# {x(300)}", x(200)),
        (f"{x(300)}\n{'=' * 300}", x(200)),
    ],
)
def test_a_chunk_has_the_title_above_it(text: str, title: str) -> None:
    assert [one.title for one in chunks_of(text)] == [title]


def test_a_title_stays_until_the_next() -> None:
    text = f"before\n# One\n{x(MAX_CHARS)}\nlast\n"
    assert list(chunks_of(text)) == [
        Chunk(1, 1, "", "before"),
        Chunk(2, 2, "One", "# One"),
        Chunk(3, 3, "One", x(MAX_CHARS)),
        Chunk(4, 4, "One", "last"),
    ]


def test_a_line_longer_than_two_chunks_is_cut() -> None:
    (first, second) = chunks_of(x(2 * MAX_CHARS + 1))
    assert (len(first.text), len(second.text)) == (2 * MAX_CHARS, 1)
    assert len(list(chunks_of(x(2 * MAX_CHARS)))) == 1
