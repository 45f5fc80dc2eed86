"""The example package, installed: its tool, provider and agent type work in a program's run."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.places import ROOT
from tests.support.project import BIN, project

EXAMPLE = ROOT / "examples" / "plugin"
PROGRAM = """
import asyncio, json, sys

from coterie import tool

assert not {"pydantic", "temporalio"} & set(sys.modules), "a tool's import costs nothing"

from pydantic import BaseModel

from coterie import InvalidTeam, Team


class Vote(BaseModel):
    answer: str
    votes: int


class Output(BaseModel):
    numerals: str
    vote: Vote


async def main() -> None:
    team = Team.load("team.yml")
    try:
        await team.run({"year": "soon"})
    except InvalidTeam as error:
        print(error)
    result = await team.run({"year": 49}, id="example")
    print(result.id, result.read(Output))


asyncio.run(main())
"""


def install(wheel: Path, target: Path) -> None:
    """Install a wheel without its dependencies, which the tests have; nothing is downloaded."""
    own = sorted(ROOT.glob(".uv/*/bin/uv"))  # where the Makefile puts it, unless PATH has one
    uv = own[-1] if own else shutil.which("uv")
    assert uv is not None
    options = ("--offline", "--no-deps", "--no-cache", "--python", sys.executable)
    installed = subprocess.run(
        [uv, "pip", "install", *options, "--target", target, wheel],
        text=True,
        capture_output=True,
        check=False,
    )
    assert installed.returncode == 0, installed.stderr


def test_a_program_runs_a_team_of_an_installed_package(tmp_path: Path) -> None:
    built = subprocess.run(
        [BIN / "uv-build", "build-wheel", tmp_path], cwd=EXAMPLE, capture_output=True, check=False
    )
    assert built.returncode == 0, built.stderr
    [wheel] = tmp_path.glob("*.whl")
    install(wheel, tmp_path / "site")
    sample = tmp_path / "sample"
    sample.mkdir()
    (sample / "team.yml").write_bytes((EXAMPLE / "team.yml").read_bytes())
    with project(tmp_path / "p", {"PYTHONPATH": str(tmp_path / "site")}, sample) as made:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            cwd=made.folder,
            env=made.environment,
            text=True,
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        refused, printed = done.stdout.splitlines()
        assert "year" in refused
        answer = "HOW DO ROMANS WRITE 49? XLIX!"
        assert printed == f"example numerals='XLIX' vote=Vote(answer='{answer}', votes=3)"
        assert "completed" in made.coterie("runs").stdout
