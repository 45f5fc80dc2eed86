"""Teams that clients of the doors talk with."""

ADVICE = """
orchestration:
  entry_team: desk
  context: {topic: {type: string, default: rain}}
  teams:
    desk:
      tasks:
        - {name: heard, type: wait, message: true, deadline: 1h}
        - {name: draft, agent_type: generic_single_shot, persona_key: writer}
        - {name: told, type: reply, value: "{{ tasks.draft.data.text }}"}
      routing: {default: desk}
"""
SELL = """
llm_config: {personas: {p: {prompts: {user: hello}}}}
orchestration:
  entry_team: desk
  teams:
    desk:
      tasks:
        - {name: heard, type: wait, message: true, deadline: 1h}
        - {name: sign, type: approval, prompt: "Sell {{ tasks.heard.data }}?"}
        - {name: told, type: reply, value: "sold {{ tasks.heard.data }}"}
      routing: {default: desk}
"""
NOTE = """
llm_config: {personas: {p: {prompts: {user: hello}}}}
orchestration:
  entry_team: only
  context: {topic: {type: string}, copies: {type: integer, default: 1}}
  output: {text: "{{ context.copies }} x {{ context.topic }}"}
  teams:
    only:
      tasks: [{name: keep, type: set, values: {kept: "{{ context.topic }}"}}]
"""
HOLD = """
llm_config: {personas: {p: {prompts: {user: hello}}}}
orchestration:
  entry_team: desk
  teams:
    desk:
      tasks:
        - {name: heard, type: wait, message: true, deadline: 1h}
        - {name: go, type: wait, signal: go, timeout: 5m}
        - {name: told, type: reply, value: "held {{ tasks.heard.data }}"}
      routing: {default: desk}
"""
ORDER = """
llm_config: {personas: {p: {prompts: {user: hello}}}}
orchestration:
  entry_team: desk
  teams:
    desk:
      tasks:
        - {name: heard, type: wait, message: true, deadline: 1h, schema: {type: object}}
        - {name: told, type: reply, value: "{{ tasks.heard.data }}"}
      routing: {default: desk}
"""
DEAL = """
llm_config: {personas: {p: {prompts: {user: hello}}}}
orchestration:
  entry_team: only
  context: {price: {type: integer}}
  teams:
    only:
      tasks:
        - {name: sign, type: approval, prompt: "Buy <!channel>?", show: "{{ context.price }}",
           approvers: [ann, ben], editable: true}
"""
CLERK = """
llm_config:
  personas:
    clerk: {prompts: {user: "Order it."}, tools: [add]}
tools:
  add:
    skill: Calculator.evaluate
    description: Adds.
    requires_approval: {deadline: 1h}
orchestration:
  entry_team: shop
  teams:
    shop: {tasks: [{name: order, persona_key: clerk}]}
"""

PAIR = """
llm_config: {personas: {p: {prompts: {user: hello}}}}
orchestration:
  entry_team: only
  teams:
    only:
      tasks:
        - name: both
          type: parallel
          branches:
            left: [{name: pay, type: approval, prompt: "Pay?"}]
            right: [{name: ship, type: approval, prompt: "Ship?"}]
"""

TEAMS = {
    "pair": PAIR,
    "advice": ADVICE,
    "sell": SELL,
    "note": NOTE,
    "hold": HOLD,
    "deal": DEAL,
    "order": ORDER,
    "clerk": CLERK,
}
"""By the names of their files."""
