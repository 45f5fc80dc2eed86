"""A request that would change files shows the diff, whole or with the name of what is hidden."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from activities.skills.skill_contracts import known_contracts
from coterie.rendering.approval_panel import panel_lines, plain_lines
from coterie.rendering.change_diff import split_changes
from coterie.rendering.request_text import (
    PendingOfRun,
    pending_text,
    request_text,
    shown_text,
)
from coterie.runs.run_workspaces import record_file, workspace_of_run
from coterie.settings import Settings
from dsl.values import JsonValue
from workflows.core.requests import Pending, RequestView

OLD = [f"line {number}" for number in range(400)]
NEW = [*OLD[:5], "first change", *OLD[6:300], "last change", *OLD[301:]]
LONG = [f"other {number}" for number in range(400)]
CONTENT = "\n".join(NEW)
EDIT: JsonValue = {
    "path": "a.txt",
    "old": "\n".join(OLD[5:301]),
    "new": "\n".join(NEW[5:301]),
}
SHOWS: Mapping[str, JsonValue] = {
    "a call of Files.edit": EDIT,
    "a call of Files.write": {"path": "a.txt", "content": CONTENT},
    "with a hash": {"path": "a.txt", "content": CONTENT, "if_sha256": "0" * 64},
    "a set of changes": {
        "changes": [{"file_path": "a.txt", "type": "modify", "content": CONTENT}],
        "why": "so",
    },
    "one change": {"file_path": "a.txt", "type": "modify", "content": CONTENT},
}
WHOLE: Mapping[str, Callable[[Pending, Path], str]] = {
    "show": lambda one, folder: request_text(
        "r1", RequestView(pending=one), "me", workspace=folder
    ),
    "approve": lambda one, folder: shown_text("r1", one, folder),
    "screen": lambda one, folder: "\n".join(
        line.text for line in panel_lines("r1", one, 100, folder, max_lines=None)
    ),
}
CUT: Mapping[str, Callable[[Pending, Path], str]] = {
    "pending": lambda one, folder: pending_text([PendingOfRun("r1", one, True, folder)], "me"),
    "panel": lambda one, folder: "\n".join(
        line.text for line in panel_lines("r1", one, 100, folder)
    ),
    "plain": lambda one, folder: "\n".join(plain_lines("r1", one, folder)),
}


def request(show: JsonValue) -> Pending:
    return Pending(id="a/b#1", prompt="Ok?", show=show, since="2026-01-02T03:04:05.678+00:00")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("\n".join(OLD))
    (tmp_path / "b.txt").write_text("\n".join(OLD))
    return tmp_path


@pytest.mark.parametrize("place", [*WHOLE, *CUT])
@pytest.mark.parametrize("kind", SHOWS)
def test_every_changed_line_is_shown_and_unchanged_ones_are_not(
    kind: str, place: str, folder: Path
) -> None:
    text = {**WHOLE, **CUT}[place](request(SHOWS[kind]), folder)
    assert {"-line 5", "+first change", "-line 300", "+last change"} <= {
        line.strip() for line in text.splitlines()
    }
    assert "line 100" not in text
    assert "hidden" not in text
    assert ("0" * 64 in text) is (kind == "with a hash")


CALLS: Mapping[str, JsonValue] = {
    "Files.edit": EDIT,
    "Files.write": SHOWS["a call of Files.write"],
    "AssetManager.apply_changes": SHOWS["a set of changes"],
    "AssetManager.process_action": SHOWS["one change"],
}


def test_the_call_of_every_skill_that_writes_a_file_is_shown_as_a_change() -> None:
    """`Git.commit` takes paths, and commits what the files already contain."""
    fields = ('"path"', '"file_path"')
    writing = {
        name
        for name, one in known_contracts().items()
        if one.effect != "read"
        and any(f"{field}:" in json.dumps(one.input_schema) for field in fields)
    }
    assert writing == set(CALLS)
    for show in CALLS.values():
        assert len(split_changes(show)[0]) == 1


def test_a_deletion_shows_what_is_lost_beside_the_other_changes(folder: Path) -> None:
    deletion: JsonValue = {"file_path": "b.txt", "type": "delete"}
    both: JsonValue = {"changes": [SHOWS["one change"], deletion]}
    for show in (deletion, both):
        lines = [line.strip() for line in shown_text("r1", request(show), folder).splitlines()]
        assert {"delete b.txt", "-line 0", "-line 399"} <= set(lines)
        assert ("+last change" in lines) is (show is both)


def test_an_edit_that_does_not_fit_says_so_and_shows_its_texts(folder: Path) -> None:
    show: JsonValue = {"path": "a.txt", "old": "line 1", "new": "x"}
    text = shown_text("r1", request(show), folder)
    assert "(does not fit the file as it is now: `old` occurs more than 100 times" in text
    assert {"-line 1", "+x"} <= {line.strip() for line in text.splitlines()}
    assert "the current one cannot be read here" in shown_text("r1", request(EDIT), None)


TWO: JsonValue = {
    "changes": [
        {"file_path": "b.txt", "type": "modify", "content": "\n".join(LONG)},
        {"file_path": "a.txt", "type": "modify", "content": CONTENT},
    ]
}


@pytest.mark.parametrize("place", WHOLE)
def test_a_long_diff_is_whole_where_a_person_asks_for_it(place: str, folder: Path) -> None:
    text = WHOLE[place](request(TWO), folder)
    assert "+other 399" in text
    assert "+last change" in text
    assert "hidden" not in text


@pytest.mark.parametrize("place", CUT)
def test_a_long_diff_is_cut_with_the_name_of_every_hidden_hunk(place: str, folder: Path) -> None:
    text = " ".join(CUT[place](request(TWO), folder).split())
    assert "+other 399" not in text
    for hidden in ("b.txt @@ -1,400 +1,400 @@", "a.txt @@ -3,7 +3,7 @@", "a.txt @@ -298,7 +298,7"):
        assert f"of {hidden}" in text, text
    assert "whole: coterie show r1 'a/b#1'" in text


def test_a_file_that_cannot_be_read_here_is_shown_whole_and_says_so(folder: Path) -> None:
    for path, workspace in (("a.txt", None), ("../a.txt", folder / "sub")):
        show: JsonValue = {"path": path, "content": CONTENT}
        text = shown_text("r1", request(show), workspace)
        assert "the current one cannot be read here" in text
        assert "+line 100" in text


def test_what_is_no_change_of_a_file_stays_as_it_is(folder: Path) -> None:
    show: JsonValue = {"path": "a.txt", "content": "x", "to": "ann"}
    assert "to: ann" in shown_text("r1", request(show), folder)
    assert "+x" not in shown_text("r1", request(show), folder)


def test_a_run_of_this_project_has_its_files_here(tmp_path: Path) -> None:
    settings = Settings(cwd=tmp_path, project=tmp_path)
    assert workspace_of_run(settings, "r1") is None
    file = record_file(settings.state / "runs", "r1")
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"trusted": {"workspace": str(tmp_path)}}))
    assert workspace_of_run(settings, "r1") == tmp_path
    file.write_text("{")
    assert workspace_of_run(settings, "r1") is None
