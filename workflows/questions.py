"""Questions: what a run answers while it runs and ever after. Reads, and changes nothing.

Part of TeamWorkflow.
"""

from temporalio import workflow

from dsl.plan import Plan
from workflows.board import status
from workflows.messages import Pending, RunStatus, TrailPage
from workflows.state import RunState

_TRAIL_PAGE = 200


class Questions:
    """The queries of a run."""

    plan: Plan | None
    state: RunState
    done: bool

    @workflow.query(description="Where the run is and what it has used")
    def status(self) -> RunStatus:
        """Where the run is."""
        return status(self.plan, self.state, done=self.done)

    @workflow.query(description="The requests that wait for a person")
    def pending(self) -> list[Pending]:
        """What waits for a person."""
        return list(self.state.pending.values())

    @workflow.query(description="What happened and because of what, after entry number `since`")
    def trail(self, since: int = 0) -> TrailPage:
        """A page of the trail; the latest thousand entries are kept here, history has all."""
        entries = [entry for entry in self.state.trail if entry.number > since]
        page = tuple(entry.told() for entry in entries[:_TRAIL_PAGE])
        return TrailPage(entries=page, more=len(entries) > _TRAIL_PAGE)
