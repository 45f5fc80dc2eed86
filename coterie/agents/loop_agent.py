"""The agent of the agentic loop, for programs: `Agent(llm).execute(goal, context)`.

    state = await Agent(LLM(model="anthropic/claude-opus-5-5")).execute("Make the tests pass.")

It runs the team `agent_loop`, as `coterie agent run` does: durable, seen by all commands, and
changed by the project's own copy of the plan. There is no second loop in Python.
"""

import logging
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from coterie.agents.team_program import FinishedRun, RunnableTeam
from coterie.dsl.values import Json
from coterie.runs.records import new_id
from coterie.runs.workflow_templates import AGENT_TEAM

REPO_PATH = "repo_path"
"""The key of `context` that names the folder which tools may touch."""


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
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


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
    latest = [_Action.model_validate(action) for action in last.action_history[-1:]]
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


class AgentModel(NamedTuple):
    """Where an agent's model turns go; the defaults are the project's own."""

    config_path: str | Path | None = None
    """A YAML file that is laid over the project's `coterie.yml`: providers, personas, tools."""
    model: str | None = None
    """`provider/model` for every role: planner, reasoner, actor, observer."""
    address: str | None = None
    """`host:port` of a Temporal server. Default: COTERIE_ADDRESS, else the project's own."""


class LoopAgent:
    """Plans a goal as tasks, works on each with tools, and observes every result."""

    def __init__(
        self,
        llm: AgentModel,
        max_iterations: int = 10,
        enable_planning: bool = True,
        enable_reflection: bool = True,
        logger: logging.Logger | None = None,
    ) -> None:
        """Describe the agent; nothing runs yet.

        Args:
            llm: Where its model turns go.
            max_iterations: Attempts of all tasks together, 1 to 50.
            enable_planning: If false, the goal is the one task.
            enable_reflection: Whether it reflects after every third attempt.
            logger: Gets the id of each run when it starts, and how it ended.
        """
        self.llm = llm
        self.max_iterations = max_iterations
        self.enable_planning = enable_planning
        self.enable_reflection = enable_reflection
        self.logger = logger or logging.getLogger(__name__)

    async def execute(self, goal: str, context: Mapping[str, Any] | None = None) -> LoopState:
        """Run the loop until the goal is reached or a limit ends it, and return its last state.

        A run that asks a person waits for `coterie approve` or `coterie reject`. If this process
        ends first, `coterie run --resume ID` continues it.

        Args:
            goal: What to reach, at least 3 characters.
            context: What is known, JSON values: `files`, `error`, ... `repo_path` is the folder
                that tools may touch; default: the project's workspace.

        Raises:
            InvalidTeam: The plan, the configuration or the context is invalid.
            TeamRunError: The run could not be started or followed.
        """
        details = dict(context or {})
        workspace = details.pop(REPO_PATH, None)
        team = RunnableTeam.load(
            AGENT_TEAM,
            address=self.llm.address,
            model=self.llm.model,
            override=self.llm.config_path,
            workspace=workspace,
        )
        id = new_id(AGENT_TEAM)
        self.logger.info("run %s starts; follow it with: coterie watch %s", id, id)
        end = await team.run(
            {
                "goal": goal,
                "details": details,
                "planning": self.enable_planning,
                "reflection": self.enable_reflection,
                "max_iterations": self.max_iterations,
            },
            id=id,
        )
        state = loop_state(end, goal, self.max_iterations)
        verdict = "reached its goal" if state.success else "did not reach its goal"
        self.logger.info("run %s %s; see why with: coterie why %s", id, verdict, id)
        return state


Agent = LoopAgent
"""What programs import: `from coterie.agents import Agent`."""
LLM = AgentModel
"""What programs import: `from coterie.agents import LLM`."""
TaskStatus = LoopTaskStatus
"""What programs import: `from coterie.agents import TaskStatus`."""
