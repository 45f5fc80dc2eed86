"""Plans of one team, `work`, whose tasks are all that a test has to say."""

from textwrap import indent

from coterie.dsl.model.plan import Plan
from tests.support.compiling import plan_of

_HEAD = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: "Write {{ input }}."}}
orchestration:
  entry_team: work
  max_total_teams: 100
  max_recursion_depth: 100
  teams:
    work:
      tasks:
"""


def document(tasks: str, more: str = "") -> str:
    """The text of a team with these tasks, and of more teams."""
    return _HEAD + indent(tasks, " " * 8) + indent(more, " " * 4)


def work(tasks: str, more: str = "") -> Plan:
    """The plan of a team with these tasks, and of more teams."""
    return plan_of(document(tasks, more))


def agent(name: str, given: str = "x") -> str:
    """A task that asks the persona `writer`."""
    return (
        f"{{name: {name}, agent_type: generic_single_shot, persona_key: writer, input: '{given}'}}"
    )
