"""The clock of a team test goes where the test puts it, however late the server answers."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.workflowservice.v1 import UpdateWorkflowExecutionOptionsRequest
from temporalio.client import Client

from tests.support.team_tests import failures_text, results, written

TEAM = """
llm_config:
  default_provider: anthropic
  default_model: claude-sonnet-5-5
  personas:
    writer: {prompts: {user: "Write."}}
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - {name: write, agent_type: generic_single_shot, persona_key: writer}
        - {name: sign, type: approval, prompt: "Well?", deadline: 3d, on_timeout: fail}
"""
TESTS = """
team: made.yml
cases:
  - name: somebody decides in time
    answers: [{ task: write, answer: It., seconds: 0.2 }]
    decisions: [{ approval: "*", decision: approve, by: ann, after: AFTER }]
    expect: { end: completed }
"""


class Skips:
    """What the server is asked for with a run's clock, and a hand in it."""

    def __init__(self, client: Client, patch: pytest.MonkeyPatch) -> None:
        self.asked: list[Any] = []
        self._ask = client.workflow_service.update_workflow_execution_options
        patch.setattr(client.workflow_service, "update_workflow_execution_options", self._change)

    def changed(self, config: Any) -> None:
        """Change what the server is failures_text; nothing."""

    async def _change(self, request: UpdateWorkflowExecutionOptionsRequest) -> object:
        config = request.workflow_execution_options.time_skipping_config
        self.changed(config)
        self.asked.append(config)
        return await self._ask(request)


class OneMore(Skips):
    """A server that skips once more after the first skip, as when it hears of one too late."""

    def changed(self, config: Any) -> None:
        if not self.asked:
            config.ClearField("fast_forward_config")
            config.max_session_skip_count = 2


class TooFar(Skips):
    """A server that puts a clock to the next timer, wherever it was to be put; so many times."""

    times = 1

    def changed(self, config: Any) -> None:
        if config.enabled and config.fast_forward_config.duration.seconds > 3600 and self.times:
            self.times -= 1
            config.ClearField("fast_forward_config")


async def test_a_decision_is_in_time_when_the_server_would_skip_once_more(
    skipping_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skips = OneMore(skipping_client, monkeypatch)
    test = written(tmp_path, TEAM, TESTS.replace("AFTER", "1d").replace("0.2", "20"))
    assert failures_text(await results(skipping_client, test)) == ""
    assert skips.asked


async def test_a_case_begins_again_when_the_server_puts_its_clock_too_far(
    skipping_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skips = TooFar(skipping_client, monkeypatch)
    test = written(tmp_path, TEAM, TESTS.replace("AFTER", "1d"))
    assert failures_text(await results(skipping_client, test)) == ""
    assert skips.times == 0


async def test_a_case_is_given_up_when_its_clock_goes_too_far_each_time(
    skipping_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    TooFar(skipping_client, monkeypatch).times = 100
    test = written(tmp_path, TEAM, TESTS.replace("AFTER", "1d"))
    [result] = await results(skipping_client, test)
    assert "the server skipped the run's clock to" in failures_text([result])


async def test_a_short_time_passes_by_itself_when_the_server_answers_late(
    skipping_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = skipping_client.workflow_service
    describe = service.describe_workflow_execution

    async def late(request: Any, **options: Any) -> Any:
        await asyncio.sleep(0.1)  # a busy machine's
        return await describe(request, **options)

    monkeypatch.setattr(service, "describe_workflow_execution", late)
    skips = Skips(skipping_client, monkeypatch)
    test = written(tmp_path, TEAM, TESTS.replace("AFTER", "0s").replace("0.2", "0.45"))
    assert failures_text(await results(skipping_client, test)) == ""
    assert skips.asked == []


CENTURIES = """
orchestration:
  entry_team: work
  context: { more: { type: boolean, default: false } }
  teams:
    work:
      tasks:
        - {name: one, type: wait, duration: 36500d}
        - {name: two, type: wait, duration: 36500d}
        - {name: three, type: wait, duration: 36500d, when: "{{ context.more }}"}
"""
LONG_CASES = """
team: made.yml
cases:
  - {name: too long, context: {more: true}, expect: {end: completed}}
  - {name: long, expect: {end: completed}}
"""


async def test_a_wait_beyond_the_clock_ends_its_case_and_no_other(
    skipping_client: Client, tmp_path: Path
) -> None:
    too_long, long = await results(skipping_client, written(tmp_path, CENTURIES, LONG_CASES))
    assert long.passed
    assert "and the clock of a test ends in 2250" in failures_text([too_long])


NAPS = """
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - {name: one, type: wait, duration: 1d}
        - {name: two, type: wait, duration: 2d}
"""
SLEEPER = "cases: [{ name: nobody comes, expect: { duration: { in_range: [3d, 73h] } } }]"


async def test_a_run_to_which_nobody_comes_is_asked_only_for_its_outcome(
    skipping_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = skipping_client.workflow_service
    query, asked = service.query_workflow, list[str]()

    async def noted(request: Any, **options: Any) -> Any:
        asked.append(request.query.query_type)
        return await query(request, **options)

    monkeypatch.setattr(service, "query_workflow", noted)
    test = written(tmp_path, NAPS, SLEEPER)
    assert failures_text(await results(skipping_client, test)) == ""
    assert asked == ["status", "events"]
