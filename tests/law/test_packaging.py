"""One distribution with one import package: the five rooms, the shipped teams and no tests."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.law.sources import ROOMS, ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our wheel, made by the declared build backend."""
    out = tmp_path_factory.mktemp("wheel")
    run = subprocess.run(
        [Path(sys.executable).parent / "hatchling", "build", "-t", "wheel", "-d", out],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    (file,) = out.glob("coterie-*.whl")
    return file


def packed_name(file: Path) -> str:
    """Where a file of a room is in the wheel."""
    name = file.relative_to(ROOT).as_posix()
    return name if name.startswith("coterie/") else f"coterie/{name}"


def packed(wheel: Path) -> set[str]:
    """The files of the wheel, without those about the distribution."""
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    return {name for name in names if not name.partition("/")[0].endswith(".dist-info")}


def test_the_wheel_holds_one_import_package(wheel: Path) -> None:
    assert {name.partition("/")[0] for name in packed(wheel)} == {"coterie"}


def test_the_wheel_holds_every_source_and_every_file_of_the_shipped_teams(wheel: Path) -> None:
    sources = {
        packed_name(file)
        for room in ROOMS
        for file in (ROOT / room).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    errors = "coterie/explaining/errors.md"
    assert packed(wheel) == sources | {errors}
    assert "coterie/config/system_config.yml" in sources
    with ZipFile(wheel) as archive:
        assert archive.read(errors) == (ROOT / "docs" / "errors.md").read_bytes()


def test_no_folder_of_the_package_holds_a_link() -> None:
    assert [file for room in ROOMS for file in (ROOT / room).rglob("*") if file.is_symlink()] == []


def test_the_wheel_says_that_it_is_typed(wheel: Path) -> None:
    assert "coterie/py.typed" in packed(wheel)


def test_the_rooms_run_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    """The unpacked wheel stands before the checkout on the path, and finds its own teams."""
    with ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = (
        "import sys, coterie.cli, coterie.config as config\n"
        "assert config.__file__.startswith(sys.argv[1]), config.__file__\n"
        "sys.argv = ['coterie', 'validate', 'development']\n"
        "sys.exit(coterie.cli.main())\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, tmp_path],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
