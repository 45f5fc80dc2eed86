"""Tasks that depend on each other."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from typing_extensions import override

from coterie.dsl.checks.steps.list_checks import check_list
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.json_schema.schema_parts import has, none_of
from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import TaskGraphStep
from coterie.dsl.model.template_bound import maximum_of
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.problem_texts import called
from coterie.dsl.source.nodes import Place
from coterie.dsl.task_graph.graph_tasks import MAX_TASKS, TaskNotes
from coterie.dsl.task_graph.task_because import note_words
from coterie.dsl.task_graph.task_reading import read_tasks
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import Json, JsonValue, NodePath

_BOUND = "add `max_iterations: 30` (attempts of all tasks) or `max_tasks: 20`"


@rule("E102")
def unbounded_graph(step: str) -> ProblemText:
    return ProblemText(f"{called(step, 'the task graph')} has no bound", fix=_BOUND)


@rule("E102")
def unbounded_additions(step: str) -> ProblemText:
    return ProblemText(
        f"`add` of {called(step, 'the task graph')} adds tasks without a maximum", fix=_BOUND
    )


@rule("E107")
def chosen_without_select(step: str) -> ProblemText:
    return ProblemText(
        f"`chosen` of {called(step, 'the task graph')} has no steps that choose",
        fix="add `select:` with a step that chooses, or remove `chosen`",
    )


@rule("E102")
def select_without_chosen(step: str) -> ProblemText:
    return ProblemText(
        f"the key 'chosen' is missing: nothing reads what `select` of {called(step)} chooses",
        fix='add `chosen: "{{ tasks.<step of select>.data.<field> }}"`',
    )


@rule("E106")
def no_recovery_steps(step: str) -> ProblemText:
    return ProblemText(
        f"`on_failed_task` of {called(step, 'the task graph')} is empty",
        "block, skip, ask, stop, or steps",
        "remove it: `block` is the default",
    )


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
        bounded = step.max_iterations is not None or step.max_tasks is not None
        if step.add is not None and not bounded:
            scope.report(unbounded_additions(step.name), (*path, "add"))
        elif not bounded and not isinstance(step.tasks, list):
            scope.report(unbounded_graph(step.name), path)
        if step.chosen is not None and not step.select:
            scope.report(chosen_without_select(step.name), (*path, "chosen"))
        if step.select and step.chosen is None and not scope.has_problem((*path, "chosen")):
            scope.report(select_without_chosen(step.name), (*path, "select"))
        if step.add is not None:
            check_list(scope, step.add, (*path, "add"), "add")
        if step.on_failed_task == ():
            scope.report(no_recovery_steps(step.name), (*path, "on_failed_task"))
        if isinstance(step.tasks, list):
            _check_written_tasks(scope, step, step.tasks, path)

    @override
    def details(self, step: TaskGraphStep, plan: Plan, words: StepWords) -> Iterable[str]:
        tasks = step.tasks
        listed = isinstance(tasks, list)
        yield f"over {words.counted(len(tasks), 'task') if listed else words.value(tasks)}"
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


@rule("E106")
def more_tasks_than_allowed(step: str, tasks: int, allowed: int) -> ProblemText:
    return ProblemText(
        f"{called(step, 'the task graph')} has {tasks} tasks, and `max_tasks` allows {allowed}",
        fix=f"write `max_tasks: {tasks}` or more",
    )


@rule("E105")
def unusable_task(note: str) -> ProblemText:
    return ProblemText(note, fix="correct the id or the dependency")


def _check_written_tasks(
    scope: StepScope, step: TaskGraphStep, items: list[JsonValue], path: NodePath
) -> None:
    """Note what the validation would change in the tasks of the document."""
    key_path = (*path, "tasks")
    if step.max_tasks is not None and len(items) > maximum_of(step.max_tasks):
        details = more_tasks_than_allowed(step.name, len(items), int(maximum_of(step.max_tasks)))
        scope.problems.report(details, Place(scope.tree.find((*path, "max_tasks")).at, key_path))
    if any(map(_has_template, items)):
        return
    notes = TaskNotes()
    tasks = read_tasks(items, (), notes, room=MAX_TASKS)
    for note in notes.kept:
        if note.code != "id_missing":
            scope.report(unusable_task(note_words(note)), key_path)
    ids = [task.id for task in tasks]
    if step.chosen is not None and not is_template(step.chosen) and step.chosen not in ids:
        scope.unknown("task", step.chosen, ids, (*path, "chosen"))


def _has_template(item: JsonValue) -> bool:
    """Whether the id or the dependencies of a written task are known in the run only."""
    if isinstance(item, str):
        return is_template(item)
    if not isinstance(item, dict):
        return False
    before = item.get("dependencies")
    named = [item.get("id"), *(before if isinstance(before, list) else [before])]
    return any(isinstance(name, str) and is_template(name) for name in named)
