"""`coterie show` tells each attempt and each re-ask of a call, out of the run's own history."""

import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from coterie.activities.contracts import AgentRequest
from coterie.activities.providers.provider import ProviderSettings
from coterie.inspection.trace import traced
from coterie.inspection.why_text import json_text, run_text, visits_text
from coterie.rendering.calls_text import call_data, calls_text
from coterie.runs.histories.recorded_calls import in_visits, recorded_calls
from coterie.settings import load
from tests.support.engine import engine, trail
from tests.support.runs import failure
from tests.support.servers.raw_server import http, raw_server

TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer:
      retries: RETRIES
      max_reasks: 1
      prompts: {user: "Name {{ input.what }}."}
      output_schema: {type: object, required: [name], properties: {name: {type: string}}}
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - {name: draft, agent_type: generic_single_shot, persona_key: writer, input: {what: it}}
"""


@pytest.fixture
def env(skipping_client: Client) -> WorkflowEnvironment:
    """The product's own server: the other one does not record why an attempt failed."""
    return WorkflowEnvironment.from_client(skipping_client)


BUSY = http('{"error": {"message": "too many of you"}}', status=503)


def answer(text: str) -> bytes:
    choice = {"finish_reason": "stop", "message": {"content": text}}
    usage = {"prompt_tokens": 9, "completion_tokens": 4}
    return http(json.dumps({"choices": [choice], "usage": usage}))


def settings(url: str) -> ProviderSettings:
    import_module("coterie.activities.providers.openai")  # which takes longer than some heartbeats
    return ProviderSettings(name="scripted", kind="openai", api_base=url, api_key="k")


async def test_a_step_is_shown_with_its_failed_attempts_and_its_re_ask(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    unusable = answer('{"title": "none"}')
    async with (
        raw_server(BUSY, BUSY, unusable, answer('{"name": "Ada"}')) as server,
        engine(env, tmp_path, [], provider=settings(server.url)) as running,
    ):
        handle = await running.start(TEAM.replace("RETRIES", "2"))
        await handle.result()
        calls = recorded_calls(await handle.fetch_history())
        in_visits(calls, await trail(handle))
    first, second = calls
    assert [(call.path, call.visit, call.attempts) for call in calls] == [
        ("work/draft", 1, 3),
        ("work/draft", 1, 1),
    ]
    assert first.earlier_error.startswith("ProviderUnavailable: ")
    assert isinstance(second.request, AgentRequest)
    text = calls_text(handle.id, "work/draft", calls)
    attempts, failed = (text.index(word) for word in ("  attempts   3, started ", "  failed     "))
    assert text[failed:].startswith("  failed     attempt 2: ProviderUnavailable: ")
    asked_again = text.index("work/draft: model turn, re-ask 1")
    assert attempts < failed < asked_again
    shown = text[asked_again:]
    assert "  attempts   1" in shown
    assert '  previous answer:\n    {"title": "none"}' in shown
    assert "name" in shown.partition("  problem:\n")[2].splitlines()[0]
    assert "Ada" in shown.partition("  answer:\n")[2]
    data = [call_data(call) for call in calls]
    assert [(one["attempts"], bool(one["earlier_error"])) for one in data] == [
        (3, True),
        (1, False),
    ]


async def test_why_names_the_calls_that_took_more_than_one_attempt(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with (
        raw_server(BUSY, BUSY, answer('{"name": "Ada"}')) as server,
        engine(env, tmp_path, [], provider=settings(server.url)) as running,
    ):
        handle = await running.start(TEAM.replace("RETRIES", "2"))
        await handle.result()
        (tmp_path / "run.json").write_text((await handle.fetch_history()).to_json())
    trace = await traced(load({}, tmp_path), "run.json")
    line = (
        r"work#1/draft took 3 attempts in \d+\.\d s, because attempt 2 failed: ProviderUnavailable"
    )
    assert re.search(line, run_text(trace, handle.id))
    assert re.search(rf"  retried\n .*{line}", visits_text(trace.of("work#1"), trace))
    [retried] = json.loads(json_text(trace, trace.visits))["retried"]
    assert (retried["step"], retried["visit"], retried["attempts"]) == ("work/draft", 1, 3)


async def test_a_step_whose_attempts_all_failed_is_shown_with_the_errors_of_the_last_two(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    gone = http('{"error": {"message": "gone for good"}}', status=500)
    async with (
        raw_server(BUSY, gone) as server,
        engine(env, tmp_path, [], provider=settings(server.url)) as running,
    ):
        handle = await running.start(TEAM.replace("RETRIES", "1"))
        assert (await failure(handle)).type == "TeamFailed"
        calls = recorded_calls(await handle.fetch_history())
    [call] = calls
    assert (call.attempts, call.answer) == (2, None)
    text = calls_text(handle.id, "work/draft", calls)
    assert "too many of you" in text.partition("  failed     attempt 1: ")[2].splitlines()[0]
    assert "gone for good" in text.partition("  error      ")[2].splitlines()[0]
    assert "none yet" not in text
