"""A file that is gone between the walk and its reading is a gap, and a full budget is exact."""

from pathlib import Path

import pytest

from coterie.activities.tool_functions.discovery import (
    DiscoveryInput,
    LeftOut,
    _Collection,  # pyright: ignore[reportPrivateUsage]
)
from coterie.activities.workspace.file_walk import Entry


def test_a_file_that_is_gone_by_now_is_named(tmp_path: Path) -> None:
    collection = _Collection(DiscoveryInput(), tmp_path)
    collection.take(Entry("gone.txt", 3))
    result = collection.result()
    why = "cannot be read: No such file or directory"
    assert result.left_out == [LeftOut(path="gone.txt", bytes=3, why=why)]
    assert (result.complete, result.files) == (False, [])


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        ({"max_bytes": 6}, ["a", "b", "c"]),
        ({"max_bytes": 5}, ["a", "b"]),
        ({"max_file_bytes": 3}, ["a", "b", "c"]),
        ({"max_file_bytes": 2}, ["a"]),
    ],
)
def test_files_fit_up_to_the_last_byte_and_binary_ones_take_nothing_of_the_budget(
    limits: dict[str, int], found: list[str], tmp_path: Path
) -> None:
    contents = {"a": b"aa\n", "b": b"\0bb", "c": b"cc\n"}
    if "max_file_bytes" in limits:
        contents["a"] = b"a\n"
    collection = _Collection(DiscoveryInput.model_validate(limits), tmp_path)
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        collection.take(Entry(name, len(content)))
    result = collection.result()
    assert [file.path for file in result.files] == found
    texts = [file for file in result.files if file.content is not None]
    assert result.included_bytes == sum(file.bytes for file in texts)
    assert [file.lines for file in result.files if file.path == "b"] in ([], [0])
    assert result.complete is (len(found) == 3)
