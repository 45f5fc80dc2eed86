"""A picture of a plan names the tools of its agents."""

from coterie.graph.drawing.svg import svg_of
from coterie.graph.mermaid import mermaid_of
from coterie.graph.picture import picture
from coterie.graph.task_lines import task_lines
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


ASKING = """
tools:
  pay:
    skill: Files.read
    requires_approval: { when: "{{ arguments.path == 'a' }}", approvers: [ann], deadline: 1d }
  refund: { skill: Files.read, requires_approval: true }
  void: { skill: Files.read, requires_approval: true }
  look: { skill: Files.read }
  helper: { agent: helper, description: Helps., requires_approval: after }
  outer: { agent: outer, description: Helps. }
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    actor: { prompts: { user: Act. }, tools: [pay, refund, void, look] }
    boss: { prompts: { user: Act. }, tools: [outer] }
    outer: { prompts: { user: Act. }, tools: [helper, look] }
    helper: { prompts: { user: Act. }, tools: [pay] }
    free: { prompts: { user: Act. }, tools: [look] }
    planner: { execution_plan: [{ name: inner, type: tool, tool: void, arguments: { path: x } }] }
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - { name: acts, persona_key: actor }
        - { name: nested, persona_key: boss }
        - { name: free, persona_key: free }
        - { name: calls, type: tool, tool: refund, arguments: { path: x } }
        - { name: any, type: tool, tool: "{{ context.name }}", arguments: { path: x } }
        - { name: plans, persona_key: planner }
"""
_PAY = "before the call if arguments.path == 'a', by ann, within 1 d, else reject"


def test_an_approval_of_a_tool_is_drawn_wherever_the_tool_may_be_called() -> None:
    plan = plan_of(ASKING)
    lines = {line.name: line.approval for line in task_lines(plan.teams["work"].steps, plan)}
    open_to_all = "before the call, by anyone, no deadline"
    anyone = f"a person decides calls of {{}}: {open_to_all}".format
    pay = f"a person decides calls of pay: {_PAY}"
    helper = "a person decides calls of helper: after the call, by anyone, no deadline"
    assert lines == {
        "acts": f"{pay}; {anyone('refund, void')}",
        "nested": f"{helper}; {pay}",
        "free": "",
        "calls": anyone("refund"),
        "any": f"{pay}; {anyone('refund, void')}; {helper}",
        "plans": "",
        "inner": anyone("void"),
    }
    drawn = svg_of(picture(plan))
    assert "a person decides calls of refund" in drawn
    assert "a person decides" in mermaid_of(picture(plan))
