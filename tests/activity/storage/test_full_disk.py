"""A full disk is named, leaves nothing half written, and what failed may be done again."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest
from pydantic import JsonValue

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.contracts import AgentRequest, Conversation, FailureType
from coterie.activities.providers.message_model import ModelMessage
from coterie.activities.providers.provider import (
    Completion,
    ModelProvider,
    ModelRequest,
    TokenUsage,
)
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.scripted import ScriptedProvider
from coterie.activities.storage.blobs import BlobsUnusable, DirectoryBlobs
from coterie.activities.workspace.function_base import Command, Workspace
from coterie.activities.workspace.project_files import replace_file
from coterie.dsl.model.plan import Persona
from tests.support.full_disk import NAMED, PAGE, fill, fill_with_files, small_disk
from tests.support.tool_functions import call, refusal

BEFORE = {"a.txt": "a" * 6_000, "src/b.txt": "b" * 100}
AFTER = {"a.txt": "A" * 9_000, "src/b.txt": "B" * 9_000, "src/new/c.txt": "c" * 9_000}
SET: list[JsonValue] = [
    {"file_path": path, "type": "modify" if path in BEFORE else "create", "content": text}
    for path, text in AFTER.items()
]


@pytest.fixture
def disk(tmp_path: Path) -> Generator[Path]:
    """A small disk of its own."""
    with small_disk(tmp_path / "disk") as folder:
        yield folder


def project(disk: Path) -> Path:
    """A project on the disk."""
    root = disk / "project"
    for path, text in BEFORE.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def files(root: Path) -> dict[str, str]:
    """What lies in a project, but for what is the worker's own."""
    return {
        file.relative_to(root).as_posix(): file.read_text()
        for file in root.rglob("*")
        if file.is_file() and ".coterie" not in file.parts
    }


@pytest.mark.parametrize("pages", range(20))
async def test_changes_are_written_all_or_none_wherever_the_disk_gets_full(
    disk: Path, pages: int
) -> None:
    root = project(disk)
    filler = fill(disk, pages * PAGE)
    message = await refusal(Workspace(root), "AssetManager.apply_changes", SET)
    assert (message.type, message.non_retryable) == (FailureType.FUNCTION_FAILED, False)
    assert NAMED in message.message
    assert str(disk) not in message.message
    assert files(root) == BEFORE
    assert not (root / "src" / "new").exists()
    filler.unlink()
    await call(Workspace(root), "AssetManager.apply_changes", SET)
    assert files(root) == AFTER


async def test_a_file_that_does_not_fit_is_named_with_its_folder(disk: Path) -> None:
    root = project(disk)
    state = disk.parent / "state"  # of another disk, which has room
    fill(disk, PAGE)
    message = await refusal(
        Workspace(root, state_dir=state), "AssetManager.apply_changes", SET[1:2]
    )
    assert message.message == f"nothing was changed: src/b.txt cannot be written: {NAMED}"


def test_a_draft_that_does_not_fit_is_taken_away_again(disk: Path) -> None:
    fill(disk, 2 * PAGE)
    with pytest.raises(OSError, match="No space left"):
        replace_file(disk, "new/file.txt", b"x" * 5 * PAGE, ".draft")
    assert list((disk / "new").iterdir()) == []


async def test_the_workers_own_folder_is_named_when_it_takes_no_file(disk: Path) -> None:
    root = project(disk)
    fill_with_files(disk)
    message = await refusal(Workspace(root), "AssetManager.apply_changes", SET)
    assert message.message == (
        f"AssetManager.apply_changes hit a system error: {NAMED}: '.coterie'"
    )
    assert not message.non_retryable


async def test_a_command_that_cannot_be_kept_alone_may_be_tried_again(disk: Path) -> None:
    root = project(disk)
    (root / ".coterie" / "calls").mkdir(parents=True)
    fill_with_files(disk)
    once = Command("ship", ("true",), once=True)
    workspace = Workspace(root, commands={"ship": once})
    message = await refusal(workspace, "CommandRunner.run_once", {"command": "ship"})
    assert message.message == (
        f"could not write the lock that serialises commands, in 'calls': {NAMED}"
    )
    assert (message.type, message.non_retryable) == (FailureType.FUNCTION_FAILED, False)


@pytest.mark.parametrize("pages", [0, 2])
async def test_a_value_is_stored_whole_or_not_at_all(disk: Path, pages: int) -> None:
    blobs = DirectoryBlobs(disk / "blobs")
    (disk / "blobs").mkdir()
    filler = fill(disk, pages * PAGE)
    data = b"x" * 5 * PAGE
    assert not blobs.takes(len(data))
    with pytest.raises(BlobsUnusable) as unusable:
        await blobs.put(data, "")
    assert str(unusable.value) == f"the storage folder 'blobs' cannot be written: {NAMED}"
    assert [file for file in (disk / "blobs").rglob("*") if file.is_file()] == []
    filler.unlink()
    assert await blobs.get(await blobs.put(data, ""), "") == data


class Answers:
    """A model, and where it is found."""

    async def complete(self, request: ModelRequest) -> Completion:
        """An answer of two pages."""
        return Completion.of(
            text="x" * 2 * PAGE, stop_reason="end", model="m", usage=TokenUsage(input_tokens=7)
        )

    async def close(self) -> None:
        """Nothing is held open."""

    def get(self, name: str) -> ModelProvider:
        """This one."""
        return self


async def test_a_conversation_that_cannot_be_kept_is_a_failure_that_tells_what_was_used(
    disk: Path,
) -> None:
    (disk / "blobs").mkdir()
    fill(disk)
    request = AgentRequest(
        task="talk",
        team="t",
        visit=1,
        inputs={},
        persona=Persona(provider="p", model="m", prompts={"user": "Well?"}),
        conversation=Conversation(head=None),
    )
    agents = AgentActivities(Answers(), blobs=DirectoryBlobs(disk / "blobs"))
    response = await agents.run_agent(request)
    assert response.error is not None
    assert response.error.type == FailureType.STORAGE_UNUSABLE
    assert response.error.message == (
        "task 'talk': could not store the model's answer: "
        f"the storage folder 'blobs' cannot be written: {NAMED}"
    )
    assert response.usage is not None


def question() -> ModelRequest:
    return ModelRequest(
        model="m", messages=(ModelMessage.of("user", "Well?"),), label="t/a#1.0", call="run/1"
    )


async def test_a_log_of_scripted_answers_has_whole_lines_only(disk: Path, tmp_path: Path) -> None:
    script = tmp_path / "answers.yml"
    script.write_text("answers:\n  - {task: a, answer: Yes}\n")
    log = disk / "model" / "calls.jsonl"
    log.parent.mkdir()
    line = json.dumps({"event": "asked"}) + "\n"
    before = (line * (PAGE // len(line)))[: PAGE // len(line) * len(line)]
    log.write_text(before)
    filler = fill(disk)
    provider = ScriptedProvider(script, log)
    with pytest.raises(ProviderFailure) as failed:
        await provider.complete(question())
    assert failed.value.message == (
        f"could not write the log 'model/calls.jsonl' of scripted answers: {NAMED}"
    )
    assert failed.value.retryable
    assert log.read_text() == before
    filler.unlink()
    assert (await provider.complete(question())).text == "Yes"
    assert len(log.read_text().splitlines()) == len(before.splitlines()) + 2
