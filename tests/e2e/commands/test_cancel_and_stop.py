"""A run is cancelled from the command line; to stop a worker is not that."""

import json
import signal
import time
from pathlib import Path

import pytest

from tests.support.project import Project, project, until
from tests.support.servers.model_server import ModelServer

TEAM = """
llm_config:
  personas: {p: {provider: openai, model: stand-in, retries: 0, prompts: {user: hello}}}
orchestration:
  entry_team: first
  on_cancel: tidy
  teams:
    first:
      tasks:
        - {name: before, type: set, values: {n: 1}}
        - {name: say, agent_type: generic_single_shot, persona_key: p}
    tidy:
      tasks: [{name: swept, type: set, values: {n: 1}}]
"""


def configured(shop: Project, server: ModelServer) -> None:
    (shop.folder / "team.yml").write_text(TEAM)
    provider = {"api_base": server.openai_url, "default_model": "stand-in"}
    shop.configure(llm_config={"default_provider": "openai", "providers": {"openai": provider}})
    assert shop.coterie("server").returncode == 0


def asked(server: ModelServer) -> int:
    return len(server.requests())


@pytest.mark.timeout(240)
def test_a_cancelled_run_tells_what_it_came_to_and_a_stopped_worker_cancels_nothing(
    tmp_path: Path,
) -> None:
    server = ModelServer.start(tmp_path)
    server.answer("done")
    with project(tmp_path / "shop", {"OPENAI_API_KEY": "of-the-stand-in"}) as shop:
        configured(shop, server)
        server.chaos(latencyMs=30_000)
        first = shop.begin("worker", "--grace", "500ms")
        assert shop.coterie("start", "team.yml", "--id", "moved").returncode == 0
        until(lambda: _pending(shop, "moved"), "the call")
        server.chaos(latencyMs=0)
        first.send_signal(signal.SIGTERM)
        assert first.wait(timeout=25) == 0
        shop.begin("worker")
        moved = shop.coterie("result", "moved")
        assert moved.returncode == 0, moved.stdout + moved.stderr
        assert "first 1" in moved.stdout
        assert "tidy" not in moved.stdout
        spent = json.loads(shop.coterie("cost", "moved", "--json").stdout)
        assert spent["total"]["calls"] == 1
        assert spent["total"]["seconds"] >= 0.5, "the time of the call that was cut off is counted"

        server.chaos(latencyMs=30_000)
        assert shop.coterie("start", "team.yml", "--id", "stopped").returncode == 0
        until(lambda: _pending(shop, "stopped"), "the call")
        began = time.monotonic()
        done = shop.coterie("cancel", "stopped", "--by", "ann", "--why", "no time")
        assert time.monotonic() - began < 25  # two commands start; the run ends at once
        assert done.returncode == 0, done.stderr
        assert "stopped: cancelled by ann: no time" in done.stdout
        assert "first 1, tidy 1" in done.stdout
        again = shop.coterie("cancel", "stopped")
        assert (again.returncode, "has already ended; see `coterie result" in again.stderr) == (
            1,
            True,
        )
        result = shop.coterie("result", "stopped", "--json")
        assert '"end": "cancelled"' in result.stdout
        assert "stopped: cancelled by ann: no time" in shop.coterie("status", "stopped").stdout
        assert '"cancelled by ann: no time"' in shop.temporal(
            "workflow", "query", "-w", "stopped", "--type", "result", "-o", "json"
        )
    server.stop()


def _pending(shop: Project, run: str) -> str | None:
    """What is described of a run with a call in progress."""
    shown = shop.temporal("workflow", "describe", "-w", run)
    return shown if "Pending Activities: 1" in shown and "Started" in shown else None
