"""The examples of docs/agents-in-python.md do what the page says."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from coterie import agents
from coterie.cli import main
from tests.law.documents.pages import chapters, rows, text
from tests.law.sources import ROOT

PAGE = text("agents-in-python.md")
FILES = dict(re.findall(r"```(?:python|yaml)\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def python(folder: Path, *arguments: str) -> str:
    ran = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={"PYTHONPATH": f"{folder}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_program_of_the_page_prints_what_the_page_shows(project: Path) -> None:
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert python(project, "program.py") == shown


def test_the_agents_of_the_page_are_a_valid_document(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "path", [str(project), *sys.path])
    monkeypatch.setitem(sys.modules, "trip_agents", None)  # forget it afterwards
    del sys.modules["trip_agents"]
    module = import_module("trip_agents")
    trip = module.trip_planner(model="claude-sonnet-5-5", provider="anthropic")
    (project / "trip.yml").write_text(trip.to_yaml())
    monkeypatch.chdir(project)
    assert main(["validate", "trip.yml"]) == 0, capsys.readouterr()


def test_the_other_blocks_of_the_page_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    named = [block for block in blocks if block.startswith("# ")]
    assert [block.split()[1] for block in named] == [
        "trip_agents.py",
        "program.py",
        "multiplier.py",
    ]
    alone = [block for block in blocks if "asyncio.run" not in block and "await " not in block]
    assert len(alone) == len(blocks) - 2
    for block in alone:
        exec(block, {"__name__": "page", "factory": agents.AgentFactory()})


def test_the_page_lists_what_a_state_has() -> None:
    cells = [
        row["Field of `AgentState`"]
        for row in rows(chapters("agents-in-python.md")["Run it"])
        if "Field of `AgentState`" in row
    ]
    named = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert set(named) == {*agents.AgentState._fields, "text"}


def test_the_page_lists_the_methods_of_the_factory() -> None:
    cells = [row["Method"] for row in rows(chapters("agents-in-python.md")["The factory"])]
    named = {name for cell in cells for name in re.findall(r"`(\w+)\(", cell)} - {"AgentFactory"}
    own = vars(agents.AgentFactory)
    assert named == {name for name in own if not name.startswith("_")}
