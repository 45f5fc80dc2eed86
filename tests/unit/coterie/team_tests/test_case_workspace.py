"""The workspace of a case, and the gate through which its calls go."""

import asyncio
from pathlib import Path
from typing import cast

import pytest
from temporalio.client import Client
from temporalio.worker import SlotPermit, SlotReleaseContext, SlotReserveContext

from coterie.failures import CommandError
from coterie.testing.case_runner import run_case
from coterie.testing.simulation.gate import Gate
from coterie.testing.simulation.stage import LEFT_BEHIND, furnish
from tests.support.team_tests import written


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


FILES = {"a.txt": "mine", "new/deep/b.txt": "né", "new/c.txt": "c"}


def test_a_case_without_a_source_has_its_own_files_alone(tmp_path: Path) -> None:
    for name, wanted in {"one": FILES, "two": {}}.items():
        furnish(tmp_path / name, None, wanted)
        assert (tmp_path / name).is_dir()
        assert files(tmp_path / name) == wanted


def test_a_case_has_a_copy_of_its_source_with_its_own_files(tmp_path: Path) -> None:
    source, folder = tmp_path / "source", tmp_path / "case"
    for name in ("a.txt", "src/d.txt", *(f"src/{left}/x" for left in LEFT_BEHIND)):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("theirs")
    furnish(folder, source, FILES)
    assert files(folder) == {"src/d.txt": "theirs", **FILES}
    assert (source / "a.txt").read_text() == "theirs"


def test_a_case_without_its_source_cannot_run(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="could not write the workspace of a test"):
        furnish(tmp_path / "case", tmp_path / "none", {})


COLLIDING = """
cases:
  - { name: one, files: { a: x, a/b: y } }
  - { name: two }
"""
TEAM = """
orchestration:
  entry_team: t
  teams: { t: { tasks: [{ name: s, type: set, values: { a: 1 } }], routing: { default: null } } }
"""


async def test_a_case_whose_files_collide_fails_alone_with_their_name(tmp_path: Path) -> None:
    file = written(tmp_path, TEAM, COLLIDING)
    nobody = cast("Client", None)  # no call is made
    result = await run_case(nobody, file, file.cases[0], limit=5)
    (found,) = result.differences
    assert found.subject == "run"
    assert found.message.startswith("could not write the file 'a/b' of a test")


async def test_a_gate_is_shut_once_every_admitted_call_has_ended() -> None:
    gate, ended = Gate(), SlotReleaseContext(None, SlotPermit())
    assert gate.shut
    for _ in range(2):
        gate.let_one_through()
    assert not gate.shut
    gate.release_slot(ended)
    assert not gate.shut
    gate.release_slot(ended)
    assert gate.shut


async def test_a_gate_lets_one_call_through_at_a_time() -> None:
    gate, asked = Gate(), cast("SlotReserveContext", None)  # which call it is does not matter
    calls = [asyncio.ensure_future(gate.reserve_slot(asked)) for _ in range(2)]
    for admitted in range(3):
        await asyncio.sleep(0)
        assert sum(call.done() for call in calls) == admitted
        gate.let_one_through()
        await asyncio.sleep(0)
    assert all(isinstance(call.result(), SlotPermit) for call in calls)
    assert gate.try_reserve_slot(asked) is None
