"""One model turn: which model takes it, its cost against the budgets, and its outcome.

The next model of a persona takes over when the retries of the one before have ended. A conversation
stays with the model that took over, so its prefix does not change again. A conversation that has
become long continues as a new one with a summary.
"""

from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    CallOptions,
    CompactionTurn,
    ContextUse,
    FailureType,
    InnerCall,
    StartedBatch,
    TurnSuffix,
    id_of_look,
    id_of_unwanted,
)
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.personas.compaction_policy import Compaction
from coterie.dsl.model.plan import Persona, Plan
from coterie.dsl.model.retryability import may_have_happened
from coterie.dsl.model_names import split_model
from coterie.dsl.tool_loop.context_room import CompactionDue, compaction_due, compaction_limit
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
    counting_if_cut_off,
    estimate_call,
    estimated_news,
)
from coterie.workflows.budgets.reservations import reserving
from coterie.workflows.core.causes.agent_causes import BatchSubmitted, ModelReplaced
from coterie.workflows.core.location import Location, Skipped
from coterie.workflows.core.progress.agent_progress import ParkedTurn
from coterie.workflows.core.scope import Call, CallFailed, Interrupted, Scope, on_abort
from coterie.workflows.core.trail import note_step
from coterie.workflows.core.usage import began, tally_of, used

UNAVAILABLE = (
    FailureType.PROVIDER_UNAVAILABLE,
    FailureType.RATE_LIMITED,
    FailureType.ANSWER_UNREADABLE,
)
"""Failures of a provider, and not of the request: another one may answer."""

OF_FALLBACK = (
    FailureType.PROVIDER_REFUSED,
    FailureType.MISSING_SECRET,
    FailureType.CONTEXT_WINDOW_EXCEEDED,
)
"""Failures of a fallback that has taken over a request: the next one may take it."""


@dataclass(eq=False)
class AgentModels:
    """The models of one agent, and how full its conversation is."""

    models: tuple[str, ...]
    """`provider/model` of the persona, then its fallbacks in written order."""
    policy: Compaction | None = None
    max_tokens: int = 0
    """Of an answer."""
    used: ContextUse | None = None
    """How full the conversation is; None if unknown."""
    at: int = 0
    """The place of the current model."""

    @classmethod
    def of(
        cls, plan: Plan, key: str, persona: Persona | None, latest: str, used: ContextUse | None
    ) -> Self:
        """Continue with the model that took over before.

        Args:
            plan: of the run.
            key: of the persona in the plan.
            persona: of the agent; None for a legacy agent, which has no conversation.
            latest: the fallback that took over; empty if none did.
            used: how full the conversation is.
        """
        if persona is None:
            return cls(("",))
        known = plan.personas.get(key)
        fallbacks = () if known is None else known.fallback
        models = (f"{persona.provider}/{persona.model}", *fallbacks)
        at = models.index(latest) if latest in models else 0
        return cls(models, persona.compaction, persona.max_tokens, used, at)

    @property
    def current(self) -> str:
        """`provider/model` of the next call; empty for a legacy agent."""
        return self.models[self.at]

    @property
    def fallback(self) -> str:
        """The fallback that has taken over; empty if none has."""
        return self.current if self.at else ""

    def addressed(self, request: AgentRequest) -> AgentRequest:
        """Return the request for the current model."""
        return _addressed_to(self.current, request, self.models[0]) if self.at else request

    def replace(self, error: CallFailed) -> ModelReplaced | None:
        """Take the next model, if another one may answer after a failure of the current one."""
        leads_on = error.type in UNAVAILABLE or (self.at > 0 and error.type in OF_FALLBACK)
        if not leads_on or self.at + 1 == len(self.models):
            return None
        failed, self.at = self.current, self.at + 1
        return ModelReplaced("model_replaced", failed, self.current, error.type, error.message)

    def due(self, request: AgentRequest) -> CompactionDue | None:
        """Return why the conversation is compacted before a request; None if it is not."""
        used = self.used
        if used is None or not _has_earlier(request):
            return None
        turn = request.tool_turn
        waiting = turn is not None and bool(turn.results)
        if used.turns <= waiting:
            return None  # nothing could be summed up
        return compaction_due(used.tokens + estimated_news(request), self._limit())

    def due_after(self, request: AgentRequest, failed: CallFailed) -> CompactionDue | None:
        """Return why it is compacted after the worker refused a request; None if it is not."""
        if failed.type != FailureType.CONTEXT_WINDOW_EXCEEDED or self.policy is None:
            return None
        if not _has_earlier(request):
            return None
        return CompactionDue("window_exceeded", 0, self._limit() or 0)

    def summary(
        self, request: AgentRequest, due: CompactionDue
    ) -> tuple["AgentModels", AgentRequest]:
        """Return the models that sum the conversation up, and what they are asked."""
        policy = self.policy
        assert policy is not None, "a conversation is due by its policy"
        asked = CompactionTurn(
            keep_turns=policy.keep_turns,
            limit=due.limit,
            prompt=policy.prompt or "",
            other_model=policy.model is not None,
        )
        request = request.model_copy(update={"compaction": asked, "notices": (), "reask": None})
        if policy.model is None:
            return self, request
        return AgentModels((policy.model,)), _addressed_to(policy.model, request, self.models[0])

    def _limit(self) -> int | None:
        """Return the most tokens of a request; None if unknown, or if nothing is compacted."""
        if self.policy is None:
            return None
        window = None if self.used is None else self.used.window
        return compaction_limit(self.policy, window, self.max_tokens)


def _addressed_to(name: str, request: AgentRequest, planned: str) -> AgentRequest:
    """Return the request for another model than the planned one, both `provider/model`."""
    provider, model = split_model(name)
    if request.persona is None:
        return request.model_copy(update={"provider": provider, "model": model})
    persona = request.persona.model_copy(update={"provider": provider, "model": model})
    turn = request.tool_turn
    if turn is not None:  # the agent stays the same one in its conversation
        turn = turn.model_copy(update={"planned": planned})
    return request.model_copy(update={"persona": persona, "tool_turn": turn})


def _has_earlier(request: AgentRequest) -> bool:
    return request.conversation is not None and request.conversation.head is not None


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
        try:
            with counting_if_cut_off(scope, location, self._payers, self.request, tally):
                response = await (self._pay() if scope.plan.budgets else self._answer())
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
    for one in calls:
        meet_labels(LabelledCall(one.skill, one.labels), location, scope)
    if any(one.effect != "read" for one in calls):
        scope.state.forget_reads()
    if has_acted(calls):
        note_effect(location, scope.state)


def has_acted(calls: tuple[InnerCall, ...]) -> bool:
    """Return whether the agent's own code has called what must not happen twice."""
    return any(may_have_happened(one.effect, None) for one in calls)


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
