"""`kill -9` around a model turn that its provider answers as a batch: submitted once, paid once."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from coterie.dsl.values import Json
from coterie.runs.new_runs import start_run
from coterie.workflows.core.messages import TeamInput
from tests.support.compiling import plan_of
from tests.support.programs.command_server import Running
from tests.support.project import Project, project, until
from tests.support.servers.batch_server import BatchServer, batch_server

RUN = "patient"
TEAM = """
llm_config:
  default_provider: openai
  default_model: m-1
  personas: { reader: { batch: true, prompts: { user: "Sum up." } } }
orchestration:
  entry_team: only
  teams: { only: { tasks: [{ name: sum_up, persona_key: reader }] } }
"""
ANSWER: Json = {
    "model": "m-1",
    "status": "completed",
    "output": [{"type": "message", "content": [{"type": "output_text", "text": "rain"}]}],
    "usage": {"input_tokens": 12, "output_tokens": 3},
}
PATIENCE = 90.0


async def when(ready: Callable[[], object], what: str) -> None:
    """Wait until it is so, while the batch server goes on serving."""
    await asyncio.to_thread(until, ready, what, PATIENCE)


class Held:
    """Requests of one kind that are done, and whose answer does not arrive."""

    def __init__(self, server: BatchServer, request: str) -> None:
        self._server, self._request = server, request
        server.held[request] = asyncio.Event()

    async def kill(self, shop: Project, worker: Running) -> Any:
        """Kill the worker that waits for the first such answer; return the next worker."""
        await when(lambda: self._request in self._server.asked, self._request)
        worker.kill()
        worker.wait()
        self._server.held.pop(self._request).set()
        return shop.begin("worker")


@pytest.mark.timeout(240)
async def test_a_batch_is_submitted_once_and_its_answer_counted_once(tmp_path: Path) -> None:
    async with batch_server() as server:
        with project(tmp_path / "shop", {"OPENAI_API_KEY": "of-the-stand-in"}) as shop:
            provider = {"api": "responses", "api_base": server.url, "default_model": "m-1"}
            shop.configure(llm_config={"providers": {"openai": provider}})
            submitting = Held(server, "POST batches")
            collecting = Held(server, "GET content")
            assert shop.coterie("server").returncode == 0
            worker = shop.begin("worker")
            given = TeamInput(plan=plan_of(TEAM))
            run = await start_run(
                await shop.client(), RUN, given, task_queue="coterie", summary=RUN
            )
            worker = await submitting.kill(shop, worker)
            await when(lambda: server.asked.count("GET batches") == 2, "another attempt")
            server.end("completed", {"status_code": 200, "body": ANSWER})
            before = shop.server["pid"]
            shop.kill_server()
            await when(lambda: shop.server["pid"] != before, "another server")
            await collecting.kill(shop, worker)
            handle = (await shop.client()).get_workflow_handle(run.id)
            result = cast("Json", await asyncio.wait_for(handle.result(), PATIENCE))
    assert result["output"] == {"sum_up": {"text": "rain"}}
    assert result["model_calls"] == 1
    assert result["usage"] == {"input_tokens": 12, "output_tokens": 3}
    assert server.asked.count("POST batches") == 1
    assert server.asked.count("GET content") == 2
