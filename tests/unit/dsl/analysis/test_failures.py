"""A failure without a route is reported where it certainly fails the run, and nowhere else."""

import pytest

from coterie.dsl.analysis.findings import findings
from coterie.dsl.logic.possible_statuses import can_fail
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


ASKED = "{name: asked, type: set, values: {a: 1}, when: {context_field: a, value: 1}}"
FAILING = "{name: call, team: risky}"
FAILING2 = "{name: again, team: risky}"
NOTE2 = NOTE.replace("note", "other")
ASKS = "}, on_failure: ask}"
GOES_ON = ", on_failure: continue}"
COND = "condition: {context_field: a, value: 1}"
BOUND = "max_iterations: {value: '{{ context.n }}', maximum: 5}"
ELSE = f"otherwise: [{FAILING}]"


@pytest.mark.parametrize(
    ("task", "fails"),
    [
        (NOTE, False),
        (NOTE.replace("}}", "}, fail_when: {context_field: a, value: 1}}"), True),
        (NOTE.replace("}}", "}, when: '{{ context.a > 1 }}'}"), True),
        (f"{{name: p, type: parallel, join: any, branches: {{x: [{ASKED}]}}}}", True),
        (f"{{name: p, type: parallel, join: all, branches: {{x: [{ASKED}]}}}}", False),
        (f"{{name: p, type: parallel, join: any, branches: {{x: [{ASKED}, {NOTE}]}}}}", False),
        (f"{{name: p, type: parallel, join: any, branches: {{x: [{FAILING}]}}}}", True),
        (f"{{name: l, iterate_on: [1, 2], loop_variable: i, body: [{NOTE}]}}", False),
        (f"{{name: l, iterate_on: [1, 2], loop_variable: i, body: [{FAILING}]}}", True),
        (f"{{name: l, iterate_on: '{{{{ context.a }}}}', loop_variable: i, body: [{NOTE}]}}", True),
        ("{name: w, type: wait, signal: go, timeout: 5}", True),
        (f"{{name: l, iterate_on: [1], {BOUND}, loop_variable: i, body: [{NOTE}]}}", True),
        (NOTE.replace("a: 1", "a: [1, {b: 2}]"), False),
        (NOTE.replace("a: 1", "a: [1, {b: '{{ context.a }}'}]"), True),
        ("{name: r, type: return, value: 1}", False),
        ("{name: r, type: return, value: '{{ context.a }}'}", True),
        (f"{{name: p, type: parallel, join: any, branches: {{x: [{ASKED}], y: [{NOTE2}]}}}}", True),
        (
            "{name: p, type: parallel, join: any, "
            f"branches: {{x: [{NOTE.replace('}}', ASKS)}]}}}}",
            True,
        ),
        (f"{{name: b, type: block, steps: [{NOTE}, {FAILING}]}}", True),
        (f"{{name: b, type: block, steps: [{NOTE}, {FAILING.replace('}', GOES_ON)}]}}", False),
        (f"{{name: b, type: branch, branches: [{{{COND}, steps: [{NOTE}]}}]}}", False),
        (f"{{name: b, type: branch, branches: [{{{COND}, steps: [{FAILING}]}}]}}", True),
        (f"{{name: b, type: branch, branches: [{{{COND}, steps: [{NOTE}]}}], {ELSE}}}", True),
        ("{name: w, type: wait, duration: 1m}", False),
        ("{name: w, type: wait, duration: '{{ context.a }}'}", True),
        ("{name: w, type: wait, signal: go}", False),
        ("{name: w, type: wait, signal: go, deadline: 1m}", True),
        (f"{{name: t, type: try, steps: [{FAILING}], finally: [{NOTE}]}}", True),
        (f"{{name: t, type: try, steps: [{FAILING}], catch: [{{steps: [{NOTE}]}}]}}", False),
        (f"{{name: t, type: try, steps: [{NOTE}], catch: [{{steps: [{FAILING}]}}]}}", False),
        (f"{{name: t, type: try, steps: [{NOTE}], finally: [{FAILING}]}}", True),
        (
            f"{{name: t, type: try, steps: [{FAILING}], catch: [{{error: E, steps: [{NOTE}]}}]}}",
            True,
        ),
        (
            f"{{name: t, type: try, steps: [{FAILING}], "
            f"catch: [{{error: E, steps: [{NOTE}]}}, {{steps: [{NOTE2}]}}]}}",
            False,
        ),
        (
            f"{{name: t, type: try, steps: [{FAILING}], "
            f"catch: [{{error: E, steps: [{FAILING2}]}}, {{steps: [{NOTE2}]}}]}}",
            True,
        ),
    ],
)
def test_a_step_can_fail_where_it_or_a_step_or_list_of_it_can(task: str, fails: bool) -> None:
    text = TEAMS.replace("{TASK}", task).replace("{{ROUTING}}", "{default: risky}")
    (step,) = compiled(text).plan.teams["begin"].steps
    assert can_fail(step) is fails
