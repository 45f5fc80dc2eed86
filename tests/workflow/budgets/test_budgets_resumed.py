"""What was used of a budget, and what was asked about it, outlives every history of a run."""

import json
from pathlib import Path
from typing import Any

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse, TokenUsage
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.scope import Interrupted
from coterie.workflows.core.state import RunState
from coterie.workflows.handlers.start_checks import begin
from coterie.workflows.interpreter import run
from tests.support.engine import engine, plan_of
from tests.support.runs import failure
from tests.support.servers.temporal_server import suggesting_after
from tests.workflow.histories.test_resuming import Stopping, World

TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: Write.}}
    long:
      budgets: {tokens: {limit: 40, on_exceeded: ask}}
      execution_plan:
        - name: rounds
          type: loop
          iterate_on: "{{ range(30) }}"
          loop_variable: number
          body: [{name: ask, agent_type: generic_single_shot, persona_key: writer}]
orchestration:
  entry_team: a
  budgets: {model_calls: 17}
  teams: {a: {tasks: [{name: all, agent_type: generic_orchestrating, persona_key: long}]}}
"""


class Paid(World):
    """Every answer costs ten tokens and a cent."""

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        answered = await super().run_agent(request)
        return answered.model_copy(update={"usage": TokenUsage(9, 1), "cost": 0.01})


async def ended(
    plan: Plan, stop_at: int | None, again: int | None = None
) -> tuple[Any, RunState, Paid]:
    """How the run failed, stopped once at a checkpoint; or, from there on, again and again."""
    world, state = Paid(), RunState()
    begin(plan, state)
    while True:
        try:
            await run(Stopping(plan, state, world, stop_at))
        except Interrupted:
            state, stop_at = RunState.resumed(json.loads(json.dumps(state.carried()))), again
        except RunFailed as failed:
            return failed.result, state, world
        else:
            raise AssertionError("there are calls enough")


async def test_budgets_continue_from_any_point_of_a_run() -> None:
    plan = plan_of(TEAM)
    expected, whole, once = await ended(plan, None)
    assert expected.end == "budget_model_calls"
    assert len(once.calls) == 17
    assert len(expected.decisions) == 4, "of 40 tokens, then again after each 40 more"
    stops = 0
    while True:
        result, state, world = await ended(plan, stops)
        assert (world.calls, result.trail_digest) == (once.calls, expected.trail_digest), stops
        assert (state.balances, result.cost) == (whole.balances, pytest.approx(0.17))
        assert state.tallies == whole.tallies
        stops += 7
        if stops > 120:
            break
    result, _, world = await ended(plan, 6, again=6)
    assert (world.calls, result.trail_digest) == (once.calls, expected.trail_digest)


LOOP = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas: {writer: {prompts: {user: Write.}}}
orchestration:
  entry_team: a
  max_total_teams: 100
  max_recursion_depth: 100
  budgets: {tokens: 200}
  teams:
    a:
      tasks: [{name: write, agent_type: generic_single_shot, persona_key: writer}]
      routing: {rules: [{condition: all_success, next_team: a}]}
"""


async def test_a_budget_is_one_over_many_histories(tmp_path: Path) -> None:
    answers: list[Json] = [
        {"task": "write", "answer": "x", "usage": {"input_tokens": 9, "output_tokens": 1}}
    ]
    async with suggesting_after(40) as env, engine(env, tmp_path, answers) as running:
        handle = await running.start(LOOP)
        first = (await handle.describe()).run_id
        error = await failure(handle)
        assert error.details[0]["end"] == "budget_tokens"
        assert error.details[0]["model_calls"] == 20
        latest = env.client.get_workflow_handle(handle.id)
        assert (await latest.describe()).run_id != first, "it has continued as new"
        cost: Any = await latest.query("cost")
        assert (cost["total"]["calls"], cost["total"]["input_tokens"]) == (20, 180)
