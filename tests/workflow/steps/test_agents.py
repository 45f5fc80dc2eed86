"""What an agent's turn costs, what it is sent, and who may be one."""

from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from tests.support.engine import engine
from tests.support.runs import Handle, failure, scheduled

TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer:
      prompts:
        system: You write for {{ context.reader }}.
        user: About {{ context.topic.name }}.
    judge:
      prompts: {user: "Judge {{ input.text }}."}
      max_reasks: 2
      output_schema:
        type: object
        properties: {verdict: {type: string}}
        required: [verdict]
        additionalProperties: false
orchestration:
  entry_team: only
  teams:
    only:
      tasks:
        - {name: write, agent_type: generic_single_shot, persona_key: writer}
        - name: judge
          agent_type: generic_single_shot
          persona_key: judge
          input: {text: "{{ tasks.write.data.text }}"}
"""
CONTEXT: Json = {"reader": "Ann", "topic": {"name": "tea", "secret": "no"}, "huge": "x" * 5000}
WRITTEN: Json = {"task": "write", "answer": "Tea is {{ context.huge }} good."}


async def test_an_agent_is_sent_what_its_prompts_name_and_no_more(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    judged: Json = {"task": "judge", "answer": {"verdict": "fine"}}
    async with engine(env, tmp_path, [WRITTEN, judged]) as running:
        handle: Handle = await running.start(TEAM, CONTEXT)
        result = await handle.result()
        assert result["output"]["judge"] == {"verdict": "fine"}
        write, judge = await scheduled(handle)
        assert write["input"]["inputs"] == {"context": {"reader": "Ann", "topic": {"name": "tea"}}}
        assert "xxxxx" not in str(judge["input"]), "what a model said is never a template"
        assert judge["input"]["inputs"] == {"input": {"text": "Tea is {{ context.huge }} good."}}


async def test_a_turn_is_one_activity_of_six_events_with_a_name_for_people(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    judged: Json = {"task": "judge", "answer": {"verdict": "fine"}}
    async with engine(env, tmp_path, [WRITTEN, judged]) as running:
        handle: Handle = await running.start(TEAM, CONTEXT)
        result = await handle.result()
        written = {"text": "Tea is {{ context.huge }} good."}
        assert result["output"] == {"write": written, "judge": {"verdict": "fine"}}
        assert result["visits"] == {"only": 1}
        write, judge = await scheduled(handle)
        assert (write["id"], judge["id"]) == ("0001.only.write", "0002.only.judge")
        assert (write["summary"], judge["summary"]) == ("only/write", "only/judge")
        assert len((await handle.fetch_history()).events) == 2 * 6 + 5


async def test_an_unusable_answer_is_asked_for_again_as_a_turn_of_its_own(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    answers: list[Json] = [
        WRITTEN,
        {"task": "judge", "reask": 0, "answer": "Well, it depends."},
        {"task": "judge", "reask": 1, "answer": {"verdict": "fine"}},
    ]
    async with engine(env, tmp_path, answers) as running:
        handle: Handle = await running.start(TEAM, CONTEXT)
        result = await handle.result()
        assert result["model_calls"] == 3
        again = (await scheduled(handle))[2]
        assert again["id"] == "0003.only.judge.r1"
        assert again["input"]["reask"]["answer"] == "Well, it depends."
        assert "JSON" in again["input"]["reask"]["problem"]


async def test_re_asks_are_bounded_and_then_a_typed_failure(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    answers: list[Json] = [WRITTEN, {"task": "judge", "answer": {"verdict": 7}}]
    async with engine(env, tmp_path, answers) as running:
        handle: Handle = await running.start(TEAM, CONTEXT)
        error = await failure(handle)
        assert "AnswerUnusable" in error.message
        assert "verdict" in error.message
        [result] = error.details
        assert result["model_calls"] == 1 + 3
        assert result["usage"]["output_tokens"] > 0, "what was used is counted"


async def test_a_missing_context_field_is_reported_by_its_whole_name(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, [WRITTEN]) as running:
        error = await failure(await running.start(TEAM, {"reader": "Ann", "topic": {}}))
        assert "context.topic.name has no value" in error.message


LEGACY = """
llm_config:
  default_provider: scripted
  default_model: demo
  agents: {old: {greeting: Hello}}
orchestration:
  entry_team: only
  teams:
    only:
      tasks: [{name: old, agent_class: "PATH"}]
"""


async def test_a_legacy_agent_class_of_an_allowed_package_runs(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    path = "tests.support.legacy_agents.Designer"
    async with engine(env, tmp_path, [], agent_packages=("tests.support",)) as running:
        handle: Handle = await running.start(LEGACY.replace("PATH", path), {"name": "Ann"})
        result = await handle.result()
        assert result["end"] == "completed"
        assert result["output"]["old"]


@pytest.mark.parametrize("path", ["os.system", "subprocess.Popen", "tests.supportive.Agent"])
async def test_an_agent_class_of_any_other_package_is_refused(
    env: WorkflowEnvironment, tmp_path: Path, path: str
) -> None:
    async with engine(env, tmp_path, [], agent_packages=("tests.support",)) as running:
        error = await failure(await running.start(LEGACY.replace("PATH", path)))
        assert "AgentRefused" in error.message
        assert "worker.agent_packages" in error.message


@pytest.mark.parametrize(
    "given",
    [
        None,
        5,
        "text",
        [],
        {},
        {"team": "a", "plan": {}},
        {"plan": {"name": "x"}},
        {"tea": "m"},
        {"plan": {"name": "x", "entry_team": "no", "teams": {}}},
        {"plan": {"name": "x", "entry_team": "a", "teams": {}, "api_base": "http://x"}},
        {"carried": {"tracks": 1}, "plan": {"name": "x", "entry_team": "a", "teams": {}}},
    ],
)
async def test_a_start_that_makes_no_sense_fails_readably_and_never_hangs(
    env: WorkflowEnvironment, tmp_path: Path, given: object
) -> None:
    async with engine(env, tmp_path, []) as running:
        error = await failure(await running.start_raw(given))
        assert error.type in ("RunRefused", "InvalidPlan")
