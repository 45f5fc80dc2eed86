"""Task graphs in progress, for the query `status` and the live board."""

from itertools import islice

from coterie.dsl.markdown import code, plain
from coterie.dsl.task_graph.graph_tasks import GraphTask, GraphTaskStatus
from coterie.dsl.task_graph.task_because import task_because
from coterie.dsl.task_graph.task_schedule import pending_cause
from coterie.dsl.visible import shortened_text
from coterie.workflows.core.progress.progress_kinds import TaskGraphProgress
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import StateKey, StepKey
from coterie.workflows.core.views import GraphTaskView, TaskGraphView

_MAX_GRAPHS = 5
_MAX_TASKS = 50
_MAX_NAMED = 5
_MAX_BECAUSE_LENGTH = 300
_FIRST: dict[GraphTaskStatus, int] = {"in_progress": 0, "failed": 1, "blocked": 2, "pending": 3}
_LAST = 4


def graph_views(state: RunState) -> tuple[TaskGraphView, ...]:
    """Return the task graphs in progress, each with the tasks that matter most."""
    graphs = islice(state.progress.task_graphs.items(), _MAX_GRAPHS)
    return tuple(_view(StateKey(key).step, progress) for key, progress in graphs)


def _view(step: StepKey, progress: TaskGraphProgress) -> TaskGraphView:
    tasks, order = progress.tasks, list(range(len(progress.tasks)))
    if len(tasks) > _MAX_TASKS:
        order.sort(key=lambda index: _FIRST.get(tasks[index].status, _LAST))
        order = sorted(order[:_MAX_TASKS])
    known = {task.id: task for task in tasks}
    return TaskGraphView(
        step=step,
        counts={status: number for status, number in progress.counts.items() if number},
        tasks=tuple(_task(tasks[index], known) for index in order),
        left_out=len(tasks) - len(order),
    )


def _task(task: GraphTask, known: dict[str, GraphTask]) -> GraphTaskView:
    because = task_because(task.cause or pending_cause(task, known.__getitem__))
    return GraphTaskView(
        id=task.id, status=task.status, because=shortened_text(because, _MAX_BECAUSE_LENGTH)
    )


def graph_lines(state: RunState) -> str:
    """Return a line of Markdown for each task graph: how many tasks have which status."""
    return "".join(
        f"- tasks of {code(StateKey(key).step)}: {_counts(progress)}{_running(progress)}\n"
        for key, progress in islice(state.progress.task_graphs.items(), _MAX_GRAPHS)
    )


def _counts(progress: TaskGraphProgress) -> str:
    return ", ".join(
        f"{number} {status.replace('_', ' ')}"
        for status, number in progress.counts.items()
        if number
    )


def _running(progress: TaskGraphProgress) -> str:
    names = [
        plain(progress.tasks[int(number)].id) for number in islice(progress.running, _MAX_NAMED)
    ]
    return f" ({', '.join(names)})" if names else ""
