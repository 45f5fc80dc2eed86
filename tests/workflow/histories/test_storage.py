"""Large values lie outside of histories; what people read with the plain CLI stays inside."""

import shutil
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowHistory
from temporalio.converter import DataConverter
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.replay.replay import replay
from coterie.storage.histories import whole
from coterie.storage.large_values import directory_storage
from coterie.storage.wire import THRESHOLD
from coterie.workflows.core.messages import TeamInput
from tests.support.engine import Engine, engine, plan_of
from tests.support.runs import asked

LARGE = "An answer of many words. " * 4000  # 100 KB
TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: "Write about {{ context.topic }}."}}
    judge: {prompts: {user: "Judge {{ input }}."}}
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - {name: draft, agent_type: generic_single_shot, persona_key: writer}
        - {name: ask, agent_type: generic_single_shot, persona_key: judge,
           input: "{{ tasks.draft.data.text }}"}
        - {name: sure, type: approval, prompt: Sure?, show: "{{ tasks.draft.data.text }}"}
"""
ONE_STEP = (
    TEAM[: TEAM.index("        - {name: draft")]
    + """
        - {name: ask, agent_type: generic_single_shot, persona_key: writer}
"""
)
ANSWERS: list[Json] = [{"task": "draft", "answer": LARGE}, {"task": "ask", "answer": "fine"}]


def storing(env: WorkflowEnvironment, folder: Path) -> Client:
    """A client of the server that stores in a folder."""
    config = env.client.config()
    config["data_converter"] = directory_storage(folder).converter
    return Client(**config)


@pytest.fixture
async def here(env: WorkflowEnvironment, tmp_path: Path) -> AsyncGenerator[Engine]:
    client = storing(env, tmp_path / "blobs")
    async with engine(env, tmp_path, ANSWERS, client=client) as made:
        yield made


async def ended(here: Engine) -> Any:
    """A run that was shown something large, and has ended."""
    handle: Any = await here.start(TEAM, {"topic": "storage"})
    await asked(handle)
    await handle.execute_update("decide", {"id": "work/sure#1", "decision": "approve", "by": "ann"})
    await handle.result()
    return handle


def stored(folder: Path) -> list[int]:
    return [file.stat().st_size for file in folder.rglob("*") if file.is_file()]


def size(history: WorkflowHistory) -> int:
    return sum(event.ByteSize() for event in history.events)


async def test_a_large_answer_is_stored_once_and_a_history_holds_its_name(here: Engine) -> None:
    handle = await ended(here)
    history = await handle.fetch_history()
    references = [
        event
        for event in history.events
        if b"ExternalStorageReference" in event.SerializeToString()
    ]
    assert len(references) == 2, "the answer, and the request that it is part of"
    assert all(event.ByteSize() < 1000 for event in references)
    sizes = stored(here.folder / "blobs")
    assert len(sizes) == 2
    assert min(sizes) > THRESHOLD


async def test_result_and_questions_are_read_with_the_plain_client(
    here: Engine, env: WorkflowEnvironment
) -> None:
    """As with the `temporal` CLI: without a storage, nothing of these is a reference."""
    handle: Any = await here.start(TEAM, {"topic": "storage"})
    plain: Any = env.client.get_workflow_handle(handle.id)
    assert (await asked(plain))["cut"]
    assert (await plain.query("request", "work/sure#1"))["pending"]["show"] == LARGE
    answer = {"id": "work/sure#1", "decision": "approve", "by": "ann"}
    assert (await plain.execute_update("decide", answer))["verdict"] == "approved"
    result = await plain.result()
    assert result["output"]["draft"]["text"] == LARGE


async def test_a_run_started_without_a_storage_is_served_by_a_worker_with_one(
    here: Engine, env: WorkflowEnvironment
) -> None:
    given = TeamInput(plan=plan_of(ONE_STEP), context={"topic": LARGE})
    handle: Any = await env.client.start_workflow(
        "TeamWorkflow", given, id="plain-start", task_queue=here.queue
    )
    here.runs.append(handle)
    assert (await handle.result())["output"]["ask"] == {"text": "fine"}


async def test_a_history_replays_with_its_values_and_tells_in_a_sentence_when_they_are_gone(
    here: Engine,
) -> None:
    handle = await ended(here)
    written = (await handle.fetch_history()).to_json_dict()
    converter = directory_storage(here.folder / "blobs").converter

    def read() -> WorkflowHistory:
        return WorkflowHistory.from_json(handle.id, written)

    replayed = await replay(await whole(read(), converter))
    assert replayed.differences == ()
    assert replayed.end is not None
    shutil.rmtree(here.folder / "blobs")
    with pytest.raises(CommandError, match=r"could not read event .*: the value \w+ is not in the"):
        await whole(read(), converter)
    with pytest.raises(CommandError, match="no storage is configured here; set COTERIE_STORAGE"):
        await whole(read(), DataConverter())


async def test_a_storage_that_takes_nothing_holds_up_no_run(
    env: WorkflowEnvironment, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way of the folder")
    client = storing(env, tmp_path / "file" / "blobs")
    async with engine(env, tmp_path, ANSWERS, client=client) as here:
        handle = await ended(here)
        assert size(await handle.fetch_history()) > 2 * len(LARGE)
    assert "is full or cannot be written; a value of" in caplog.text


async def test_a_small_step_writes_the_same_bytes_with_and_without_a_storage(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    small: list[Json] = [{"task": "ask", "answer": "fine"}]
    sizes: list[int] = []
    for client in (None, storing(env, tmp_path / "blobs")):
        async with engine(env, tmp_path, small, client=client) as here:
            handle: Any = await here.start(ONE_STEP, {"topic": "storage"})
            await handle.result()
            events = (await handle.fetch_history()).events
            sizes.append(sum(event.ByteSize() for event in events[4:11]))
    # Times, task ids and durations take a few bytes more or less; a reference takes over a hundred.
    assert abs(sizes[0] - sizes[1]) < 32
    assert not (tmp_path / "blobs").exists()
