"""The step that runs tasks that depend on each other."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, JsonValue
from typing_extensions import override

from coterie.dsl.model.facts import GRAPH_VARIABLE
from coterie.dsl.model.step_kinds.step_base import (
    COMMON_BOUNDS,
    CONCURRENCY,
    ITERATIONS,
    SetVariable,
    StepBase,
)
from coterie.dsl.model.step_kinds.step_list import Choosing, EachTask, OnFailedTask, StepList
from coterie.dsl.model.template_bound import (
    MAX_GRAPH_TASKS,
    MAX_RETRIES,
    Bound,
    BoundKey,
    ConcurrencyBound,
    RetriesBound,
    TasksBound,
)
from coterie.dsl.values import Json, NodePath, closed_mapping

if TYPE_CHECKING:  # `steps` adds it when all kinds are known
    from coterie.dsl.model.steps import Step


TaskOrder = Literal["written", "critical_path"]
"""Which available task of a task graph comes first."""

_TEXT: Json = {"type": "string"}
_COUNT: Json = {"type": "integer", "minimum": 0}
_STATUSES: tuple[str, ...] = (
    "pending",
    "in_progress",
    "completed",
    "failed",
    "blocked",
    "skipped",
)
_DATA = closed_mapping(
    {
        "tasks": {
            "type": "array",
            "items": closed_mapping(
                {
                    "id": _TEXT,
                    "status": {"enum": [*_STATUSES]},
                    "because": _TEXT,
                    "attempts": _COUNT,
                    "data": {},
                }
            ),
        },
        "counts": closed_mapping(dict.fromkeys(_STATUSES, _COUNT)),
        "iterations": _COUNT,
        "completed": {"type": "boolean"},
        "notes": {"type": "array"},
        "dropped": {"type": "integer", "minimum": 1},
    },
    "dropped",
)


class TaskGraphStep(StepBase):
    """Runs tasks that depend on each other: usually what a planner answered."""

    implied_by: ClassVar = ("task_variable", "on_failed_task")
    filled: ClassVar = ("tasks", "chosen", "add")
    bounds: ClassVar = (
        *COMMON_BOUNDS,
        ITERATIONS,
        CONCURRENCY,
        BoundKey(("max_tasks",), "count", MAX_GRAPH_TASKS),
        BoundKey(("task_retries",), "retries", MAX_RETRIES),
    )
    fails_itself: ClassVar = True

    kind: Literal["task_graph"]
    tasks: JsonValue
    """A list of tasks, each a mapping with `id` and `dependencies`; or a template for one."""
    task_variable: str
    """The name of the current task in its steps."""
    concurrency: ConcurrencyBound = 1
    """The number of concurrent tasks. Like all bounds of a task graph: a number, `{value: template,
    maximum}`, or a context path with a maximum."""
    order: TaskOrder = "written"
    """Which available task comes first: `written`, or on the `critical_path`."""
    task_retries: RetriesBound = 0
    """Additional attempts of a failed task."""
    max_iterations: Bound | None = None
    """Maximum attempts of all tasks together."""
    max_tasks: TasksBound | None = None
    """Maximum tasks, with those that `add` adds."""
    select: tuple["Step", ...] = ()
    """Steps that run before `chosen` when several tasks are available."""
    chosen: str | None = None
    """The id of the task that comes next, a template; else the first available one."""
    body: tuple["Step", ...] = Field(min_length=1)
    """The steps of one task, with variables of their own."""
    add: JsonValue = None
    """A template for new tasks, filled after the body."""
    on_failed_task: Literal["block", "skip", "ask", "stop"] | tuple["Step", ...] = "block"
    """What follows when a task has failed in all its attempts; steps may save it."""

    @property
    @override
    def lacks_bound(self) -> str | None:
        open_end = self.add is not None or not isinstance(self.tasks, list)
        unbounded = open_end and self.max_iterations is None and self.max_tasks is None
        return "max_tasks" if unbounded else None

    @property
    @override
    def has_own_rounds(self) -> bool:
        return True

    @override
    def lists(self, path: NodePath = ()) -> Iterator[StepList]:
        yield StepList(self.select, (*path, "select"), Choosing())
        yield StepList(self.body, (*path, "body"), EachTask())
        recovery = self.on_failed_task if isinstance(self.on_failed_task, tuple) else ()
        yield StepList(recovery, (*path, "on_failed_task"), OnFailedTask())

    @property
    @override
    def data_form(self) -> Json:
        return _DATA

    @override
    def with_lists(self, lists: Iterator[tuple["Step", ...]]) -> Self:
        update: dict[str, object] = {"select": next(lists), "body": next(lists)}
        recovery = next(lists)
        if isinstance(self.on_failed_task, tuple):
            update["on_failed_task"] = recovery
        return self.model_copy(update=update)

    @override
    def variables(self) -> Iterator[SetVariable]:
        yield from super().variables()
        yield SetVariable(self.task_variable, ("task_variable",), "within")
        yield SetVariable(GRAPH_VARIABLE, (), "provided")
