"""A fork continues the conversations of the run that it was forked from, also in a bucket."""

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.settings import load
from coterie.storage.bucket import bucket_storage
from coterie.testing.simulation.case_server import time_skipping_server
from tests.support.engine import engine
from tests.support.runs import scheduled
from tests.support.servers.bucket_server import bucket_server

Handle = Any
TALK = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas: { poet: { prompts: { user: "{{ input.say }}" } } }
orchestration:
  entry_team: first
  teams:
    first:
      tasks: [{ name: begin, persona_key: poet, conversation: talk, input: { say: A word } }]
      routing: { default: second }
    second:
      tasks: [{ name: go_on, persona_key: poet, conversation: talk, input: { say: Another } }]
"""
ANSWERS: list[Json] = [
    {"task": "begin", "answer": "rain"},
    {"task": "go_on", "contains": "Another", "answer": "sun"},
]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    with bucket_server() as bucket:
        monkeypatch.setenv("AWS_ENDPOINT_URL", bucket.address)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        yield bucket.objects


@pytest.fixture(scope="module")
async def server() -> AsyncGenerator[Client]:
    async with time_skipping_server(load()) as client:
        yield client


async def test_a_fork_of_a_fork_reads_what_the_first_run_stored_and_keeps_it_as_its_own(
    server: Client, tmp_path: Path, bucket: dict[str, bytes]
) -> None:
    blobs = bucket_storage("s3://team").blobs
    assert blobs is not None
    env, started = WorkflowEnvironment.from_client(server), list[Handle]()
    for at in (None, "second#1", "second#1"):
        async with engine(env, tmp_path, ANSWERS, blobs=blobs) as worker:  # it has read nothing
            fork = {"fork": {"run": started[-1].id, "at": at}} if started else None
            handle: Handle = await (worker.start(TALK) if fork is None else worker.start_raw(fork))
            started.append(handle)
            assert (await handle.result())["output"] == {"go_on": {"text": "sun"}}
    await blobs.close()
    last = [(await scheduled(handle))[-1]["input"] for handle in started]
    first, second, _ = (handle.id for handle in started)
    assert [one.get("origins") for one in last] == [None, [first], [second, first]]
    turns = {path.rpartition("/")[2] for path in bucket}
    kept = {path.rpartition("/")[0] for path in bucket}
    assert (len(turns), len(kept), len(bucket)) == (2, 3, 6), "each run has both turns"
