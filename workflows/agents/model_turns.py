"""One model turn: its name, its cost against the budgets, and its outcome."""

from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    CallOptions,
    FailureType,
    InnerCall,
    StartedBatch,
    TurnSuffix,
    id_of_look,
    id_of_unwanted,
)
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.retryability import may_have_happened
from coterie.workflows.agents.repeatable_attempts import note_answer, note_effect
from coterie.workflows.agents.repeated_calls import notes
from coterie.workflows.approvals.egress_approval import LabelledCall, meet_labels
from coterie.workflows.budgets.balances import paid
from coterie.workflows.budgets.call_admission import (
    admit_call,
    admit_input,
    in_flight,
    remember_tokens,
)
from coterie.workflows.budgets.call_estimates import (
    CallEstimate,
    count_cut_off,
    estimate_call,
    is_cut_off,
)
from coterie.workflows.budgets.reservations import reserving
from coterie.workflows.core.causes.agent_causes import BatchSubmitted
from coterie.workflows.core.location import Location, Skipped
from coterie.workflows.core.progress.agent_progress import ParkedTurn
from coterie.workflows.core.scope import Call, CallFailed, Interrupted, Scope, on_abort
from coterie.workflows.core.trail import note_step
from coterie.workflows.core.usage import began, tally_of, used

_FIRST_LOOK_SECONDS = 30.0
_MAX_LOOK_SECONDS = 600.0
"""Waits between two looks at a batch: they double up to this."""
_GIVE_UP = CallOptions(timeout=10, retries=0)


async def turn_notices(
    scope: Scope, location: Location, persona: str, *, boundary: bool
) -> tuple[str, ...]:
    """Wait until the turn may start; return what the agent should know besides its prompt."""
    nudges = notes(location, scope)
    if not scope.plan.budgets:
        return nudges
    personas = (*location.personas, persona)
    return nudges + await admit_call(scope, location, personas, "model_calls", boundary=boundary)


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One model turn, on whichever model."""

    request: AgentRequest
    call: Call
    persona: str
    """Its key in the plan, or the name of a legacy agent's step; its budgets pay."""
    model: str
    """`provider/model`; empty for a legacy agent."""
    location: Location
    scope: Scope
    parked: ParkedTurn | None = None
    """Where it continues, if it has begun before the run continued as new: it is neither admitted
    nor counted again."""

    def take(self) -> Coroutine[None, None, AgentResponse]:
        """Run the turn, count what it used, and charge the budgets of the plan.

        It waits while it would exceed a budget together with the turns in progress.

        Raises:
            CallFailed: it has no answer.
            BudgetExceeded: a budget is used up after the wait, and the run stops.
            Redirected: the run then leaves the team for another.
            RunLeft: the run then leaves everything in progress.
        """
        return self._within_budgets() if self.scope.plan.budgets else self._count()

    @property
    def _payers(self) -> tuple[str, ...]:
        return (*self.location.personas, self.persona)

    async def _within_budgets(self) -> AgentResponse:
        scope, location, personas = self.scope, self.location, self._payers
        begun = self.parked is not None
        if not begun:
            await admit_input(scope, location, personas, self.model, self.request)
        # a run that continues as new gives the reservation back: a turn that waits for it can end
        async with reserving(scope, location, personas, self._estimate, begun=begun):
            return await self._count()

    def _estimate(self) -> CallEstimate | None:
        persona = self.request.persona or self.scope.plan.personas.get(self.persona)
        if persona is None:
            return None
        earlier = tally_of(self.scope.state, self.location, self.model)
        return estimate_call(persona, self.model, self.request, earlier)

    async def _count(self) -> AgentResponse:
        scope, location, state = self.scope, self.location, self.scope.state
        tally = None if self.parked is None else tally_of(state, location, self.model)
        tally = tally or began(state, location, self.persona, self.model)
        since = scope.time()
        try:
            response = await (self._pay() if scope.plan.budgets else self._answer())
        except CallFailed as error:
            note_answer(location, state, error.type)
            if error.spent is not None:
                used(state, location, tally, error.spent)
                _meet(error.spent.inner_calls, location, scope)
            raise
        except BaseException as error:
            if is_cut_off(error):
                count_cut_off(self.request, tally, since, self._payers, location, scope)
            raise
        note_answer(location, state, None if response.error is None else response.error.type)
        used(state, location, tally, response)
        _meet(response.inner_calls, location, scope)
        if scope.plan.budgets:
            remember_tokens(state, self.request, response)
        return response

    async def _pay(self) -> AgentResponse:
        scope, location = self.scope, self.location
        try:
            response = await in_flight(scope, self._answer())
        except CallFailed as error:
            if error.spent is not None:
                paid(scope, location, self._payers, error.spent, self.model)
            raise
        paid(scope, location, self._payers, response, self.model)
        return response

    async def _answer(self) -> AgentResponse:
        """Return the answer; if the provider takes the turn as a batch, wait until that has one.

        Looks are short activities with growing waits between them.
        """
        scope, location, call, parked = self.scope, self.location, self.call, self.parked
        if parked is None:
            response = await scope.run_agent(self.request, call)
            if response.in_progress is None:
                return response
            batch = response.in_progress
            parked = ParkedTurn(batch, call.id, scope.time(), _FIRST_LOOK_SECONDS)
            note_step(scope, location, "batch", BatchSubmitted("batch_submitted", batch.id))
        batch = parked.batch
        try:
            async with on_abort(lambda: self._give_up(batch), failures=False):
                return await self._collect(parked)
        except Skipped:
            await self._give_up(batch)
            raise
        except Interrupted:
            scope.state.progress.parked_turns[location.key] = parked
            raise

    async def _collect(self, parked: ParkedTurn) -> AgentResponse:
        """Look for the answer of a batch until it is there."""
        scope, call = self.scope, self.call
        while True:
            await _until_look(scope, call, parked)
            parked.looks += 1
            waited = round(scope.time() - parked.began, 2)
            started = parked.batch.model_copy(update={"waited": waited})
            look = self.request.model_copy(update={"started": started})
            named = call._replace(id=id_of_look(call.id, parked.looks))
            response = await scope.run_agent(look, named)
            if response.in_progress is None:
                return response
            parked.wait = min(2 * parked.wait, _MAX_LOOK_SECONDS)

    async def _give_up(self, batch: StartedBatch) -> None:
        """Cancel a batch that nobody waits for; if the provider is silent, it ends by itself."""
        request, call = self.request, self.call
        unwanted = AgentRequest(
            team=request.team,
            task=request.task,
            visit=request.visit,
            provider=request.provider_name,
            started=batch.model_copy(update={"unwanted": True}),
        )
        named = call._replace(id=id_of_unwanted(call.id), options=_GIVE_UP)
        with suppress(CallFailed):
            await self.scope.run_agent(unwanted, named)


