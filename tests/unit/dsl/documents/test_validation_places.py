"""The path of a problem counts as the file does, whatever could not be read before it."""

import pytest

from tests.support.compiling import problems_of

LISTS = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    planned:
      execution_plan:
        - {name: 1, type: set, values: {a: 1}}
        - 3
        - {name: fork, type: parallel, branches: {x: [2, {name: in_x, team: nowhere}]}}
        - [4]
        - {name: last, team: nowhere}
orchestration:
  entry_team: draft
  teams:
    draft:
      tasks:
        - one
        - {name: plan, agent_type: generic_orchestrating, persona_key: planned}
        - {type: unheard}
        - {name: stop, type: fail, message: "{{ nosuch }}"}
      routing:
        rules:
          - {condition: {stop: [1, 2], tsk: x}, next_team: nowhere}
          - none
          - {condition: [all_success, {tsk: 1}, {task: zz, status: success}], next_team: nowhere}
"""


def test_unreadable_item_does_not_move_later_items() -> None:
    found = {(p.code, p.path) for p in problems_of(LISTS)}
    plan = "llm_config.personas.planned.execution_plan"
    team = "orchestration.teams.draft"
    assert {
        ("E201", f"{plan}[2].branches.x[1].team"),
        ("E201", f"{plan}[4].team"),
        ("E207", f"{team}.tasks[3].message"),
        ("E201", f"{team}.routing.rules[0].next_team"),
        ("E206", f"{team}.routing.rules[2].condition.and[2].task"),
        ("E201", f"{team}.routing.rules[2].next_team"),
    } <= found


def test_a_path_leads_to_the_line_that_is_reported_with_it() -> None:
    lines = LISTS.splitlines()
    for problem in problems_of(LISTS):
        if problem.code in ("E201", "E206", "E207"):
            written = lines[problem.line - 1][problem.column - 1 :]
            assert written.startswith(("nowhere", "zz", '"{{ nosuch')), problem


PLAN = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    planned:
      execution_plan:
        enabled: {enabled}
        steps: [{{name: call, team: nowhere}}]
orchestration:
  entry_team: draft
  teams:
    draft:
      tasks: [{{name: plan, agent_type: generic_orchestrating, persona_key: planned}}]
"""


def test_a_plan_is_checked_unless_it_is_disabled_for_certain() -> None:
    def codes(enabled: str) -> list[str]:
        return [problem.code for problem in problems_of(PLAN.format(enabled=enabled))]

    assert codes("maybe") == ["E103", "E201"]
    assert codes("true") == ["E201"]
    assert "E201" not in codes("false")


@pytest.mark.parametrize("value", ["!!str text", "!own {}", "!own []", "!own 1"])
def test_a_tag_is_refused_at_whatever_it_stands(value: str) -> None:
    document = f"orchestration:\n  entry_team: a\n  more: {value}\n"
    found = {(p.code, p.path, p.line) for p in problems_of(document)}
    assert (("E005", "orchestration.more", 3) in found) is value.startswith("!own")
