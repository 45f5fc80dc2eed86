"""Images and documents: a model sees them, and a history has only their names."""

import json
import re
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from tests.support.engine import Engine, engine, plan_of
from tests.support.servers.asking import APIS, settings
from tests.support.servers.checking_proxy import checking_proxy
from tests.support.servers.model_server import ModelServer

PNG = b"\x89PNG\r\n\x1a\n" + bytes(500_000)
PDF = b"%PDF-1.7\n" + bytes(1_000)
TEAM = """
tools:
  view: {skill: Files.view, description: Shows a file.}
llm_config:
  personas:
    actor:
      provider: scripted
      model: m
      tools: [view]
      prompts: {user: "Look at {{ input }}."}
    judge:
      provider: scripted
      model: m
      prompts: {user: "Compare {{ input.pictures }}."}
orchestration:
  entry_team: work
  context: {path: {type: string, default: a.png}, verdict: {type: string, default: ""}}
  output: {verdict: "{{ context.verdict }}"}
  teams:
    work:
      tasks:
        - {name: load, type: tool, tool: view, arguments: {path: "{{ context.path }}"}}
        - {name: act, persona_key: actor, input: b.pdf}
        - name: judge
          persona_key: judge
          input: {pictures: ["{{ tasks.load.data }}"]}
          context_updates: {verdict: "{{ data.text }}"}
"""


def play(server: ModelServer) -> None:
    """The actor views the document, and answers; the judge answers."""
    call: Json = {"id": "call_1", "name": "view", "arguments": {"path": "b.pdf"}}
    server.add({"match": {"toolCallId": "call_1"}, "response": {"content": "A page."}})
    server.answer("A page.", user="From the result of call_1")  # as Chat Completions shows it
    server.answer("A cat.", user="Compare")
    server.add({"match": {"hasToolResult": False}, "response": {"toolCalls": [call]}})


@pytest.mark.parametrize("api", APIS)
async def test_models_see_pictures_whose_names_are_all_that_the_history_has(
    api: str, env: WorkflowEnvironment, tmp_path: Path, model_server: ModelServer
) -> None:
    play(model_server)
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "b.pdf").write_bytes(PDF)
    async with checking_proxy(model_server.url) as proxy:
        provider = replace(settings(api, proxy.url + APIS[api].base), name="scripted")
        async with engine(env, tmp_path, [], provider=provider) as running:
            text = await history_of(running)
            bodies, repeated = [*proxy.bodies], [*proxy.repeated]
            (tmp_path / "a.png").write_bytes(PNG[:100])
            assert abs(len(text) - len(await history_of(running))) <= 200
    assert proxy.faults == []
    assert list(map(shown, bodies)) == [set(), {"application/pdf"}, {"image/png"}]
    assert repeated == [0, 1, 0]
    assert "A" * 200 not in text  # the bytes are zeros
    for content in (PNG, PDF):
        name = sha256(content).hexdigest()
        assert 1 <= text.count(name) <= 2
        assert text.count(name) * len(f'{{\\"stored_media\\":\\"{name}\\"}}') <= 200


async def history_of(running: Engine) -> str:
    """Run the team, and return its history as text."""
    handle: Any = await running.start(plan_of(TEAM))
    assert (await handle.result())["output"] == {"verdict": "A cat."}
    history = await handle.fetch_history()
    return b"".join(event.SerializeToString() for event in history.events).decode("latin-1")


def shown(body: Any) -> set[str]:
    """The media types in a request, each with its bytes."""
    text = json.dumps(body.get("input") or body["messages"])
    found = re.findall(r'"media_type": "([a-z/]+)", "data": "[\w+/=]+"', text)
    found += re.findall(r"data:([a-z/]+);base64,[\w+/=]+", text)
    return set(found)
