"""What a sandboxed command sees of its home directory: an empty folder, or nothing."""

from pathlib import Path

import pytest

from activities.processes.bubblewrap import Bubblewrap, SandboxView


def options(tmp_path: Path, home: Path | None) -> list[str]:
    view = SandboxView(tmp_path, tmp_path, home)
    return Bubblewrap("bwrap").wrapped(["make"], view)


def test_a_home_directory_is_an_empty_folder(tmp_path: Path) -> None:
    found = options(tmp_path, Path("/home/ann"))
    at = found.index("/home/ann")
    assert found[at - 1] == "--tmpfs"
    assert found[-2:] == ["--", "make"]


@pytest.mark.parametrize("home", [None, Path("/"), Path("relative"), Path()])
def test_a_home_that_is_no_folder_of_its_own_is_not_replaced(
    tmp_path: Path, home: Path | None
) -> None:
    assert options(tmp_path, home) == options(tmp_path, None)
