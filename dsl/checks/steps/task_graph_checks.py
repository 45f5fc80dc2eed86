"""Checks of task graphs: their bounds, their choice, and tasks that are written in the document."""

from coterie.dsl.checks.steps.loop_checks import check_list
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.model.steps import TaskGraphStep
from coterie.dsl.model.template_bound import maximum_of
from coterie.dsl.source.nodes import Place
from coterie.dsl.task_graph.graph_tasks import MAX_TASKS, TaskNotes
from coterie.dsl.task_graph.task_because import note_words
from coterie.dsl.task_graph.task_reading import read_tasks
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import JsonValue, NodePath
from coterie.dsl.wording.task_graph_wording import (
    chosen_without_select,
    more_tasks_than_allowed,
    no_recovery_steps,
    select_without_chosen,
    unbounded_additions,
    unbounded_graph,
    unusable_task,
)


def check_task_graph(scope: StepScope, step: TaskGraphStep, path: NodePath) -> None:
    """Note what a task graph lacks, and what has no effect."""
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
    for one in notes.kept:
        if one.code != "id_missing":
            scope.report(unusable_task(note_words(one)), key_path)
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
    return any(isinstance(one, str) and is_template(one) for one in named)
