"""A request that would change files shows the diff, whole or with the name of what is hidden."""

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from coterie.activities.changes.shown_changes import (
    KNOWN_BEFORE,
    UNKNOWN,
    AskedChange,
    shortened_diff,
    split_changes,
)
from coterie.activities.tool_functions.function_contracts import known_contracts
from coterie.dsl.values import JsonValue
from coterie.mcp_server.client_questions import McpClient, questions_for
from coterie.mcp_server.run_reports import waiting_approval
from coterie.rendering.commit_diffs import CommitDiffs
from coterie.rendering.request_text import (
    PendingOfRun,
    asked_change,
    panel_lines,
    pending_text,
    plain_lines,
    request_text,
    shown_text,
)
from coterie.runs.run_workspaces import record_file, workspace_of_run
from coterie.settings import Settings
from coterie.workflows.core.requests import Pending, PlannedCall, RequestView

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
    "report over MCP": lambda one, folder: waiting_approval("r1", one, folder).diff,
    "notification": lambda one, folder: shortened_diff(asked_change(one), folder, SHOW),
}
SHOW = "coterie show r1 'a/b#1'"


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
    with_rest = kind == "with a hash" and place not in ("report over MCP", "notification")
    assert ("0" * 64 in text) is with_rest


CALLS: Mapping[str, JsonValue] = {
    "Files.edit": EDIT,
    "Files.write": SHOWS["a call of Files.write"],
    "AssetManager.apply_changes": SHOWS["a set of changes"],
    "AssetManager.process_action": SHOWS["one change"],
}


def test_the_call_of_every_function_that_writes_a_file_is_shown_as_a_change() -> None:
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


CHANGING = {name for name, one in known_contracts().items() if one.effect != "read"}
OTHERS = {"Cache.put", "Memory.store"}
"""Tool functions that change no file of the project."""


@pytest.mark.parametrize("place", [*WHOLE, *CUT])
@pytest.mark.parametrize("name", sorted({*CHANGING, "tools.report:send", "desk/move_file"}))
async def test_a_request_for_any_function_that_changes_files_shows_a_diff_or_says_that_it_cannot(
    name: str, place: str, folder: Path
) -> None:
    commit: JsonValue = {"message": "x", "paths": ["a.txt"]}
    shows: dict[str, JsonValue] = {**CALLS, "Git.commit": commit}
    call = PlannedCall(name=name, effect="idempotent")
    one = request(shows.get(name, {"n": 1})).model_copy(update={"call": call})
    if name == "Git.commit":
        one = await CommitDiffs(repository_of(folder), {}).complete(one)
    text = {**WHOLE, **CUT}[place](one, folder)
    shown = {line.strip() for line in text.splitlines()}
    assert ("+last change" in shown) is (name in shows)
    assert (UNKNOWN in text) is (name not in {*shows, *OTHERS})
    assert (name in KNOWN_BEFORE) is (name in {*shows, *OTHERS})


@pytest.mark.parametrize("place", [*WHOLE, *CUT])
@pytest.mark.parametrize("show", ["Please look", {"note": "Please look"}])
@pytest.mark.parametrize("name", sorted({*CALLS, "Git.commit"}))
async def test_a_request_that_shows_something_else_has_the_diff_of_its_call(
    name: str, show: JsonValue, place: str, folder: Path
) -> None:
    commit: JsonValue = {"message": "x", "paths": ["a.txt"]}
    given = CALLS.get(name, commit)
    call = PlannedCall(name=name, effect="idempotent", input=given)
    one = request(show).model_copy(update={"call": call})
    if name == "Git.commit":
        one = await CommitDiffs(repository_of(folder), {}).complete(one)
    text = {**WHOLE, **CUT}[place](one, folder)
    shown = {line.strip() for line in text.splitlines()}
    assert {"-line 5", "+first change", "+last change"} <= shown
    only_diff = place in ("report over MCP", "notification")
    assert ("Please look" in text) is not only_diff


def test_a_change_that_a_request_shows_and_its_call_does_not_make_is_no_diff(folder: Path) -> None:
    call = PlannedCall(name="Files.edit", effect="idempotent", input=EDIT)
    other: JsonValue = {"path": "b.txt", "content": "claimed"}
    text = shown_text("r1", request(other).model_copy(update={"call": call}), folder)
    assert "+last change" in text
    assert "content: claimed" in text
    same = request({"change": EDIT}).model_copy(update={"call": call})
    assert shown_text("r1", same, folder).count("first change") == 1


def test_a_request_in_full_names_its_call(folder: Path) -> None:
    one = request("x").model_copy(update={"call": PlannedCall(name="Web.fetch", effect="read")})
    for place in ("show", "approve"):
        text = WHOLE[place](one, folder)
        assert "  call         Web.fetch" in text
        assert UNKNOWN not in text


def repository_of(folder: Path) -> Path:
    """The folder as a repository with the old files, in which `a.txt` has changed."""
    for words in (["init", "-q"], ["add", "."], [*AUTHOR, "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    (folder / "a.txt").write_text(CONTENT)
    return folder


AUTHOR = ["-c", "user.name=a", "-c", "user.email=a@b"]


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


def test_a_form_over_mcp_shows_the_diff_and_what_else_is_asked(folder: Path) -> None:
    one = request(SHOWS["a set of changes"]).model_copy(update={"via": "mcp"})
    [form] = questions_for([one], McpClient(answers=True), folder)
    assert "+last change" in form.message
    assert '{"why": "so"}' in form.message
    assert "line 100" not in form.message


@pytest.mark.parametrize("name", [".env", "sub/.env", "link"])
@pytest.mark.parametrize("kind", ["write", "edit", "delete"])
def test_the_content_of_a_file_with_secrets_is_in_no_diff(
    name: str, kind: str, folder: Path
) -> None:
    (folder / "sub").mkdir()
    for file in (".env", "sub/.env"):
        (folder / file).write_text("KEY=hidden\nA=1\n")
    (folder / "link").symlink_to(".env")
    shows: dict[str, JsonValue] = {
        "write": {"path": name, "content": "A=2\n"},
        "edit": {"path": name, "old": "A=1", "new": "A=2"},
        "delete": {"file_path": name, "type": "delete"},
    }
    for show in (*WHOLE.values(), *CUT.values()):
        assert "hidden" not in show(request(shows[kind]), folder)


def test_a_change_that_is_too_long_to_compare_for_a_message_says_so(folder: Path) -> None:
    (folder / "a.txt").write_text("a\n" * 3000)
    show: JsonValue = {"path": "a.txt", "content": "b\n" * 3000}
    assert "too long to compare here: 3000 lines become 3000" in shortened_diff(
        AskedChange(show, show), folder, SHOW
    )
    assert "+b" in shown_text("r1", request(show), folder)
    lines = [str(number) for number in range(1, 3001)]
    (folder / "a.txt").write_text("\n".join(lines))
    near: JsonValue = {"path": "a.txt", "content": "\n".join([*lines[:2000], "b", *lines[2001:]])}
    text = shortened_diff(AskedChange(near, near), folder, SHOW)
    assert "@@ -1998,7 +1998,7 @@\n 1998\n 1999\n 2000\n-2001\n+b\n 2002" in text


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
