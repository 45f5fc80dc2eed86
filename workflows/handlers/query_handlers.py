"""Query handlers: what a run answers, during the run and after its end. They change nothing.

Part of TeamWorkflow. An answer stays below what the `temporal` CLI prints in full; an invalid query
gets a sentence that says how to ask.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from coterie.dsl.errors import RunRefused
from coterie.dsl.model.plan import Plan
from coterie.workflows.budgets.costs import report
from coterie.workflows.core.decoding import Model, argument, takes_any_arguments
from coterie.workflows.core.messages import EventsAsked, RequestAsked, StateAsked
from coterie.workflows.core.requests import Pending, RequestView
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import CostReport, RunStatus, StateView, TeamResult, TrailPage
from coterie.workflows.handlers import query_answers as looking
from coterie.workflows.handlers.board import status

T = TypeVar("T")


def _answer_query(
    given: Sequence[RawValue],
    model: type[Model],
    key: str,
    answer: Callable[[Model], T],
    allowed: str,
) -> T:
    """Answer a query whose argument is an object, or the value of its one key."""
    try:
        asked = argument(given, model, key)
    except RunRefused as error:
        refusal = f"{error}; ask with {allowed}"
    else:
        try:
            return answer(asked)
        except RunRefused as error:
            refusal = str(error)
    raise ApplicationError(refusal, type="Refused", non_retryable=True)


class QueryHandlers:
    """The queries of a run."""

    plan: Plan | None
    state: RunState
    done: bool
    came_to: TeamResult | None

    @workflow.query(description="Where the run is and what it has used")
    def status(self) -> RunStatus:
        """Return where the run is and what it does."""
        return status(self.plan, self.state, done=self.done)

    @workflow.query(description="What the run came to, also when it was cancelled; null before")
    def result(self) -> TeamResult | None:
        """Return the result of the run; a cancelled run has no other place for it."""
        return self.came_to

    @workflow.query(description="What the run has used, and what is left of its budgets")
    def cost(self) -> CostReport:
        """Return the usage of the run."""
        return report(self.plan, self.state)

    @workflow.query(description="The requests that wait for a person")
    def pending(self) -> list[Pending]:
        """Return the open requests; cut values are in full in the query `request`."""
        return looking.pending(self.state)

    @workflow.query(description="One request, whole, or how it was decided: {id}")
    @takes_any_arguments
    def request(self, *given: RawValue) -> RequestView:
        """Return one request in full."""
        return _answer_query(
            given,
            RequestAsked,
            "id",
            lambda asked: looking.request(self.state, asked.id),
            'an id like "review/sign_off#1", or {"id": "review/sign_off#1"}',
        )

    @workflow.query(description="What happened and because of what, after entry number {since}")
    @takes_any_arguments
    def events(self, *given: RawValue) -> TrailPage:
        """Return a page of the trail: of its latest thousand entries; the history has all."""
        return _answer_query(
            given,
            EventsAsked,
            "since",
            lambda asked: looking.events(self.state, asked.since),
            'nothing, a number like 12, or {"since": 12}',
        )

    @workflow.query(
        name="state", description="What the run remembers, at a {path} like context.topic"
    )
    @takes_any_arguments
    def state_at(self, *given: RawValue) -> StateView:
        """Return the part of the state at a path; a large value appears as size and path."""
        return _answer_query(
            given,
            StateAsked,
            "path",
            lambda asked: looking.look(self.state, asked),
            'nothing, a path like "context.topic", or {"path": "context.topic", "start": 0}',
        )
