"""A plan does not rewrite what the worker trusts, under whatever name."""

import os
from pathlib import Path

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import FailureType
from coterie.activities.workspace.function_base import Workspace
from tests.support.tool_functions import call, files, refusal

PLACES = {
    "conf/real.yml": "the configuration itself",
    "config/teams/dev.yml": "a team",
    "agents/own.py": "an agent's class",
    "src/app.py": "the product",
    ".env": "KEY=1",
    "sub/coterie.yml": "of another project",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "project"
    for name, text in PLACES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "coterie.yml").symlink_to("conf/real.yml")
    (root / "alias").symlink_to("config")
    (root / "innocent.yml").symlink_to("config/teams/dev.yml")
    (root / "pip.cfg").symlink_to(".env")
    os.link(root / "agents" / "own.py", root / "src" / "twin.py")
    protected = (root / "coterie.yml", root / "config", root / "agents" / "own.py")
    return Workspace(root, protected=protected)


REFUSED = [
    "coterie.yml",
    "Coterie.YML",
    "sub/coterie.yml",
    "new/coterie.yml",
    "conf/real.yml",
    "co\u200dterie.yml",
    "\uff43oterie.yml",
    "config/teams/dev.yml",
    "config/teams/new.yml",
    "CONFIG/teams/new.yml",
    "alias/teams/new.yml",
    "innocent.yml",
    "system_config.yml",
    "deep/system_config.yml",
    "agents/own.py",
    "src/twin.py",
    ".env",
    ".ENV",
    ".env.local",
    "deep/.env",
    "pip.cfg",
    ".coterie/server.json",
    ".Coterie/server.json",
    "deep/.coterie/runs/x.json",
]


@pytest.mark.parametrize("path", REFUSED)
@pytest.mark.parametrize("type", ["create", "modify", "delete"])
async def test_a_change_of_what_the_worker_trusts_is_refused(
    workspace: Workspace, path: str, type: str
) -> None:
    before = files(workspace.root)
    change: dict[str, JsonValue] = {"file_path": path, "type": type}
    if type != "delete":
        change["content"] = "worker: {commands: {evil: {run: [sh]}}}\n"
    error = await refusal(workspace, "AssetManager.apply_changes", [change])
    assert error.type == FailureType.FUNCTION_REFUSED
    assert path.encode() in error.message.encode() or repr(path) in error.message
    assert files(workspace.root) == before


async def test_a_rename_of_what_the_worker_trusts_is_refused(workspace: Workspace) -> None:
    before = files(workspace.root)
    diff = (
        "diff --git a/src/app.py b/coterie.yml\nsimilarity index 100%\n"
        "rename from src/app.py\nrename to coterie.yml\n"
    )
    for path in ("src/app.py", "coterie.yml"):
        change: dict[str, JsonValue] = {"file_path": path, "type": "modify", "diff": diff}
        await refusal(workspace, "AssetManager.apply_changes", [change])
    assert files(workspace.root) == before


async def test_files_beside_a_protected_path_may_change(workspace: Workspace) -> None:
    changes: list[JsonValue] = [
        {"file_path": path, "type": "create", "content": "new"}
        for path in ("configuration/x.yml", "src/coterie.py", ".env.example", "agents/other.py")
    ]
    await call(workspace, "AssetManager.apply_changes", changes)
    assert (workspace.root / "agents" / "other.py").read_text() == "new"
