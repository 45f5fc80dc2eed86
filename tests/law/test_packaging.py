"""One distribution, five rooms, the shipped teams inside it and no tests."""

import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.law.sources import ROOMS, ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our wheel, made by the declared build backend."""
    out = tmp_path_factory.mktemp("wheel")
    run = subprocess.run(
        [Path(sys.executable).parent / "uv-build", "build-wheel", out],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    (file,) = out.glob("coterie-*.whl")
    return file


def test_no_other_distribution_brings_a_package_of_our_names() -> None:
    claimed = packages_distributions()
    for room in ROOMS:
        assert set(claimed.get(room, ["coterie"])) == {"coterie"}


def test_the_wheel_holds_the_five_rooms_and_nothing_else(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(ROOMS)


def test_the_wheel_holds_every_source_and_every_file_of_the_shipped_teams(wheel: Path) -> None:
    sources = {
        str(file.relative_to(ROOT))
        for room in ROOMS
        for file in (ROOT / room).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    with ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.split("/")[0] in ROOMS}
    assert {name for name in packed if not name.endswith("/")} == sources
    assert any(name.startswith("config/teams/") and name.endswith(".yml") for name in packed)
    assert "config/system_config.yml" in packed


def test_the_wheel_says_that_its_five_rooms_are_typed(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    assert {f"{room}/py.typed" for room in ROOMS} <= packed


def test_the_rooms_run_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    """The unpacked wheel stands before the checkout on the path, and finds its own teams."""
    with ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = (
        "import sys, coterie.cli, config\n"
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
