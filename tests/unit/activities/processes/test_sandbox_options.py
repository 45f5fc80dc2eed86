"""What a sandboxed command sees: its home, an empty folder or nothing, and what it may read."""

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


@pytest.mark.parametrize(("network", "count"), [(True, 1), (False, 0)])
def test_only_a_view_with_network_shares_it(tmp_path: Path, network: bool, count: int) -> None:
    found = Bubblewrap("bwrap").wrapped([], SandboxView(tmp_path, tmp_path, network=network))
    assert found.count("--share-net") == count


def test_what_it_may_read_outside_is_bound_once_and_what_is_missing_is_left_out(
    tmp_path: Path,
) -> None:
    root, outside, none = tmp_path / "work", tmp_path / "data", tmp_path / "none"
    inside = root / "inner"
    inside.mkdir(parents=True)
    outside.mkdir()
    view = SandboxView(root, root, read=(outside, outside, inside, none))
    found = Bubblewrap("bwrap").wrapped([], view)
    at = found.index(str(outside))
    assert found[at - 1 : at + 2] == ["--ro-bind", str(outside), str(outside)]
    assert found.count(str(outside)) == 2
    assert not {str(inside), str(none)} & {*found}
