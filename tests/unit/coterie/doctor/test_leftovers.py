"""What Coterie leaves in a project: listed whole, no link followed, deleted when nothing works."""

import fcntl
import re
from pathlib import Path

import pytest

from coterie.activities.tool_functions.command_runner import ASIDE
from coterie.activities.tool_functions.knowledge.memory.opened_memory import MEMORY_FILE
from coterie.activities.tool_functions.knowledge.result_cache import CACHE_FOLDER
from coterie.activities.tool_functions.knowledge.stores import INDEX_FILE
from coterie.doctor.leftovers import delete_state, leftovers_of, what_is
from coterie.failures import CommandError
from coterie.gateway.identity.console_address import HOST_FILE
from coterie.mcp_server.http_protocol import TOKEN_FILE
from coterie.settings import Settings, load
from coterie.worker.sign_in_files import ORIGIN_FILE
from tests.law.sources import ROOMS, modules

UNKNOWN = what_is("from-elsewhere")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / ".coterie").mkdir()
    return load({}, tmp_path)


def test_every_name_that_the_code_writes_is_explained() -> None:
    places = re.compile(r'(?:\.state|state_dir|state_folder\(\w+\)) / "([^"]+)"')
    written = {
        name
        for room in ROOMS
        for _, file in modules(room)
        for name in places.findall(file.read_text())
    }
    constants = (ASIDE, MEMORY_FILE, INDEX_FILE, HOST_FILE, TOKEN_FILE, ORIGIN_FILE, CACHE_FOLDER)
    written |= {Path(constant).parts[-1 if constant == ASIDE else 0] for constant in constants}
    assert {"runs", "mcp", "calls", "backups", "changes.lock", "open.html"} <= written
    assert [name for name in sorted(written) if what_is(name) == UNKNOWN] == []


@pytest.mark.parametrize("name", ["temporal.db-wal", "temporal-of-1.31.2-2", "bug-2026.log"])
def test_names_with_a_changing_part_are_explained(name: str) -> None:
    assert what_is(name) != UNKNOWN


def test_the_list_has_every_entry_with_its_size_and_follows_no_link(settings: Settings) -> None:
    outside = settings.project / "outside"
    outside.mkdir()
    (outside / "large").write_bytes(bytes(5000))
    (settings.state / "blobs" / "ab").mkdir(parents=True)
    (settings.state / "blobs" / "ab" / "value").write_bytes(bytes(70))
    (settings.state / "odd").symlink_to(outside)
    found = {entry.name: entry for entry in leftovers_of(settings).entries}
    assert found.keys() == {"blobs", "odd"}
    assert (found["blobs"].files, found["blobs"].bytes) == (1, 70)
    assert (found["odd"].what, found["odd"].files) == (UNKNOWN, 1)
    assert found["odd"].bytes < 1000


def test_a_project_without_runs_has_nothing(tmp_path: Path) -> None:
    found = leftovers_of(load({}, tmp_path))
    assert (found.entries, found.server_pid, found.calls) == ((), None, ())
    assert delete_state(load({}, tmp_path)) is False


def test_deleting_takes_the_folder_and_nothing_that_its_links_lead_to(settings: Settings) -> None:
    outside = settings.project / "outside"
    outside.mkdir()
    (outside / "mine").write_text("kept")
    (settings.state / "link").symlink_to(outside)
    assert delete_state(settings) is True
    assert not settings.state.exists()
    assert (outside / "mine").read_text() == "kept"


def test_a_state_folder_that_is_a_link_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".coterie").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CommandError, match="is a link"):
        delete_state(load({}, tmp_path))
    assert (tmp_path / "elsewhere").is_dir()


def test_nothing_is_deleted_while_a_long_call_is_at_work(settings: Settings) -> None:
    for id in ("busy", "ended"):
        (settings.state / "jobs" / id).mkdir(parents=True)
        (settings.state / "jobs" / id / "lock").touch()
    with (settings.state / "jobs" / "busy" / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert leftovers_of(settings).calls == ("busy",)
        with pytest.raises(CommandError, match="1 long calls are at work"):
            delete_state(settings)
    assert (settings.state / "jobs" / "busy" / "lock").exists()
    assert delete_state(settings) is True
