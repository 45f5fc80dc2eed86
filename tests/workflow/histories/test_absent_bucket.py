"""What an agent has answered is paid for once, although the bucket of its worker is away."""

import logging
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from coterie.activities.storage import absences
from coterie.settings import load
from coterie.storage.bucket import bucket_storage
from coterie.testing.simulation.case_server import time_skipping_server
from tests.support.engine import engine
from tests.support.servers.bucket_server import StandInBucket, bucket_server

ANSWER = "rain" * 10_000
TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas: { poet: { prompts: { user: "Say it." } } }
orchestration:
  entry_team: first
  teams: { first: { tasks: [{ name: say, persona_key: poetEXTRA }] } }
"""


class Returning(logging.Handler):
    """Brings the bucket back once it was found away a few times."""

    def __init__(self, bucket: StandInBucket) -> None:
        super().__init__()
        self.bucket = bucket
        self.seen = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.seen += 1
        self.bucket.away = self.seen < 3


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> Iterator[Returning]:
    log = logging.getLogger(absences.__name__)
    with bucket_server() as bucket:
        monkeypatch.setenv("AWS_ENDPOINT_URL", bucket.address)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        bucket.away = True
        returning = Returning(bucket)
        log.addHandler(returning)
        yield returning
        log.removeHandler(returning)


@pytest.fixture(scope="module")
async def server() -> AsyncGenerator[Client]:
    async with time_skipping_server(load()) as client:
        yield client


@pytest.mark.parametrize("extra", ["", ", conversation: talk"], ids=["its answer", "its turn"])
async def test_an_agent_whose_worker_finds_its_bucket_away_answers_in_its_first_attempt(
    server: Client, tmp_path: Path, away: Returning, extra: str
) -> None:
    storage = bucket_storage("s3://team")
    assert storage.blobs is not None
    config = server.config()
    config["data_converter"] = storage.converter
    env = WorkflowEnvironment.from_client(Client(**config))
    answers = [{"task": "say", "answer": ANSWER}]
    async with engine(env, tmp_path, answers, blobs=storage.blobs) as worker:
        handle = await worker.start(TEAM.replace("EXTRA", extra))
        result: Any = await handle.result()
        events = [one async for one in handle.fetch_history_events()]
    await storage.blobs.close()
    assert result["output"] == {"say": {"text": ANSWER}}
    begun = [one.activity_task_started_event_attributes for one in events]
    assert [one.attempt for one in begun if one.attempt] == [1]
    assert away.seen == 3
    assert away.bucket.objects
