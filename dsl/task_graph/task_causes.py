"""Task causes: why a task of a task graph has its status, as facts and not as words.

As in `dsl.model.causes`, every cause has a stable `code`; `dsl.task_graph.task_because` renders
them for people.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from coterie.dsl.model.outcomes import Failure


@dataclass(frozen=True, slots=True)
class GraphTaskStarted:
    """The task is in progress: how it came to be the next."""

    code: Literal["task_next", "task_chosen", "choice_unavailable", "choice_failed"]
    """`task_next`: first in the order of the graph; `task_chosen`: `chosen` names it;
    `choice_unavailable`: `chosen` names no available task, so the first one starts;
    `choice_failed`: `select` or `chosen` failed, so the first one starts."""
    task: str
    available: int = 1
    """Tasks that could have started."""
    choice: str = ""
    """What `chosen` gave."""
    failure: Failure | None = None
    """Why the choice failed."""


EndCode = Literal[
    "task_completed",
    "task_recovered",
    "task_failed",
    "task_passed_over",
    "task_skipped",
    "graph_stopped",
]
"""How a task ended. `task_recovered`: the steps of `on_failed_task` succeeded; `task_passed_over`:
it failed, and `on_failed_task: skip` lets its dependents run; `task_skipped`: by a person."""


@dataclass(frozen=True, slots=True)
class GraphTaskEnded:
    """The task has ended by itself, by `on_failed_task`, or with the graph."""

    code: EndCode
    task: str
    attempts: int = 1
    failure: Failure | None = None
    """Of its last attempt; of `graph_stopped`, the one that stopped the graph."""
    recovery: Failure | None = None
    """Why the steps of `on_failed_task` did not save the task."""
    stopped_by: str = ""
    """The task whose failure stopped the graph; empty if its choice did."""


@dataclass(frozen=True, slots=True)
class GraphTaskBlocked:
    """The task cannot start, because a task before it failed."""

    code: Literal["task_blocked"]
    task: str
    dependency: str
    """What it depends on."""
    failed: str
    """The task that failed: the dependency, or one before it."""


@dataclass(frozen=True, slots=True)
class GraphTaskWaits:
    """The task has not started."""

    code: Literal["task_waits", "task_ready", "iterations_used_up"]
    task: str
    dependencies: tuple[str, ...] = ()
    """The first of those that have yet to end."""
    more: int = 0
    """How many follow them."""

    @property
    def is_ready(self) -> bool:
        """Whether it waits for no other task."""
        return self.code == "task_ready"


AnyGraphTaskCause = GraphTaskStarted | GraphTaskEnded | GraphTaskBlocked | GraphTaskWaits
"""The types of `GraphTaskCause`."""

GraphTaskCause = Annotated[AnyGraphTaskCause, Field(discriminator="code")]
"""Why a task has its status."""
