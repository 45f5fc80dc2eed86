"""Files are reached by handles: a swapped link leads nowhere, and nobody else reads our folder."""

import os
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from coterie.activities.changes.change import Change
from coterie.activities.changes.change_writer import write
from coterie.activities.changes.file_edits import plan_edits
from coterie.activities.tool_functions.asset_manager import apply_set
from coterie.activities.tool_functions.discovery import DiscoveryInput, collect
from coterie.activities.workspace.function_base import FunctionContext, Workspace
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.activities.workspace.project_files import read_file, remove_file, replace_file
from coterie.activities.workspace.secret_files import holds_secrets
from coterie.logs import PrivateLogFile
from coterie.settings import load, state_folder
from coterie.storage.large_values import storage_of

ROUNDS = 400


SWAP = """
import os, sys
folder, outside = sys.argv[1:]
print("ready", flush=True)
while True:
    os.rename(folder, folder + "-kept")
    os.symlink(outside, folder)
    os.unlink(folder)
    os.rename(folder + "-kept", folder)
"""


@contextmanager
def swapping(folder: Path, outside: Path) -> Generator[None]:
    """A folder is by turns itself and a link to a place outside, as fast as another process can."""
    command = [sys.executable, "-c", SWAP, str(folder), str(outside)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "src").mkdir(parents=True)
    outside.mkdir()
    (root / "src" / "a.txt").write_text("ours")
    (outside / "a.txt").write_text("secret")
    return root.resolve(), outside


def test_a_swapped_folder_leads_no_read_and_no_write_outside(places: tuple[Path, Path]) -> None:
    root, outside = places
    done = refused = 0
    with swapping(root / "src", outside):
        for number in range(ROUNDS):
            try:
                assert read_file(root, "src/a.txt") == b"ours"
                replace_file(root, "src/a.txt", b"ours", f"draft{number}")
                remove_file(root, "src/none.txt")
                done += 1
            except OSError:
                refused += 1
    assert (outside / "a.txt").read_text() == "secret"
    assert os.listdir(outside) == ["a.txt"]
    assert done + refused == ROUNDS


def test_a_swapped_folder_leads_no_change_of_a_function_outside(places: tuple[Path, Path]) -> None:
    root, outside = places
    workspace = Workspace(root)
    with swapping(root / "src", outside):
        for number in range(40):
            change = Change(file_path="src/a.txt", type="modify", content=f"new {number}")
            try:
                apply_set(workspace, [change], f"call-{number}")
            except (FunctionFailure, FunctionRefusal, OSError):
                continue
    assert (outside / "a.txt").read_text() == "secret"
    assert os.listdir(outside) == ["a.txt"]


async def test_a_swapped_folder_shows_discovery_nothing_outside(places: tuple[Path, Path]) -> None:
    root, outside = places
    context = FunctionContext(Workspace(root), key="call")
    with swapping(root / "src", outside):
        for _ in range(60):
            found = await collect(DiscoveryInput(), context)
            assert all(file.content == "ours" for file in found.files)


def test_a_folder_that_is_swapped_after_the_check_is_refused(places: tuple[Path, Path]) -> None:
    root, outside = places
    (outside / "a.txt").write_text("ours")
    workspace = Workspace(root)
    change = Change(file_path="src/a.txt", type="modify", content="new")
    edits = plan_edits(workspace, [change])
    (root / "src").rename(root / "kept")
    (root / "src").symlink_to(outside)
    with pytest.raises(FunctionFailure):
        write(workspace, edits, (), "digest-of-the-set", "call")
    assert (outside / "a.txt").read_text() == "ours"
    assert os.listdir(outside) == ["a.txt"]


@pytest.mark.parametrize(("maximum", "content"), [(None, b"ours"), (3, b"our"), (9, b"ours")])
def test_a_file_is_read_up_to_a_size(
    maximum: int | None, content: bytes, places: tuple[Path, Path]
) -> None:
    root, _ = places
    assert read_file(root, "src/a.txt", maximum) == content


def test_a_link_in_place_of_a_file_is_not_followed(places: tuple[Path, Path]) -> None:
    root, outside = places
    (root / "link.txt").symlink_to(outside / "a.txt")
    with pytest.raises(OSError, match="symbolic links"):
        read_file(root, "link.txt")
    replace_file(root, "link.txt", b"new", "draft")
    assert (outside / "a.txt").read_text() == "secret"
    assert not (root / "link.txt").is_symlink()


async def test_a_fifo_is_named_and_holds_nobody_up(places: tuple[Path, Path]) -> None:
    root, _ = places
    os.mkfifo(root / "pipe")
    os.mkfifo(root / "src" / ".gitignore")
    context = FunctionContext(Workspace(root), key="call")
    for path in (".", "pipe"):
        found = await collect(DiscoveryInput(path=path), context)
        why = {one.path: one.why for one in found.left_out}
        assert why["pipe"] == "not a regular file"
        assert "pipe: 0 bytes, left out: not a regular file" in found.manifest


SECRET = [
    ".env",
    ".env.local",
    "prod.ENV",
    "tls/server.key",
    "ca.pem",
    "id_rsa",
    ".ssh/config",
    ".npmrc",
    "secrets.yml",
    "infra/main.tfstate",
]
HARMLESS = [".env.example", "id_ed25519.pub", "key.py", "environment.md", "secrets.py", "keys.txt"]


async def test_files_that_hold_secrets_are_named_and_not_shown(places: tuple[Path, Path]) -> None:
    root, _ = places
    for name in (*SECRET, *HARMLESS):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("KEY=sk-very-secret")
    (root / ".gitignore").write_text(".env\n")
    context = FunctionContext(Workspace(root), key="call")
    for path in (".", *SECRET):
        found = await collect(DiscoveryInput(path=path), context)
        left = {one.path for one in found.left_out if "contain secrets" in one.why}
        assert left == (set(SECRET) if path == "." else {path})
        assert not left & {file.path for file in found.files}
    assert not any(holds_secrets(name) for name in HARMLESS)


def test_the_state_folder_is_its_owners_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = os.umask(0o022)
    try:
        monkeypatch.chdir(tmp_path)
        (tmp_path / ".coterie").mkdir(mode=0o755)
        settings = load()
        folder = state_folder(settings)
        PrivateLogFile(folder / "coterie.log").close()
        workspace = Workspace(tmp_path)
        apply_set(workspace, [Change(file_path="a.txt", type="create", content="x")], "call")
    finally:
        os.umask(old)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = [one for one in folder.rglob("*") if one.is_file()]
    assert {stat.S_IMODE(one.stat().st_mode) for one in files} == {0o600}
    assert len(files) >= 4
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o644, "the project's own"


async def test_a_stored_value_in_the_state_folder_is_its_owners_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blobs = storage_of(load()).blobs
    assert blobs is not None
    name = await blobs.put(b"said", "run")
    stored = tmp_path / ".coterie" / "blobs" / name[:2] / name
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600


def test_a_change_of_a_folder_is_on_the_disk_before_it_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, list[str]]] = []

    def sync(file: int) -> None:
        path = Path(f"/proc/self/fd/{file}").readlink()
        if path.is_dir():
            seen.append((path.name, sorted(one.name for one in path.iterdir())))

    (tmp_path / "src").mkdir()
    monkeypatch.setattr(os, "fsync", sync)
    replace_file(tmp_path, "src/a.txt", b"a", "draft")
    remove_file(tmp_path, "src/a.txt")
    assert seen == [("src", ["a.txt"]), ("src", [])]
