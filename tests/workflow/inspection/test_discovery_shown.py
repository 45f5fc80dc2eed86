"""What discovery collects is shown with its size before a model has answered about it."""

import asyncio
import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from coterie.activities.providers.provider import ProviderSettings
from coterie.display.following.discovery_notes import DiscoveryNotes
from coterie.display.following.follower import Watch
from coterie.display.following.plain_view import PlainView
from coterie.dsl.model.sections.provider_document import ProviderSection
from coterie.runs.run_client import Run
from coterie.workflows.core.requests import Pending
from tests.support.engine import engine
from tests.support.servers.raw_server import http, raw_server

TEAM = """
llm_config:
  default_provider: scripted
  default_model: gpt-4
  personas:
    writer: {prompts: {user: "Sum up {{ input.files }}."}}
    reader:
      execution_plan:
        - {name: collect, skill: Discovery.collect, input: {include: ["*.txt"]},
           output_variable: project}
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - {name: look, agent_type: generic_orchestrating, persona_key: reader}
        - {name: write, agent_type: generic_single_shot, persona_key: writer,
           input: {files: "{{ tasks.look.data.project.files }}"}}
"""
ANSWER = http(json.dumps({"choices": [{"finish_reason": "stop", "message": {"content": "Short"}}]}))


class KeptLines(PlainView):
    """Plain lines, in one list; waits for no terminal."""

    def __init__(self, warned: asyncio.Event) -> None:
        self.lines: list[str] = []
        self._warned = warned
        super().__init__("r1", self.lines.append)

    def say(self, text: str) -> None:
        """Keep it; a warning is made known."""
        self.lines.append(text)
        if text.startswith("warning: "):
            self._warned.set()


class Nobody:
    """Nothing waits for a person here."""

    async def consider(self, pending: Sequence[Pending]) -> None:
        """Leave it."""

    async def close(self) -> None:
        """Nothing is held open."""


async def test_files_and_tokens_are_shown_and_warned_of_before_the_first_call_is_answered(
    skipping_client: Client, tmp_path: Path
) -> None:
    """The model answers once the warning stands in the view: else the run would never end."""
    import_module("coterie.activities.providers.openai")  # which takes longer than some heartbeats
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("word " * 2_000)
    env = WorkflowEnvironment.from_client(skipping_client)
    shown = asyncio.Event()
    view = KeptLines(shown)
    async with raw_server(ANSWER, once=shown) as server:
        provider = ProviderSettings(
            name="scripted", kind="openai", api_base=server.url, api_key="k"
        )
        async with engine(env, tmp_path, [], provider=provider) as running:
            handle = await running.start(TEAM)
            teller = DiscoveryNotes({"scripted": ProviderSection(kind="openai")})
            watch = Watch(Run(running.client, handle.id), view, Nobody(), teller)
            async with asyncio.timeout(120):
                end = await watch.until_end()
    assert end.completed
    lines = view.lines
    size, warning = (
        lines.index(line) for line in lines if line.startswith(("work/look/collect: ", "warning"))
    )
    assert lines[size].startswith("work/look/collect: 2 files, about 5,0")
    assert " of the context of scripted/gpt-4 (8,192 tokens)" in lines[warning]
    assert size < warning < next(n for n, line in enumerate(lines) if "write" in line)


async def test_discovery_is_shown_before_the_calls_that_follow(
    skipping_client: Client, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("word")
    env = WorkflowEnvironment.from_client(skipping_client)
    view = KeptLines(asyncio.Event())
    async with engine(env, tmp_path, [{"task": "write", "answer": "Short"}]) as running:
        handle = await running.start(TEAM)
        await handle.result()
        await Watch(Run(running.client, handle.id), view, Nobody()).until_end()
    found, written = (
        next(number for number, line in enumerate(view.lines) if words in line)
        for words in ("work/look/collect: 1 file", "✓ write")
    )
    assert found < written
