"""Plans that call agents as tools by a `tool` step, and so may call themselves."""

import pytest

from coterie.workflows.agents.team_runs import MAX_NESTED
from coterie.workflows.core.results import RunFailed
from tests.support.compiling import plan_of
from tests.support.simulation.stopping import undisturbed

SELF = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    me:
      execution_plan:
        - name: block
          type: block
          steps:
            - name: again
              tool: "{{ 'me' }}"
              arguments: { left: "{{ input.left - 1 }}" }
              when: "{{ input.left > 0 }}"
              retry: { retries: 1 }
tools:
  me:
    agent: me
    description: Calls itself.
    input_schema: { type: object, properties: { left: { type: integer } } }
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - name: begin
          agent_type: generic_orchestrating
          persona_key: me
          input: { left: LEFT }
"""


@pytest.mark.parametrize("calls", [MAX_NESTED, MAX_NESTED + 1])
async def test_a_plan_that_calls_its_own_agent_as_a_tool_is_bounded_at_twenty(calls: int) -> None:
    plan = plan_of(SELF.replace("LEFT", str(calls)))
    if calls <= MAX_NESTED:
        result, _ = await undisturbed(plan, {}, lambda _: {})
        assert result.end == "completed"
        return
    with pytest.raises(RunFailed, match=r"NestedTooDeep: .* may be nested 20 deep"):
        await undisturbed(plan, {}, lambda _: {})
