"""`coterie tools`: contracts are listed and shown, and a call from the terminal is a real one."""

import json
from pathlib import Path

import pytest

from coterie.cli import main

DOCUMENT = """\
llm_config:
  default_provider: scripted
  default_model: m
  providers: { scripted: {} }
  personas:
    worker: { prompts: { user: Work. }, tools: [sums, ask, drop] }
    helper: { description: Helps., prompts: { user: "{{ input.query }}" } }
tools:
  sums: { skill: Calculator.evaluate, description: Adds., timeout: 3s }
  ask: { agent: helper }
  drop:
    skill: AssetManager.process_action
    fixed: { type: delete }
    requires_approval: true
worker:
  commands: { send: { run: [echo, sent], once: true } }
  sandbox: none
orchestration:
  entry_team: main
  teams: { main: { tasks: [{ name: work, persona_key: worker, input: { a: 1 } }] } }
"""


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "team.yml").write_text(DOCUMENT)
    monkeypatch.chdir(tmp_path)


def out(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(["tools", *words]) == code
    said = capsys.readouterr()
    return said.out if code == 0 else said.err


def test_list_shows_the_tools_of_a_document_before_the_functions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = out(capsys, "list", "--of", "team.yml").splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["name", "sums", "ask", "drop"]
    assert any(line.startswith("Calculator.evaluate") for line in lines[4:])
    assert "sums" not in out(capsys, "list")


def test_show_prints_the_contract_without_what_is_fixed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = out(capsys, "show", "sums", "--of", "team.yml")
    assert "timeout   3 s, 0 retries" in text
    shown = json.loads(out(capsys, "show", "drop", "--of", "team.yml", "--json"))
    assert shown["fixed"] == {"type": "delete"}
    assert "type" not in shown["input_schema"]["properties"]
    assert len(shown["contract"]) == 64


def test_call_runs_the_tool_with_what_it_fixes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = '{"expression": "2^10"}'
    result = json.loads(out(capsys, "call", "sums", "--of", "team.yml", "--arguments", given))
    assert result["value"] == 1024
    (tmp_path / "old.md").write_text("old")
    out(capsys, "call", "drop", "--of", "team.yml", "--arguments", '{"file_path": "old.md"}')
    assert not (tmp_path / "old.md").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("call", "sums", "--arguments", '{"expresion": "1"}'), "has the key 'expresion'"),
        (("call", "sums", "--arguments", "[1]"), "--arguments must be a JSON object"),
        (("call", "sums", "--arguments", "{"), "is not JSON"),
        (("call", "sums", "--arguments", '{"expression": "1 +"}'), "failed with Function"),
        (("call", "drop", "--arguments", '{"type": "create"}'), "fixes 'type'"),
        (("call", "ask"), "only a run can call"),
        (("call", "summs"), "did you mean 'sums'?"),
        (("show",), "name the tool"),
    ],
)
def test_a_call_that_cannot_be_made_is_one_sentence(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in out(capsys, *words, "--of", "team.yml", code=2)


def test_a_call_that_must_not_happen_twice_needs_a_word(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("call", "CommandRunner.run_once", "--of", "team.yml", "--arguments")
    given = '{"command": "send"}'
    assert "must not happen twice" in out(capsys, *words, given, code=2)
    assert json.loads(out(capsys, *words, given, "--yes"))["output"] == "sent\n"
