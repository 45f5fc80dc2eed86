"""A failure without a route is reported where it certainly fails the run, and nowhere else."""

import pytest

from dsl.analysis.findings import findings
from tests.support.compiling import compiled

TEAMS = """
orchestration:
  entry_team: begin
  teams:
    begin:
      tasks: [{TASK}]
      routing: {{ROUTING}}
    risky:
      tasks: [{name: hold, type: wait, signal: go, deadline: 1m}]
      routing: {rules: [{condition: all_success, next_team: gather}]}
    other:
      tasks: [{name: note, type: set, values: {a: 1}}]
      routing: {default: gather}
    gather:
      type: concentrator
      tasks: [{name: sum, type: set, values: {all: "{{ aggregate }}"}}]
"""
NOTE = "{name: note, type: set, values: {a: 1}}"
CALL = "{name: safe, type: try, steps: [{name: call, team: risky}], catch: [{steps: []}]}"
ON = "rules: [{next_team: risky}]"


@pytest.mark.parametrize(
    ("task", "routing", "expected"),
    [
        (NOTE, ON, "the run fails"),
        (NOTE, "rules: [{next_team: [risky, other]}]", ""),
        (CALL, "default: null", "the step that runs the team fails"),
        (CALL, ON, "the run fails"),
    ],
    ids=["on the run's own way", "as a branch", "as a step in a try", "as a step and on the way"],
)
def test_failure_without_a_route_is_reported_when_it_is_certain(
    task: str, routing: str, expected: str
) -> None:
    text = TEAMS.replace("{TASK}", task).replace("{{ROUTING}}", f"{{{routing}}}")
    said = [problem.message for problem in findings(compiled(text)) if problem.code == "W507"]
    assert [message.rpartition(": ")[2] for message in said] == ([expected] if expected else [])
