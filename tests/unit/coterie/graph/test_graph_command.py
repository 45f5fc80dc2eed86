"""`coterie graph` as people call it."""

import json
import sys
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from coterie.cli import main
from tests.support.documents.layered import layered
from tests.support.places import HISTORIES as HISTORIES_FOLDER


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(layered(tmp_path))
    for name in ("COTERIE_ADDRESS", "COTERIE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize("target", ["report", "config/teams/report.yml"])
def test_a_team_is_drawn_as_mermaid_by_name_and_by_file(
    project: Path, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    assert main(["graph", target]) == 0
    out = capsys.readouterr().out
    assert out.startswith("---\ntitle: ")
    assert "flowchart TD\n" in out
    assert "team_draft[" in out


def test_the_name_of_the_output_says_its_format(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", "report", "-o", "report.svg"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "report.svg written\n")
    assert fromstring((project / "report.svg").read_text()).tag.endswith("svg")
    assert main(["graph", "report", "-o", "report.mmd"]) == 0
    assert (project / "report.mmd").read_text().startswith("---\n")


def test_the_format_can_be_said_for_standard_output(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", "report", "--format", "svg"]) == 0
    assert fromstring(capsys.readouterr().out).tag.endswith("svg")


def test_the_model_for_everyone_is_in_the_picture(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", "report", "--model", "openai/gpt-9"]) == 0
    assert "writer · openai/gpt-9" in capsys.readouterr().out


def test_a_model_for_everyone_that_is_unknown_is_not_blamed_on_the_file(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", "report", "--model", "nobody/x"]) == 2
    text = "unknown provider given for every persona instead of its own: 'nobody'"
    assert text in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "--format", "mermaid", "-o", "a.svg"], "--format mermaid does not fit"),
        (["report", "-o", "a.png"], "the suffix must be one of .mermaid, .mmd, .svg"),
        (
            ["report", "-o", "no/such/folder/a.svg"],
            "could not write no/such/folder/a.svg: No such file or directory",
        ),
        (
            ["reprot"],
            "reprot is neither a file nor a team (did you mean 'report'?); as a run: nothing "
            "has run in",
        ),
        (["a.json"], "a.json: No such file or directory"),
    ],
)
def test_a_mistake_is_one_sentence(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["graph", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.startswith("coterie: ")
    assert captured.err.count("\n") == 1


def test_without_the_library_mermaid_is_named_as_the_way_out(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    assert main(["graph", "report", "--format", "svg"]) == 2
    assert "--format mermaid" in capsys.readouterr().err
    assert main(["graph", "report"]) == 0


def test_a_wrong_document_is_reported_like_everywhere(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "wrong.yml").write_text("orchestration: { entry_team: nobody, teams: {} }\n")
    assert main(["graph", "wrong.yml"]) == 2
    assert "wrong.yml:1:" in capsys.readouterr().err


HISTORIES = sorted(HISTORIES_FOLDER.glob("*.json"))


@pytest.mark.parametrize("file", HISTORIES, ids=lambda file: file.stem)
def test_a_recorded_run_is_drawn_from_its_file(
    project: Path, capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    assert main(["graph", str(file)]) == 0
    out = capsys.readouterr().out
    begun = json.loads(file.read_text())["events"][0]["workflowExecutionStartedEventAttributes"]
    assert begun["workflowId"] in out
    assert "visit" in out
    # without a taken route, the run ended in its first team, or before it
    assert "==>|" in out or "1 of 30 team visits" in out or "0 of 30 team visits" in out
