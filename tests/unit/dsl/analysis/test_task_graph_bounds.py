"""The worst case of task graphs, to the last call."""

import math

import pytest

from tests.unit.dsl.analysis.test_worst_case import team, worst

BODY = "body: [{name: act, agent_type: generic_single_shot, persona_key: writer}]"
SELECT = (
    "select: [{name: reason, agent_type: generic_single_shot, persona_key: writer}], "
    "chosen: '{{ tasks.reason.data.text }}'"
)
SAVE = "on_failed_task: [{name: save, agent_type: generic_single_shot, persona_key: writer}]"


@pytest.mark.parametrize(
    ("keys", "calls"),
    [
        ("tasks: '{{ context.t }}', max_iterations: 7", 7),
        ("tasks: '{{ context.t }}', max_tasks: 4", 4),
        ("tasks: '{{ context.t }}', max_tasks: 4, task_retries: 2", 12),
        ("tasks: '{{ context.t }}', max_tasks: 4, task_retries: 2, max_iterations: 5", 5),
        ("tasks: [{id: a}, {id: b}], task_retries: 1", 4),
        (f"tasks: '{{{{ context.t }}}}', max_tasks: 4, task_retries: 1, {SELECT}", 16),
        (f"tasks: '{{{{ context.t }}}}', max_tasks: 4, task_retries: 1, {SAVE}", 12),
    ],
)
def test_the_calls_of_a_graph_are_bounded_by_its_attempts(keys: str, calls: float) -> None:
    task = f"{{name: g, type: task_graph, task_variable: t, {keys}, {BODY}}}"
    assert worst(team("a", tasks=task)).total.model_calls == calls


def test_a_person_may_be_asked_about_every_task() -> None:
    keys = "tasks: '{{ context.t }}', max_tasks: 6, on_failed_task: ask"
    task = f"{{name: g, type: task_graph, task_variable: t, {keys}, {BODY}}}"
    total = worst(team("a", tasks=task)).total
    assert total.approvals == 6
    assert total.model_calls != math.inf
