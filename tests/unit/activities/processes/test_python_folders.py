"""Which folders a program needs: its own, its environment, and the Python that it is based on."""

from pathlib import Path

import pytest

from coterie.activities.processes.python_interpreter import folders_of


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """An installation of Python."""
    found = tmp_path / "base"
    for folder in ("bin", "lib/python3.11", "share"):
        (found / folder).mkdir(parents=True)
    (found / "lib/python3.11/os.py").touch()
    (found / "bin" / "tool").touch()
    return found


def environment(folder: Path, settings: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").touch()
    (folder / "pyvenv.cfg").write_text(settings)
    return folder


def names(root: Path, program: Path, home: Path | None) -> set[str]:
    found = folders_of(program, home)
    assert len(set(found)) == len(found)
    return {path.relative_to(root).as_posix() for path in found}


@pytest.mark.parametrize(
    ("settings", "based"),
    [
        ("home = {base}/bin\n", True),
        ("no setting\nversion = 3\nhome={base}/bin\n", True),
        ("prompt = a=b=c\nhome = {base}/bin\n", True),
        ("home = {base}/../link/bin\n", True),
        ("home = base/bin\n", False),
        ("base-home = {base}/bin\n", False),
        ("home = {base}/lib/python3.11\n", False),
        ("", False),
    ],
)
def test_an_environment_needs_the_real_python_that_it_names(
    tmp_path: Path, base: Path, settings: str, based: bool
) -> None:
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "bin").symlink_to(base / "bin")
    place = environment(tmp_path / "env", settings.format(base=base))
    found = names(tmp_path, place / "bin" / "python", None)
    assert {"env", "env/bin"} <= found
    assert ("base/lib" in found) is based
    assert based or found == {"env", "env/bin"}


def test_a_program_of_an_installation_needs_what_is_beside_it_except_in_a_home(
    tmp_path: Path, base: Path
) -> None:
    tool = base / "bin" / "tool"
    assert names(tmp_path, tool, tmp_path) == {"base/bin", "base/lib", "base/share"}
    assert names(tmp_path, tool, None) == {"base/bin"}
    assert names(tmp_path, tool, base) == {"base/bin"}
    local = tmp_path / ".local"
    base.rename(local)
    assert names(tmp_path, local / "bin" / "tool", tmp_path) == {".local/bin"}
    assert names(tmp_path, local / "share" / "tool", tmp_path / "home") == {".local/share"}


def test_a_link_needs_its_own_folder_and_that_of_its_program(tmp_path: Path, base: Path) -> None:
    link = tmp_path / "here" / "tool"
    link.parent.mkdir()
    link.symlink_to(base / "bin" / "tool")
    assert names(tmp_path, link, tmp_path) == {"here", "base/bin", "base/lib", "base/share"}
