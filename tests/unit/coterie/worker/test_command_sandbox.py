"""Which sandbox commands run in: as configured, and never silently without."""

import os
from pathlib import Path

import pytest

from coterie.activities.processes.bubblewrap import Bubblewrap, find_bubblewrap
from coterie.documents.catalog import Catalog
from coterie.documents.trusted_catalog import trusted_catalog
from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.errors import InvalidDocument
from coterie.failures import CommandError
from coterie.settings import Settings, load
from coterie.worker.command_sandbox import command_sandbox
from coterie.worker.surroundings import workspace_of

COMMANDS = "worker: {commands: {test: {run: [make], network: true}}, sandbox: SANDBOX}\n"


def configured(folder: Path, sandbox: str, **environment: str) -> tuple[TrustedConfig, Settings]:
    folder.mkdir(exist_ok=True)
    (folder / "coterie.yml").write_text(COMMANDS.replace("SANDBOX", sandbox))
    settings = load(environment, folder)
    return trusted_catalog(settings, Catalog(settings), None), settings


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A PATH whose bubblewrap the system forbids, and no other one."""
    program = tmp_path / "bin" / "bwrap"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1"
    )
    program.chmod(0o755)
    monkeypatch.setattr("coterie.activities.processes.bubblewrap._bundled_program", lambda: None)
    return str(program.parent)


def test_a_worker_that_needs_bubblewrap_refuses_to_start_without_it(
    tmp_path: Path, broken: str
) -> None:
    with pytest.raises(CommandError, match="No permissions to create new namespace"):
        command_sandbox(*configured(tmp_path / "project", "bubblewrap", PATH=broken))


def test_without_bubblewrap_auto_warns_once_and_none_is_silent(tmp_path: Path, broken: str) -> None:
    sandbox, warning = command_sandbox(*configured(tmp_path / "project", "auto", PATH=broken))
    assert sandbox is None
    assert warning is not None
    assert "commands run without a sandbox" in warning
    assert "No permissions to create new namespace" in warning
    assert "\n" not in warning
    assert command_sandbox(*configured(tmp_path / "project", "none", PATH=broken)) == (None, None)


def test_a_bubblewrap_on_path_comes_before_the_one_that_is_brought_along(tmp_path: Path) -> None:
    bundled = find_bubblewrap("/nowhere")
    if not isinstance(bundled, Bubblewrap):
        pytest.skip(f"bubblewrap does not work here: {bundled}")
    own = tmp_path / "bin" / "bwrap"
    own.parent.mkdir()
    own.symlink_to(bundled.program)
    path = os.pathsep.join((str(own.parent), os.defpath))
    sandbox, warning = command_sandbox(*configured(tmp_path / "project", "auto", PATH=path))
    assert (sandbox, warning) == (Bubblewrap(str(own)), None)


@pytest.mark.skipif(os.geteuid() != 0, reason="the settings of the kernel are root's")
def test_a_bubblewrap_that_leaves_the_settings_of_the_kernel_writable_is_not_used(
    tmp_path: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    bundled = find_bubblewrap("/nowhere")
    if not isinstance(bundled, Bubblewrap):
        pytest.skip(f"bubblewrap does not work here: {bundled}")
    monkeypatch.setattr("coterie.activities.processes.bubblewrap._bundled_program", lambda: None)
    Path(broken, "bwrap").write_text(
        '#!/bin/sh\nfor one; do shift; test "$one" = --remount-ro && one=--dir\n'
        f'set -- "$@" "$one"; done; exec {bundled.program} "$@"\n'
    )
    with pytest.raises(CommandError, match="it leaves the settings of the kernel writable"):
        command_sandbox(*configured(tmp_path / "project", "bubblewrap", PATH=f"{broken}:/bin"))
    sandbox, warning = command_sandbox(
        *configured(tmp_path / "other", "auto", PATH=f"{broken}:/usr/bin:/bin")
    )
    assert sandbox is None
    assert warning is not None
    assert "it leaves the settings of the kernel writable" in warning


def test_a_bubblewrap_in_the_workspace_is_not_used(tmp_path: Path) -> None:
    trap = tmp_path / ".venv" / "bin" / "bwrap"
    trap.parent.mkdir(parents=True)
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\necho works\n")
    trap.chmod(0o755)
    for path in (str(trap.parent), ".venv/bin", f"{tmp_path}/x/../.venv/bin"):
        command_sandbox(*configured(tmp_path, "auto", PATH=path))
    assert not (tmp_path / "ran").exists()


def test_a_mapping_gives_paths_and_limits(tmp_path: Path) -> None:
    said = "{mode: none, read: [data, ~/cache, /opt], max_cpu: 2m, max_memory_mb: 100}"
    trusted, settings = configured(tmp_path, said, HOME="/home/ann")
    workspace = workspace_of(trusted, settings)
    assert workspace.readable == (tmp_path / "data", Path("/home/ann/cache"), Path("/opt"))
    assert (workspace.limits.cpu, workspace.limits.memory) == (120, 100 << 20)
    assert workspace.commands["test"].network
    assert workspace.hidden == (tmp_path / ".coterie",)


@pytest.mark.parametrize("said", ["docker", "{mode: docker}", "{max_memory_mb: 1}", "{limit: 3}"])
def test_another_sandbox_is_a_problem_with_its_place(tmp_path: Path, said: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        configured(tmp_path, said)
    problem = caught.value.problems[0]
    assert (problem.file, problem.line) == ("coterie.yml", 1)
    assert problem.path.startswith("worker.sandbox")
