"""Listing and searching files: what git would see, within a budget, every gap counted."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import FailureType
from coterie.activities.workspace.function_base import Workspace
from tests.support.tool_functions import call, refusal


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "project"
    texts = {
        "README.md": "# Shop\nA cart.\n",
        "src/cart.py": "def total(items):\r\n    return sum(items)\r\n",
        "src/money.py": "TOTAL = 1\n" + "x" * 600 + "total\n",
        ".gitignore": "*.log\n",
        "debug.log": "total\n",
        ".env": "TOTAL=1\n",
        ".git/config": "total\n",
        "node_modules/a.js": "total\n",
    }
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())
    (root / "data.bin").write_bytes(b"total\0")
    return Workspace(root)


async def result(workspace: Workspace, function: str, **wanted: JsonValue) -> dict[str, JsonValue]:
    data = await call(workspace, function, wanted)
    assert isinstance(data, dict)
    return data


async def test_files_are_listed_as_git_sees_them_and_secrets_are_marked(
    workspace: Workspace,
) -> None:
    assert await result(workspace, "Files.list") == {
        "path": ".",
        "files": [
            {"path": ".env", "bytes": 8, "unreadable": "files of this name contain secrets"},
            {"path": ".gitignore", "bytes": 6, "unreadable": None},
            {"path": "README.md", "bytes": 15, "unreadable": None},
            {"path": "data.bin", "bytes": 6, "unreadable": None},
            {"path": "src/cart.py", "bytes": 42, "unreadable": None},
            {"path": "src/money.py", "bytes": 616, "unreadable": None},
        ],
        "total": 6,
        "complete": True,
    }
    assert await call(workspace, "Files.list") == await result(workspace, "Files.list")


async def test_a_long_list_is_bounded_and_counted(workspace: Workspace) -> None:
    found = await result(workspace, "Files.list", include=["*.py"], max_files=1)
    assert isinstance(found["files"], list)
    assert (len(found["files"]), found["total"], found["complete"]) == (1, 2, False)


async def test_matching_lines_are_found_with_their_places(workspace: Workspace) -> None:
    found = await result(
        workspace, "Files.search", pattern=r"\btotal\b", ignore_case=True, context_lines=1
    )
    assert found == {
        "matches": [
            {
                "path": "src/cart.py",
                "line": 1,
                "text": "def total(items):",
                "before": [],
                "after": ["    return sum(items)"],
            },
            {
                "path": "src/money.py",
                "line": 1,
                "text": "TOTAL = 1",
                "before": [],
                "after": ["x" * 500 + " [cut off: 105 more characters]"],
            },
        ],
        "searched_files": 4,
        "skipped_files": 2,
        "complete": True,
    }


async def test_anchors_hold_for_each_line_and_literals_are_no_expressions(
    workspace: Workspace,
) -> None:
    found = await result(workspace, "Files.search", pattern=r"^    return .*\)$")
    assert isinstance(found["matches"], list)
    assert len(found["matches"]) == 1
    found = await result(workspace, "Files.search", pattern="sum(items)", literal=True)
    assert isinstance(found["matches"], list)
    assert len(found["matches"]) == 1


async def test_more_matches_than_wanted_are_reported_as_incomplete(workspace: Workspace) -> None:
    found = await result(workspace, "Files.search", pattern="total", max_matches=1)
    assert isinstance(found["matches"], list)
    assert (len(found["matches"]), found["complete"]) == (1, False)


@pytest.mark.parametrize(
    ("wanted", "kind", "why"),
    [
        ({"pattern": "(a"}, FailureType.FUNCTION_REFUSED, "missing )"),
        ({"pattern": "(?=a)"}, FailureType.FUNCTION_REFUSED, "invalid in RE2 syntax"),
        ({"pattern": r"\pL{900}"}, FailureType.FUNCTION_REFUSED, "pattern too large"),
        ({"pattern": "a", "path": "../"}, FailureType.FUNCTION_REFUSED, "'..'"),
        ({"pattern": "a", "path": "absent"}, FailureType.FUNCTION_FAILED, "nothing exists"),
        ({"pattern": "a", "include": ["!"]}, FailureType.FUNCTION_REFUSED, "malformed glob"),
    ],
)
async def test_searches_that_cannot_work_are_refused(
    workspace: Workspace, wanted: JsonValue, kind: str, why: str
) -> None:
    error = await refusal(workspace, "Files.search", wanted)
    assert error.type == kind
    assert why in error.message


async def test_a_search_stops_at_its_budget_of_bytes(workspace: Workspace) -> None:
    line = "x" * 999 + "\n"
    for number in range(8):
        (workspace.root / f"big{number}.txt").write_text(line * 1_999)
    found = await result(workspace, "Files.search", pattern="nowhere")
    assert found["complete"] is True
    found = await result(workspace, "Files.search", pattern="nowhere|[0-9]{300}")
    assert found["complete"] is False
    (workspace.root / "larger.txt").write_text(line * 2_001)
    found = await result(workspace, "Files.search", pattern="x", path="larger.txt")
    assert (found["matches"], found["skipped_files"]) == ([], 1)
