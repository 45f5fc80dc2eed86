"""A picture of a plan names the tools of its agents."""

from coterie.graph.tasks import task_lines
from tests.support.compiling import plan_of

TOOLS = [f"t{number}" for number in range(10)]
TEAM = f"""
tools: {{ {", ".join(f"{name}: {{ skill: Files.read }}" for name in TOOLS)} }}
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    actor: {{ prompts: {{ user: Act. }}, tools: [t1, t0], handoffs: [rest] }}
    many: {{ prompts: {{ user: Act. }}, tools: [{", ".join(TOOLS)}] }}
    plain: {{ prompts: {{ user: Act. }} }}
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - {{ name: act, persona_key: actor }}
        - {{ name: acts, persona_key: many }}
        - {{ name: talk, persona_key: plain }}
    rest: {{ tasks: [{{ name: note, type: set, values: {{ a: 1 }} }}] }}
"""


def test_an_agent_shows_its_tools_in_order_and_the_teams_that_may_take_over() -> None:
    plan = plan_of(TEAM)
    details = {line.name: line.detail for line in task_lines(plan.teams["work"].steps, plan)}
    agent = ("scripted/demo", "generic_tool_calling")
    assert details["act"] == ("actor", *agent, "may call t1, t0", "may hand over to rest")
    eight = ", ".join(TOOLS[:8])
    assert details["acts"] == ("many", *agent, f"may call {eight} and 2 more")
    assert details["talk"] == ("plain", "scripted/demo")
