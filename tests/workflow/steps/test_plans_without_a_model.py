"""A persona that only follows its plan runs without a provider, and without a key."""

from pathlib import Path

from temporalio.testing import WorkflowEnvironment

from tests.support.compiling import plan_of
from tests.support.engine import engine

TEAM = """
llm_config:
  personas:
    counter:
      execution_plan:
        - name: add
          skill: Calculator.evaluate
          input: {expression: 6 * 7}
          output_variable: sum
orchestration:
  entry_team: work
  teams:
    work:
      tasks: [{name: count, persona_key: counter}]
"""


async def test_a_plan_of_functions_runs_without_a_provider(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    plan = plan_of(TEAM)
    assert plan.providers == ()
    async with engine(env, tmp_path, []) as running:
        result = await running.result(plan)
    assert (result["end"], result["model_calls"]) == ("completed", 0)
    assert result["output"] == {"count": {"sum": {"value": 42, "text": "42", "exact": True}}}
