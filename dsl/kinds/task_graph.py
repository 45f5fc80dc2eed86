"""Tasks that depend on each other."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from typing_extensions import override

from coterie.dsl.checks.steps.loop_checks import check_list
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.checks.steps.task_graph_checks import check_task_graph
from coterie.dsl.kinds.key_rules import has, none_of
from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import TaskGraphStep
from coterie.dsl.values import Json, NodePath


class TaskGraphKind(Kind[TaskGraphStep]):
    """Tasks that depend on each other."""

    sign = "M2.5 6h3.5v4H2.5zM10 2.5h3.5v3.5H10zM10 10h3.5v3.5H10zM6 8h2V4.2h2M8 8v3.8h2"
    beginning = "task_graph "
    limits: ClassVar = {
        "max_iterations": "attempts of all tasks together",
        "max_tasks": "tasks, with those that the graph adds",
        "task_retries": "more attempts of each task",
        "concurrency": "tasks at once",
    }
    key_rules: ClassVar[Sequence[Json]] = [
        {
            "anyOf": [
                has("max_iterations"),
                has("max_tasks"),
                {"properties": {"tasks": {"type": "array"}}, **none_of("add")},
            ]
        },
        {"dependentRequired": {"select": ["chosen"], "chosen": ["select"]}},
    ]
    written_keys: ClassVar[Json] = {
        "tasks": {
            "description": "A list of tasks, or a template that gives one.",
            "anyOf": [{"type": "array"}, {"type": "string", "pattern": r"\{\{"}],
        }
    }

    @override
    def check(self, scope: StepScope, step: TaskGraphStep, path: NodePath) -> None:
        check_list(scope, step.tasks, (*path, "tasks"), "tasks")
        check_task_graph(scope, step, path)

    @override
    def details(self, step: TaskGraphStep, plan: Plan, words: StepWords) -> Iterable[str]:
        given = step.tasks
        listed = isinstance(given, list)
        yield f"over {words.counted(len(given), 'task') if listed else words.value(given)}"
        if step.max_tasks is not None:
            yield f"at most {words.counted_bound(step.max_tasks, 'task')}"
        if step.max_iterations is not None:
            yield f"at most {words.counted_bound(step.max_iterations, 'attempt')}"
        if step.concurrency != 1:
            yield f"{words.number_bound(step.concurrency)} at once"
        if step.order == "critical_path":
            yield "critical path first"
        if step.task_retries:
            more, of_each = "more attempt of each task", "more attempts of each task"
            yield words.counted_bound(step.task_retries, more, of_each)
        if isinstance(step.on_failed_task, str) and step.on_failed_task != "block":
            yield f"after a failed task: {step.on_failed_task}"
