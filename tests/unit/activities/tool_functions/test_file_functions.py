"""What the file functions show: up to which limit, from which line, with which lines around."""

from pathlib import Path

import pytest

from coterie.activities.tool_functions.files.file_listing import FileListInput, list_files
from coterie.activities.tool_functions.files.file_reading import FileReadInput, read_text
from coterie.activities.tool_functions.files.file_search import (
    MAX_FILE_BYTES,
    FileSearchInput,
    search_files,
)
from coterie.activities.workspace.function_base import FunctionContext, Workspace
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal


@pytest.fixture
def context(tmp_path: Path) -> FunctionContext:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\ntwo\n")
    (tmp_path / "b.txt").write_text("two")
    (tmp_path / "c.txt").write_text("")
    return FunctionContext(Workspace(tmp_path), key="call")


@pytest.mark.parametrize(("most", "shown", "complete"), [(2, 2, False), (3, 3, True), (4, 3, True)])
async def test_a_list_of_exactly_the_most_files_is_complete(
    most: int, shown: int, complete: bool, context: FunctionContext
) -> None:
    found = await list_files(FileListInput(max_files=most), context)
    assert (len(found.files), found.total, found.complete) == (shown, 3, complete)


@pytest.mark.parametrize(
    ("wanted", "text", "end", "cut"),
    [
        ({"start_line": 2, "end_line": 2}, "two\n", 2, False),
        ({"start_line": 4}, "two\n", 4, False),
        ({"max_bytes": 8}, "one\ntwo\n", 2, True),
        ({"max_bytes": 7}, "one\n", 1, True),
        ({"max_bytes": 18}, "one\ntwo\nthree\ntwo\n", 4, False),
        ({"path": "b.txt"}, "two", 1, False),
        ({"path": "c.txt"}, "", 0, False),
    ],
)
async def test_lines_are_read_as_far_as_they_fit(
    wanted: dict[str, str | int], text: str, end: int, cut: bool, context: FunctionContext
) -> None:
    value = FileReadInput.model_validate({"path": "a.txt", **wanted})
    found = await read_text(value, context)
    assert (found.text, found.end_line, found.cut) == (text, end, cut)


@pytest.mark.parametrize(
    ("wanted", "failure"),
    [
        ({"start_line": 3, "end_line": 2}, FunctionRefusal),
        ({"start_line": 5}, FunctionFailure),
        ({"path": "b.txt", "start_line": 2}, FunctionFailure),
        ({"path": "c.txt", "start_line": 2}, FunctionFailure),
        ({"max_bytes": 3}, FunctionFailure),
    ],
)
async def test_lines_that_are_not_there_are_not_read(
    wanted: dict[str, str | int], failure: type[Exception], context: FunctionContext
) -> None:
    with pytest.raises(failure):
        await read_text(FileReadInput.model_validate({"path": "a.txt", **wanted}), context)


Match = tuple[str, int, list[str], list[str]]
FOUND: list[tuple[str, int, list[Match]]] = [
    ("two", 0, [("a.txt", 2, [], []), ("a.txt", 4, [], []), ("b.txt", 1, [], [])]),
    ("one", 2, [("a.txt", 1, [], ["two", "three"])]),
    ("three", 1, [("a.txt", 3, ["two"], ["two"])]),
    ("three", 2, [("a.txt", 3, ["one", "two"], ["two"])]),
    ("^$", 1, []),
]


@pytest.mark.parametrize(("pattern", "around", "found"), FOUND)
async def test_a_match_has_its_line_and_the_lines_around_it(
    pattern: str, around: int, found: list[Match], context: FunctionContext
) -> None:
    value = FileSearchInput(pattern=pattern, context_lines=around)
    result = await search_files(value, context)
    assert [(one.path, one.line, one.before, one.after) for one in result.matches] == found
    assert (result.searched_files, result.skipped_files, result.complete) == (3, 0, True)


@pytest.mark.parametrize(
    ("most", "searched", "complete"), [(1, 1, False), (2, 2, False), (3, 3, True)]
)
async def test_a_search_ends_where_it_has_found_more_than_enough(
    most: int, searched: int, complete: bool, context: FunctionContext
) -> None:
    result = await search_files(FileSearchInput(pattern="two", max_matches=most), context)
    assert len(result.matches) == most
    assert (result.searched_files, result.complete) == (searched, complete)


async def test_a_file_of_exactly_the_largest_size_is_searched(context: FunctionContext) -> None:
    file = context.workspace.root / "large.txt"
    counts: list[tuple[int, int]] = []
    for size in (MAX_FILE_BYTES, MAX_FILE_BYTES + 1):
        file.write_bytes(b"x" * size)
        result = await search_files(FileSearchInput(pattern="none"), context)
        counts.append((result.searched_files, result.skipped_files))
    assert counts == [(4, 0), (3, 1)]