def _meet(calls: tuple[InnerCall, ...], location: Location, scope: Scope) -> None:
    """Keep what the calls of an agent's own code have brought, and forget reads after effects."""
    for call in calls:
        meet_labels(LabelledCall(call.skill, call.labels), location, scope)
    if any(call.effect != "read" for call in calls):
        scope.state.forget_reads()
    if has_acted(calls):
        note_effect(location, scope.state)


def has_acted(calls: tuple[InnerCall, ...]) -> bool:
    """Return whether the agent's own code has called what must not happen twice."""
    return any(may_have_happened(call.effect, None) for call in calls)


async def _until_look(scope: Scope, call: Call, parked: ParkedTurn) -> None:
    """Wait for the next look at a batch, unless a person skips the step.

    Raises:
        Interrupted: the run continues as new, and then with this wait.
    """
    skips = scope.state.skips
    seconds = parked.wait if parked.left is None else parked.left
    parked.left = None
    summary = f"{call.summary} waits for batch {parked.batch.id}"
    try:
        skipped = await scope.wait_until(lambda: call.step in skips, seconds, summary)
        await scope.checkpoint()
    except Interrupted as interrupted:
        parked.left = interrupted.left or 0.0
        raise
    if skipped:
        raise Skipped(skips.pop(call.step).value)


def turn_call(
    name: str, location: Location, scope: Scope, options: CallOptions, suffix: TurnSuffix
) -> Call:
    """Count a model turn of the run, and return its name; `suffix` tells turns of a step apart."""
    state = scope.state
    state.calls += 1
    state.model_calls += 1
    return named_call(f"{state.calls:04}.{location.team}.{name}{suffix}", location, options, suffix)


def named_call(id: str, location: Location, options: CallOptions, suffix: TurnSuffix) -> Call:
    """Return a model turn by the name that it has."""
    path = location.step
    return Call(id=id, summary=f"{path}{suffix}", options=options, step=path)


def is_worth_a_reask(response: AgentResponse) -> bool:
    """Return whether the model can do better if it learns what is wrong with its answer."""
    if response.error is None or response.error.type != FailureType.ANSWER_UNUSABLE:
        return False
    return not has_acted(response.inner_calls)  # its code would call again


def turn_outcome(response: AgentResponse) -> Outcome:
    """Return the outcome of a model turn."""
    if response.success:
        return Outcome.succeeded(response.data)
    error = response.error
    if error is None:
        return Outcome.failed(
            "AgentFailed", "the agent reports a failure without an error", response.data
        )
    return Outcome.failed(error.type, error.message, response.data)
