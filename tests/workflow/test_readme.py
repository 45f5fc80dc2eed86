"""The team on the first page runs as it stands: its approver sees the notes, and they come back."""

from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from coterie.cli import main
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.failures import ExitCode
from tests.law.documents.pages import blocks
from tests.law.sources import ROOT
from tests.support.compiling import CAPABILITIES
from tests.support.engine import engine
from tests.support.runs import Handle, asked, decide

BLOCKS = blocks((ROOT / "README.md").read_text())
[EXAMPLE] = [block for block in BLOCKS if "entry_team" in block]
[TOOLS] = [block for block in BLOCKS if "subagents" in block]
TEAM = """
orchestration:
  entry_team: books
  context: {task: {type: string}}
  teams: {books: {tasks: [{name: keep, persona_key: bookkeeper}]}}
"""
NOTES = "1.1: it is faster."
ANSWERS: list[Json] = [
    {"task": "draft", "answer": "1.1"},
    {"task": "draft", "visit": 2, "contains": "Say how", "answer": NOTES},
    {"task": "review/review", "answer": {"verdict": "FAIL", "comment": "Say how."}},
    {"task": "review/review", "visit": 2, "answer": {"verdict": "PASS", "comment": ""}},
]


def example_plan() -> Plan:
    """The example, with a model that answers from a file."""
    source = SourceText("notes.yml", EXAMPLE)
    return compile_sources([source], CAPABILITIES, name="notes", model="scripted/demo").plan


def test_the_first_example_has_no_problem_and_no_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.yml").write_text(EXAMPLE)
    monkeypatch.chdir(tmp_path)
    assert main(["validate", "--strict", "notes.yml"]) == ExitCode.DONE
    assert "no problems" in capsys.readouterr().err


def test_the_agent_with_tools_has_no_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = "  default_provider: anthropic\n  default_model: claude-sonnet-5-5\n"
    text = TOOLS.replace("llm_config:\n", f"llm_config:\n{model}") + TEAM
    (tmp_path / "books.yml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(["validate", "--strict", "books.yml"]) == ExitCode.DONE, capsys.readouterr().out


async def test_the_first_example_shows_its_notes_and_returns_them_when_approved(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, ANSWERS) as running:
        handle: Handle = await running.start(example_plan(), {"changes": "all of them"})
        request = await asked(handle)
        assert request["show"] == NOTES
        await decide(handle, request["id"], by="ann")
        result = await handle.result()
        assert result["output"]["notes"] == NOTES
