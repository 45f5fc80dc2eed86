"""Workflow templates: what a person names becomes the context of a run, or one clear sentence."""

from pathlib import Path

import pytest

from coterie.cli import main
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.runs.workflow_templates import (
    WorkflowTemplate,
    named_template,
    templates_of,
    workflow_context,
)

DEBUG = WorkflowTemplate(name="Debug", description="Fix a bug", needs=("error",), steps=("Look",))
MOVE = WorkflowTemplate(name="Move", description="Move code", needs=("files", "to"), steps=("Go",))
CHAT = WorkflowTemplate(name="Chat", description="Talk", steps=("Say",))


@pytest.mark.parametrize(
    ("template", "text", "details", "files", "known"),
    [
        (DEBUG, "It breaks", {}, [], {"error": "It breaks"}),
        (
            DEBUG,
            "It breaks",
            {"error": "KeyError"},
            ["a.py"],
            {"files": ["a.py"], "error": "KeyError"},
        ),
        (
            DEBUG,
            None,
            {"error": "KeyError", "file": "a.py"},
            [],
            {"error": "KeyError", "file": "a.py"},
        ),
        (MOVE, None, {"to": "b"}, ["a.py"], {"files": ["a.py"], "to": "b"}),
        (MOVE, "Into one room", {}, ["a.py"], {"files": ["a.py"], "to": "Into one room"}),
        (CHAT, None, {}, [], {}),
    ],
)
def test_what_a_person_names_becomes_the_details(
    template: WorkflowTemplate, text: str | None, details: Json, files: list[str], known: Json
) -> None:
    context = workflow_context("one", template, text, details, files)
    goal = text or template.description
    assert context == {"goal": goal, "workflow": "one", "details": known}


def test_a_detail_that_is_missing_is_named_with_an_example() -> None:
    with pytest.raises(CommandError) as caught:
        workflow_context("move", MOVE, None, {}, [])
    assert str(caught.value) == (
        'the workflow move needs files, to: --context \'{"files": ["..."], "to": "..."}\''
    )


def test_the_goal_is_never_taken_for_a_list_of_files() -> None:
    with pytest.raises(
        CommandError, match=r'the workflow move needs files: --context .*"files": \["\.\.\."\]'
    ):
        workflow_context("move", MOVE, "Tidy the invoices", {}, [])


def test_an_unknown_workflow_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(
        CommandError, match=r"Unknown workflow: debu\. There are: chat, debug\. did"
    ):
        named_template({"chat": CHAT, "debug": DEBUG}, "debu")


def test_a_malformed_template_is_named_with_its_place() -> None:
    with pytest.raises(CommandError, match=r"settings\.templates\.mine\.steps: "):
        templates_of({"templates": {"mine": {"name": "Mine", "description": "x", "steps": []}}})


def test_workflows_of_the_project_are_listed_beside_those_that_ship(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = "{name: Up, description: Upgrade a package, needs: [package], steps: [Read, Raise]}"
    (tmp_path / "coterie.yml").write_text(
        f"orchestration: {{settings: {{templates: {{upgrade: {own}}}}}}}"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["agent", "workflow", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed if line.startswith(("debug", "up"))] == [
        "debug_bug",
        "upgrade",
    ]
    assert main(["agent", "workflow", "upgrade", "--info"]) == 0
    shown = capsys.readouterr().out
    assert shown == "upgrade: Up\nUpgrade a package\nneeds package\n  1. Read\n  2. Raise\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["debug"], 'say what to do: coterie agent debug "..."'),
        (["workflow"], "name the workflow; there are: debug_bug"),
        (["workflow", "debug_bug"], "the workflow debug_bug needs error"),
        (["workflow", "debug_bug", "--context", '{"file": '], "--context is not JSON"),
        (["workflow", "debug_bug", "--context", "[]"], "--context must be a JSON object"),
        (["run", "x", "--workflow", "mend"], "Unknown workflow: mend. There are: debug_bug"),
    ],
)
def test_a_call_that_cannot_begin_says_what_it_needs(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["agent", *words]) == 2
    assert said in capsys.readouterr().err
