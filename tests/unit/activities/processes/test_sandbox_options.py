"""What a sandboxed command sees: its home, an empty folder or nothing, and what it may read."""

from pathlib import Path

import pytest

from coterie.activities.processes.bubblewrap import Bubblewrap, SandboxView


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


def test_the_system_may_be_read_as_far_as_the_machine_has_it(tmp_path: Path) -> None:
    found = options(tmp_path, None)
    at = found.index("/usr")
    assert found[at - 1 : at + 2] == ["--ro-bind", "/usr", "/usr"]
    known = [name for name in ("/lib32", "/lib64", "/libx32") if name in found]
    assert all(Path(name).is_dir() for name in known)


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


def test_what_is_hidden_stays_hidden_although_it_is_protected_too(tmp_path: Path) -> None:
    root, outside = tmp_path / "work", tmp_path / "other"
    for name in ("a/kept", "b/deep/secret", "c/kept", "../other"):
        (root / name).mkdir(parents=True)
    (root / "key.pem").touch()
    hidden = tuple(root / name for name in ("a", "b/deep/secret", "key.pem"))
    protected = (root / "a" / "kept", root / "c" / "kept", root / "none")
    view = SandboxView(root, root, hidden=(*hidden, root), protected=(*protected, outside))
    found = Bubblewrap("bwrap").wrapped([], view)
    at = found.index("--bind")
    given = [one.replace(f"{root}/", "") for one in found[at + 3 : found.index("--proc")]]
    empty = given.pop(-2)
    assert Path(empty).read_bytes() == b""
    assert " ".join(given) == (
        "--bind a a --bind b b --bind b/deep b/deep --bind c c --ro-bind c/kept c/kept "
        "--tmpfs a --remount-ro a --tmpfs b/deep/secret --remount-ro b/deep/secret "
        "--ro-bind key.pem"
    )


def test_the_files_of_the_kernel_cover_those_of_every_other_mount(tmp_path: Path) -> None:
    for root in (tmp_path, Path("/")):
        found = Bubblewrap("bwrap").wrapped([], SandboxView(root, root, read=(Path("/proc"),)))
        last = found[found.index("--proc") : found.index("--chdir")]
        cover = "--tmpfs /sys --remount-ro /sys " if root == Path("/") else ""
        assert " ".join(last) == f"--proc /proc --remount-ro /proc {cover}--remount-ro /"
        assert {"--disable-userns", "--unshare-user"} <= {*found}


def test_a_repository_cannot_make_the_user_s_own_git_run_something(tmp_path: Path) -> None:
    assert SandboxView(tmp_path, tmp_path).trusted == ()
    (tmp_path / ".git").write_text("gitdir: elsewhere")
    assert SandboxView(tmp_path, tmp_path).trusted == (tmp_path / ".git",)
    (tmp_path / ".git").unlink()
    (tmp_path / ".git").mkdir()
    names = {path.name for path in SandboxView(tmp_path, tmp_path).trusted}
    assert names == {"config", "config.worktree", "hooks", "commondir"}
