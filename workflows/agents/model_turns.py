"""One model turn: its name, its cost against the budgets, and its outcome."""

from collections.abc import Coroutine
from contextlib import suppress
from typing import NamedTuple

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
from coterie.workflows.budgets.call_admission import admit_call, in_flight
from coterie.workflows.budgets.call_estimates import CallEstimate, estimate_call
from coterie.workflows.budgets.cut_off_calls import counting_if_cut_off
from coterie.workflows.budgets.input_admission import admit_input, remember_tokens
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


class Turner(NamedTuple):
    """Whose turn it is."""

    persona: str
    """Its key in the plan, or the name of a legacy agent's step."""
    model: str
    """`provider/model`; empty for a legacy agent."""


async def turn_notices(
    scope: Scope, location: Location, persona: str, *, boundary: bool
) -> tuple[str, ...]:
    """Wait until the turn may start; return what the agent should know besides its prompt."""
    nudges = notes(location, scope)
    if not scope.plan.budgets:
        return nudges
    personas = (*location.personas, persona)
    return nudges + await admit_call(scope, location, personas, "model_calls", boundary=boundary)


def take_turn(
    scope: Scope,
    location: Location,
    turner: Turner,
    request: AgentRequest,
    call: Call,
    parked: ParkedTurn | None = None,
) -> Coroutine[None, None, AgentResponse]:
    """Run one model turn, count what it used, and charge the budgets of the plan.

    It waits while it would exceed a budget together with the turns in progress. A parked turn has
    begun before the run continued as new: it is neither admitted nor counted again.

    Raises:
        CallFailed: it has no answer.
        BudgetExceeded: a budget is used up after the wait, and the run stops.
        Redirected: the run then leaves the team for another.
        RunLeft: the run then leaves everything in progress.
    """
    take = _within_budgets if scope.plan.budgets else _count_turn
    return take(scope, location, turner, request, call, parked)


async def _within_budgets(
    scope: Scope,
    location: Location,
    turner: Turner,
    request: AgentRequest,
    call: Call,
    parked: ParkedTurn | None,
) -> AgentResponse:
    personas, begun = (*location.personas, turner.persona), parked is not None
    if not begun:
        await admit_input(scope, location, personas, turner.model, request)

    def estimate() -> CallEstimate | None:
        return _estimate(scope, location, turner, request)

    # a run that continues as new gives the reservation back: a turn that waits for it can end
    async with reserving(scope, location, personas, estimate, begun=begun):
        return await _count_turn(scope, location, turner, request, call, parked)


def _estimate(
    scope: Scope, location: Location, turner: Turner, request: AgentRequest
) -> CallEstimate | None:
    persona = request.persona or scope.plan.personas.get(turner.persona)
    if persona is None:
        return None
    earlier = tally_of(scope.state, location, turner.model)
    return estimate_call(persona, turner.model, request, earlier)


async def _count_turn(
    scope: Scope,
    location: Location,
    turner: Turner,
    request: AgentRequest,
    call: Call,
    parked: ParkedTurn | None,
) -> AgentResponse:
    state = scope.state
    tally = None if parked is None else tally_of(state, location, turner.model)
    tally = tally or began(state, location, turner.persona, turner.model)
    personas = (*location.personas, turner.persona)
    try:
        with counting_if_cut_off(scope, location, personas, request, tally):
            if scope.plan.budgets:
                response = await _pay_for_turn(scope, location, turner, request, call, parked)
            else:
                response = await _answer_of_turn(scope, location, request, call, parked)
    except CallFailed as error:
        note_answer(location, state, error.type)
        if error.spent is not None:
            used(state, location, tally, error.spent)
            _meet(error.spent.inner_calls, location, scope)
        raise
    note_answer(location, state, None if response.error is None else response.error.type)
    used(state, location, tally, response)
    _meet(response.inner_calls, location, scope)
    if scope.plan.budgets:
        remember_tokens(state, request, response)
    return response


def _meet(calls: tuple[InnerCall, ...], location: Location, scope: Scope) -> None:
    """Keep what the calls of an agent's own code have brought, and forget reads after effects."""
    for one in calls:
        meet_labels(LabelledCall(one.skill, one.labels), location, scope)
    if any(one.effect != "read" for one in calls):
        scope.state.forget_reads()
    if has_acted(calls):
        note_effect(location, scope.state)


def has_acted(calls: tuple[InnerCall, ...]) -> bool:
    """Return whether the agent's own code has called what must not happen twice."""
    return any(may_have_happened(one.effect, None) for one in calls)


async def _pay_for_turn(
    scope: Scope,
    location: Location,
    turner: Turner,
    request: AgentRequest,
    call: Call,
    parked: ParkedTurn | None,
) -> AgentResponse:
    personas = (*location.personas, turner.persona)
    try:
        response = await in_flight(scope, _answer_of_turn(scope, location, request, call, parked))
    except CallFailed as error:
        if error.spent is not None:
            paid(scope, location, personas, error.spent, turner.model)
        raise
    paid(scope, location, personas, response, turner.model)
    return response


async def _answer_of_turn(
    scope: Scope, location: Location, request: AgentRequest, call: Call, parked: ParkedTurn | None
) -> AgentResponse:
    """Run the turn; if its provider takes it as a batch, wait until that has an answer.

    Looks are short activities with growing waits between them.
    """
    if parked is None:
        response = await scope.run_agent(request, call)
        if response.in_progress is None:
            return response
        batch = response.in_progress
        parked = ParkedTurn(batch, call.id, scope.time(), _FIRST_LOOK_SECONDS)
        note_step(scope, location, "batch", BatchSubmitted("batch_submitted", batch.id))
    try:
        async with on_abort(lambda: _give_up(scope, request, call, parked.batch), failures=False):
            return await _collect_batch(scope, request, call, parked)
    except Skipped:
        await _give_up(scope, request, call, parked.batch)
        raise
    except Interrupted:
        scope.state.progress.parked_turns[location.key] = parked
        raise


async def _collect_batch(
    scope: Scope, request: AgentRequest, call: Call, parked: ParkedTurn
) -> AgentResponse:
    """Look for the answer of a batch until it is there."""
    while True:
        await _until_look(scope, call, parked)
        parked.looks += 1
        waited = round(scope.time() - parked.began, 2)
        started = parked.batch.model_copy(update={"waited": waited})
        look = request.model_copy(update={"started": started})
        response = await scope.run_agent(look, call._replace(id=id_of_look(call.id, parked.looks)))
        if response.in_progress is None:
            return response
        parked.wait = min(2 * parked.wait, _MAX_LOOK_SECONDS)


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


async def _give_up(scope: Scope, request: AgentRequest, call: Call, batch: StartedBatch) -> None:
    """Cancel a batch that nobody waits for; a provider that does not answer ends it by itself."""
    unwanted = AgentRequest(
        team=request.team,
        task=request.task,
        visit=request.visit,
        provider=request.provider_name,
        started=batch.model_copy(update={"unwanted": True}),
    )
    with suppress(CallFailed):
        await scope.run_agent(unwanted, call._replace(id=id_of_unwanted(call.id), options=_GIVE_UP))


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
