"""The text of a turn is seen while the model writes it, and the history has no event more."""

import asyncio
import json
from importlib import import_module
from pathlib import Path

from temporalio.client import Client, WorkflowHandle
from temporalio.testing import WorkflowEnvironment

from coterie.activities.providers.provider import ProviderSettings
from coterie.display.following.follower import Watch
from coterie.display.following.plain_view import PlainView
from coterie.runs.live_texts import POLL_SECONDS, TextFollower, TextPiece, live_answers
from coterie.runs.run_client import Run
from tests.support.engine import engine
from tests.support.servers.raw_server import raw_server
from tests.workflow.inspection.test_discovery_shown import Nobody

TEAM = """
llm_config:
  default_provider: scripted
  default_model: gpt-4
  personas:
    writer: {prompts: {user: "Write."}, stream: STREAM, retries: 1}
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - name: outer
          type: block
          steps: [{name: write, agent_type: generic_single_shot, persona_key: writer}]
"""
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def piece(text: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return f"data: {json.dumps({'model': 'gpt-4', 'choices': [choice]})}\n\n".encode()


async def event_types(handle: WorkflowHandle[object, object]) -> list[int]:
    history = await handle.fetch_history()
    return [event.event_type for event in history.events]


async def first_piece(run: Run) -> TextPiece:
    """Look until a model has written something."""
    follower = TextFollower()
    while True:
        for text in follower.pieces(await live_answers(await run.describe(), {})):
            return text
        await asyncio.sleep(POLL_SECONDS)


async def test_the_text_is_seen_before_the_turn_ends_and_costs_no_event(
    skipping_client: Client, tmp_path: Path
) -> None:
    """The model ends its answer once the beginning was seen: else the run would never end."""
    import_module("coterie.activities.providers.openai")  # which takes longer than some heartbeats
    env = WorkflowEnvironment.from_client(skipping_client)
    seen = asyncio.Event()
    plain = '{"choices": [{"finish_reason": "stop", "message": {"content": "Once upon"}}]}'
    whole = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + plain.encode()
    rest = piece(" upon", "stop") + b"data: [DONE]\n\n"
    async with raw_server(whole, HEAD + piece("Once"), rest=rest, after=seen) as server:
        provider = ProviderSettings("scripted", "openai", api_base=server.url, api_key="k")
        async with engine(env, tmp_path, [], provider=provider) as running:
            quiet = await running.start(TEAM.replace("STREAM", "false"))
            await quiet.result()
            handle = await running.start(TEAM.replace("STREAM", "true"))
            async with asyncio.timeout(120):
                text = await first_piece(Run(running.client, handle.id))
                assert (text.text, text.answer.step) == ("Once", "work/write")
                status = await Run(running.client, handle.id).status()
                assert list(status.calls.values()) == ["work/outer/write"]
                seen.set()
                result = await handle.result()
            events = await event_types(handle), await event_types(quiet)
    assert isinstance(result, dict)
    assert "Once upon" in json.dumps(result)
    assert events[0] == events[1]


async def test_a_second_attempt_is_watched_under_its_number(
    skipping_client: Client, tmp_path: Path
) -> None:
    """The first stream breaks off; the second ends once somebody has seen it."""
    import_module("coterie.activities.providers.openai")
    env = WorkflowEnvironment.from_client(skipping_client)
    seen = asyncio.Event()
    shown: list[str] = []

    def write(text: str) -> None:
        shown.append(text)
        if "second" in text:
            seen.set()

    broken, again = HEAD + piece("The first\x1b[2J"), HEAD + piece("The second")
    rest = piece(" try", "stop")
    async with raw_server(broken, again, rest=rest, after=seen) as server:
        provider = ProviderSettings("scripted", "openai", api_base=server.url, api_key="k")
        async with engine(env, tmp_path, [], provider=provider) as running:
            handle = await running.start(TEAM.replace("STREAM", "true"))
            view = PlainView("r1", lambda line: shown.append(f"{line}\n"), write_part=write)
            watch = Watch(Run(running.client, handle.id), view, Nobody())
            async with asyncio.timeout(120):
                assert (await watch.until_end()).completed
    text = "".join(shown)
    assert "      work/outer/write writes (attempt 2):\n      | The second" in text
    assert "\x1b" not in text
