"""Fallbacks: the next model of a persona takes over when the retries of the one before have ended.

A conversation stays with the model that took over, so its prefix does not change again.
"""

from dataclasses import replace
from typing import NamedTuple

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    CallOptions,
    FailureType,
    TurnSuffix,
)
from coterie.dsl.hooks.hook_rulings import HookRuling
from coterie.dsl.model.plan import Plan
from coterie.dsl.model_names import split_model
from coterie.workflows.agents.model_turns import Turner, has_acted, named_call, take_turn, turn_call
from coterie.workflows.agents.turn_hooks import TurnHooks
from coterie.workflows.budgets.call_admission import admit_call
from coterie.workflows.core.causes.agent_causes import ModelReplaced
from coterie.workflows.core.location import Location
from coterie.workflows.core.progress.agent_progress import ParkedTurn
from coterie.workflows.core.scope import CallFailed, Interrupted, Scope
from coterie.workflows.core.trail import note_step

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


class ModelChain:
    """The models of one agent: its persona's, then the fallbacks in written order."""

    def __init__(self, plan: Plan, persona: str, model: str, latest: str) -> None:
        """Continue with the model that took over before.

        Args:
            plan: of the run.
            persona: the key of the persona.
            model: `provider/model` of the persona; empty for a legacy agent.
            latest: the fallback that took over; empty if none did.
        """
        known = plan.personas.get(persona)
        self._models = (model, *(() if known is None else known.fallback))
        self._at = self._models.index(latest) if latest in self._models else 0
        self.current = self._models[self._at]
        """`provider/model` of the next call."""

    @property
    def fallback(self) -> str:
        """The fallback that has taken over; empty if none has."""
        return self.current if self._at else ""

    def replace(self) -> bool:
        """Take the next model; return whether there is one."""
        left = self._at + 1 < len(self._models)
        self._at += left
        self.current = self._models[self._at]
        return left

    def leads_on(self, failure: str) -> bool:
        """Return whether another model may answer after a failure of the current one."""
        return failure in UNAVAILABLE or (bool(self._at) and failure in OF_FALLBACK)

    def addressed(self, request: AgentRequest) -> AgentRequest:
        """Return the request for the current model."""
        if not self._at:
            return request
        return addressed_to(self.current, request, self._models[0])


def addressed_to(name: str, request: AgentRequest, planned: str) -> AgentRequest:
    """Return the request for another model than the planned one, both `provider/model`."""
    provider, model = split_model(name)
    if request.persona is None:
        return request.model_copy(update={"provider": provider, "model": model})
    persona = request.persona.model_copy(update={"provider": provider, "model": model})
    turn = request.tool_turn
    if turn is not None:  # the agent stays the same one in its conversation
        turn = turn.model_copy(update={"planned": planned})
    return request.model_copy(update={"persona": persona, "tool_turn": turn})


def stay_with_fallback(chain: ModelChain, conversation: str, scope: Scope) -> None:
    """Let a conversation continue with the fallback that has answered; empty for none."""
    if conversation and chain.fallback:
        scope.state.conversation_models[conversation] = chain.fallback


class TurnCall(NamedTuple):
    """The model call of a turn, on whichever model."""

    turn: int
    """The number of the turn, from 1."""
    options: CallOptions
    suffix: TurnSuffix
    """Tells calls of one step apart."""
    parked: ParkedTurn | None = None
    """Where it continues, if the run has continued as new in its middle."""


async def call_models(
    chain: ModelChain,
    hooks: TurnHooks,
    request: AgentRequest,
    call: TurnCall,
    persona: str,
    location: Location,
    scope: Scope,
) -> AgentResponse | HookRuling:
    """Call the models one after another until one answers; a hook's ruling if it stops a call.

    Raises:
        CallFailed: no model answers, or a request failed by itself.
    """
    parked = call.parked
    tried = 0 if parked is None else parked.fallbacks
    unavailable: CallFailed | None = None
    while True:
        suffix = replace(call.suffix, fallback=tried) if tried else call.suffix
        addressed = chain.addressed(request)
        if parked is None:
            named = turn_call(request.task, location, scope, call.options, suffix)
        else:
            named = named_call(parked.call, location, call.options, suffix)
        turner = Turner(persona, chain.current)
        try:
            return await take_turn(scope, location, turner, addressed, named, parked)
        except Interrupted:
            parks = scope.state.progress.parked_turns[location.key]
            parks.request, parks.fallbacks = request, tried
            raise
        except CallFailed as error:
            failed = chain.current
            acted = error.spent is not None and has_acted(error.spent.inner_calls)
            if acted or not chain.leads_on(error.type) or not chain.replace():
                raise _whole_failure(unavailable, failed, error) from None
            if error.type in UNAVAILABLE:
                unavailable = error
            parked, tried = None, tried + 1
            replaced = ModelReplaced(
                "model_replaced", failed, chain.current, error.type, error.message
            )
            await _admit_fallback(replaced, persona, location, scope)
        asked = await hooks.before_call(call.turn, chain.current, request.inputs)
        if asked.stop is not None:
            return asked.stop
        new = tuple(note for note in asked.notes if note not in request.notices)
        if new:
            request = request.model_copy(update={"notices": (*request.notices, *new)})


def _whole_failure(unavailable: CallFailed | None, model: str, error: CallFailed) -> CallFailed:
    """Return the failure of a call that no model answers.

    A fallback that refuses the call does not make an outage of the model before it permanent.
    """
    if unavailable is None or error.type not in (
        FailureType.PROVIDER_REFUSED,
        FailureType.MISSING_SECRET,
    ):
        return error
    message = f"{unavailable.message}; the fallback {model} failed, too: {error.message}"
    return CallFailed(unavailable.type, message, error.spent, error.asked)


async def _admit_fallback(
    replaced: ModelReplaced, persona: str, location: Location, scope: Scope
) -> None:
    """Note that a fallback takes over, and wait until the budgets have room for its call."""
    note_step(scope, location, "fallback", replaced)
    if scope.plan.budgets:
        personas = (*location.personas, persona)
        await admit_call(scope, location, personas, "model_calls", boundary=False)
