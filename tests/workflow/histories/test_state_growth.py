"""What a run carries along stays as small after very many steps as after a few."""

import json
from typing import cast

import pytest

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.model.plan import Plan
from coterie.dsl.sizes import MAX_VALUE_SIZE
from coterie.dsl.values import Json
from coterie.workflows.core.requests import Decision
from coterie.workflows.core.scope import Interrupted
from coterie.workflows.core.state import MAX_DECISIONS, RunState
from coterie.workflows.interpreter import run
from coterie.workflows.steps.loop import MAX_RESULTS
from tests.support.compiling import plan_of
from tests.support.runs import task_data
from tests.support.simulation.stopping import StoppingScope, World, carried, fresh

HEAD = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: "Write {{ input }}."}}
orchestration:
  max_total_teams: 100000
  max_recursion_depth: 100000
  no_progress: ask
  entry_team: work
  teams:
    work:
      tasks:
"""
ASK = "{name: ask, agent_type: generic_single_shot, persona_key: writer, input: 1}"
CASES = {
    "a team that comes to itself": f"""
        - {ASK}
      routing:
        rules: [{{condition: all_success, next_team: work,
                 context_updates: {{n: "{{{{ run.visit }}}}"}}}}]
""",
    "approvals": """
        - {name: sign, type: approval, prompt: "{{ run.visit }}?", remember: true}
      routing:
        rules: [{condition: all_success, next_team: work,
                 context_updates: {n: "{{ run.visit }}"}}]
""",
    "a loop of large answers": f"""
        - name: each
          iterate_on: "{{{{ range(100000) }}}}"
          loop_variable: x
          body: [{ASK}]
""",
}


def answer(request: AgentRequest | FunctionRequest) -> Json:
    return {"text": "word " * 400}


async def after(plan: Plan, steps: int) -> int:
    """Bytes that the run carries along after so many steps."""
    state = fresh(plan, {})
    with pytest.raises(Interrupted):
        await run(StoppingScope(plan, state, World(answer), steps))
    resumed = carried(state)
    return len(json.dumps(resumed.carried()))


@pytest.mark.parametrize("case", CASES)
async def test_carried_state_does_not_grow_without_bound(case: str) -> None:
    plan = plan_of(HEAD + CASES[case])
    size = await after(plan, 2000)
    assert size < MAX_VALUE_SIZE
    assert await after(plan, 2400) < 1.02 * size


async def test_very_long_loop_keeps_its_latest_results_and_counts_the_others() -> None:
    plan = plan_of(
        HEAD
        + CASES["a loop of large answers"].replace("100000) }}", "900) }}").rstrip()
        + "\n      routing: {default: null}\n"
    )
    state = fresh(plan, {})
    result = await run(StoppingScope(plan, state, World(answer), None))
    data = cast("Json", task_data(result)["each"])
    kept = cast("list[Json]", data["results"])
    assert data["rounds"] == 900
    assert data["dropped"] == 900 - len(kept)
    assert 0.8 * MAX_RESULTS < len(json.dumps(kept)) < 1.2 * MAX_RESULTS


def decided(number: int) -> Decision:
    return Decision(id=str(number), verdict="approved", by="ann", at="", how="update")


def test_state_keeps_the_latest_of_very_many_decisions() -> None:
    state = RunState()
    for number in range(MAX_DECISIONS + 10):
        state.decide(decided(number), awaited=False)
    assert next(iter(state.decisions)) == "10"
    assert len(state.decisions) == MAX_DECISIONS


def test_a_decision_is_kept_until_the_step_that_asked_has_read_it() -> None:
    """As many as come while no worker is there, all at once."""
    state, many = RunState(), MAX_DECISIONS + 100
    for number in range(many):
        state.decide(decided(number))
    for number in reversed(range(many)):
        assert state.decisions[str(number)] == decided(number)
        state.mark_read(str(number))
    assert len(state.decisions) == MAX_DECISIONS
    assert state.unread == []
