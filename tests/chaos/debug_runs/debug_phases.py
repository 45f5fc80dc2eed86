"""The phases of an agent that debugs, in their order, and how the server tells which one it is."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from temporalio.api.enums.v1 import PendingActivityState
from temporalio.client import WorkflowExecutionDescription


class Phase(NamedTuple):
    """Where the agent is when its worker dies."""

    name: str
    activity: str = ""
    """A pattern of the id of the activity in progress; empty: the run is paused, with none."""
    kind: str = "run_agent"
    """The type of that activity."""


PHASES = (
    Phase("planning", r"\.plan$"),
    Phase("acting: a model turn", r"\.act\.t1$"),
    Phase("acting: the tests", r"\.shell_exec@", "call_function"),
    Phase("observing", r"\.observe$"),
    Phase("reasoning", r"\.reason$"),
    Phase("reflection", r"\.reflect$"),
    Phase("between two attempts"),
)
"""In the order in which one run comes to them."""


class InProgress(NamedTuple):
    """An activity that a worker has begun."""

    id: str
    kind: str


def in_progress(described: WorkflowExecutionDescription) -> list[InProgress]:
    """Return the activities that workers have begun, by the server's own account."""
    return [
        InProgress(one.activity_id, one.activity_type.name)
        for one in described.raw_description.pending_activities
        if one.state == PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
    ]


def meets(phase: Phase, working: Sequence[InProgress]) -> bool:
    """Return whether the run is in a phase that has an activity."""
    return any(one.kind == phase.kind and re.search(phase.activity, one.id) for one in working)
