"""How a run of the agentic loop ended, for programs: its tasks, thoughts and actions."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from coterie.agents.team_program import FinishedRun
from coterie.dsl.values import Json


class LoopTaskStatus(StrEnum):
    """Where a task stands."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    BLOCKED = "blocked"
    SKIPPED = "skipped"
    """A person or a rule left it out; what depends on it may start."""


class _Read(BaseModel):
    """Takes what it knows of a plan's values, which a project may extend."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class LoopTask(_Read):
    """One task of the plan."""

    id: str
    description: str = ""
    status: LoopTaskStatus
    dependencies: tuple[str, ...] = ()
    """Ids of the tasks that must be completed first."""
    result: JsonValue = None
    """What the actor reported; None until the task is completed."""
    error: str | None = None
    """Why it is failed or blocked."""
    metadata: Json = Field(default_factory=dict[str, JsonValue])
    """`tools` that the plan expects, `complexity`, `fallback`, `attempts`."""


def _texts(value: object) -> object:
    """Leave out what a fallback or a project's own plan wrote that is not a text."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]


class LoopState(_Read):
    """The last state of a run."""

    goal: str
    tasks: tuple[LoopTask, ...] = ()
    current_task_id: str | None = None
    """The task of the latest action."""
    iteration: int = 0
    """Attempts of all tasks together."""
    max_iterations: int
    thought_history: Texts = ()
    """Why the reasoner chose a task; only where it had a choice."""
    action_history: tuple[Any, ...] = ()
    """`{task_id, action}` of each attempt: the actor's report."""
    completed: bool
    """Every task is completed."""
    success: bool
    """The run says that the goal is reached."""
    error: str | None = None
    """Why it is not."""
    metadata: Json = Field(default_factory=dict[str, JsonValue])
    """`learnings` and `reflections`."""
    run_id: str
    """For `coterie why ID` and the other commands."""


class _EndedTask(_Read):
    """A task as the state of the plan has it."""

    id: str
    status: LoopTaskStatus
    because: str = ""
    attempts: int = 0
    data: JsonValue = None


class _PlannedTask(_Read):
    """A task as the planner or the observer proposed it."""

    id: str = ""
    description: str = ""
    dependencies: tuple[str, ...] = ()
    required_tools: tuple[str, ...] = ()
    estimated_complexity: str = "medium"
    fallback: str = "ask"


class _EndedState(_Read):
    success: bool = False
    iterations: int = 0
    completed: bool = False
    tasks: tuple[_EndedTask, ...] = ()


class _Action(_Read):
    task_id: str | None = None


class _EndedContext(_Read):
    """What the context of the team `agent_loop` has at its end."""

    state: _EndedState = _EndedState()
    planned: tuple[_PlannedTask, ...] = ()
    thought_history: Texts = ()
    action_history: tuple[Any, ...] = ()
    learnings: Texts = ()
    reflections: Texts = ()


def loop_state(end: FinishedRun, goal: str, max_iterations: int) -> LoopState:
    """Return the state of a finished run of the team `agent_loop`.

    Args:
        end: How the run ended.
        goal: What it was to reach.
        max_iterations: Attempts that it had.

    Raises:
        ValueError: The project has its own plan of this name, whose context has another form.
    """
    last = _EndedContext.model_validate(end.context)
    planned = {task.id: task for task in last.planned}
    alone = _PlannedTask(description=goal)
    latest = [_Action.model_validate(one) for one in last.action_history[-1:]]
    return LoopState(
        goal=goal,
        tasks=tuple(_task(task, planned.get(task.id, alone)) for task in last.state.tasks),
        current_task_id=latest[0].task_id if latest else None,
        iteration=last.state.iterations,
        max_iterations=max_iterations,
        thought_history=last.thought_history,
        action_history=last.action_history,
        completed=last.state.completed,
        success=end.completed and last.state.success,
        error=None if end.completed else end.message,
        metadata={"learnings": list(last.learnings), "reflections": list(last.reflections)},
        run_id=end.id,
    )


def _task(task: _EndedTask, planned: _PlannedTask) -> LoopTask:
    is_done = task.status == LoopTaskStatus.COMPLETED
    return LoopTask(
        id=task.id,
        description=planned.description,
        status=task.status,
        dependencies=planned.dependencies,
        result=task.data,
        error=None if is_done else task.because,
        metadata={
            "tools": list(planned.required_tools),
            "complexity": planned.estimated_complexity,
            "fallback": planned.fallback,
            "attempts": task.attempts,
        },
    )


TaskStatus = LoopTaskStatus
"""What programs import: `from coterie.agents import TaskStatus`."""
