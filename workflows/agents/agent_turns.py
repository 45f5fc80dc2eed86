"""The calls of one agent's models: which of them is called, and the room in its conversation.

The next model of a persona takes over when the retries of the one before have ended. A conversation
stays with the model that took over, so its prefix does not change again.

`AgentModels` decides whether a long conversation continues as a new one with a summary. The
summary is a model turn of its own: recorded, paid by the budgets of the persona, and in the trail
with its because. Labels that the run has met remain.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from pydantic import JsonValue

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    CallOptions,
    CompactionTurn,
    ContextUse,
    FailureType,
    TurnSuffix,
)
from coterie.dsl.hooks.hook_rulings import HookRuling
from coterie.dsl.model.compaction import Compaction
from coterie.dsl.model.plan import Persona, Plan
from coterie.dsl.model_names import split_model
from coterie.dsl.tool_loop.context_room import CompactionDue, compaction_due, compaction_limit
from coterie.workflows.agents.hook_points import TurnHooks
from coterie.workflows.agents.model_turns import (
    ModelTurn,
    has_acted,
    named_call,
    turn_call,
    turn_outcome,
)
from coterie.workflows.budgets.call_admission import admit_call
from coterie.workflows.budgets.call_estimates import estimated_news
from coterie.workflows.core.causes.agent_causes import ConversationCompacted, ModelReplaced
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
        plan_persona = plan.personas.get(key)
        fallbacks = () if plan_persona is None else plan_persona.fallback
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
        context_use = self.used
        if context_use is None or not _has_earlier(request):
            return None
        turn = request.tool_turn
        waiting = turn is not None and bool(turn.results)
        if context_use.turns <= waiting:
            return None  # nothing could be summed up
        return compaction_due(context_use.tokens + estimated_news(request), self._limit())

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
        compaction = CompactionTurn(
            keep_turns=policy.keep_turns,
            limit=due.limit,
            prompt=policy.prompt or "",
            other_model=policy.model is not None,
        )
        request = request.model_copy(
            update={"compaction": compaction, "notices": (), "said": (), "reask": None}
        )
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


class ConversationHead(NamedTuple):
    """Where a conversation continues."""

    head: str
    context: ContextUse | None


class TurnCall(NamedTuple):
    """The model call of a turn, on whichever model."""

    turn: int
    """The number of the turn, from 1."""
    options: CallOptions
    suffix: TurnSuffix
    """Tells calls of one step apart."""
    parked: ParkedTurn | None = None
    """Where it continues, if the run has continued as new in its middle."""


@dataclass(eq=False)
class AgentTurns:
    """Calls the models of one agent."""

    choice: AgentModels
    hooks: TurnHooks
    _persona: Persona | None
    """Of the agent; None for a legacy agent."""
    _key: str
    """Of the persona; its budgets pay."""
    _location: Location
    """Of the agent."""
    _scope: Scope
    _moved: Callable[[ConversationHead], None]
    """Keeps where the conversation continues."""
    _head: str | None = field(default=None, init=False)

    async def call(self, request: AgentRequest, call: TurnCall) -> AgentResponse | HookRuling:
        """Call the models with a request, once the conversation has room for it.

        A call that was parked while the run continued as new continues.

        Raises:
            CallFailed: no model answers or sums up, or the request failed by itself.
        """
        parked = call.parked
        if parked is None:
            request = _continuing_request(request, self._head)
            due, tried = self.choice.due(request), False
        else:
            due, tried = parked.compacts, parked.compacted
            call = call._replace(suffix=TurnSuffix.parse(parked.suffix))
        while True:
            if due is not None:
                tried = True
                try:
                    head = await self._compact(request, call, due)
                except Interrupted:
                    self._park(call.suffix, tried, request, due)
                    raise
                if isinstance(head, HookRuling):
                    return head
                request, call = _continuing_request(request, head), call._replace(parked=None)
            try:
                return await self._call_models(self.choice, request, call)
            except Interrupted:
                self._park(call.suffix, tried)
                raise
            except CallFailed as error:
                due = None if tried else self.choice.due_after(request, error)
                if due is None:
                    raise
                call = call._replace(suffix=replace(call.suffix, again=True), parked=None)

    def stay_with_fallback(self, conversation: str) -> None:
        """Let a conversation continue with the fallback that has answered; empty for none."""
        if conversation and self.choice.fallback:
            self._scope.state.conversation_models[conversation] = self.choice.fallback

    async def _call_models(
        self, choice: AgentModels, request: AgentRequest, call: TurnCall
    ) -> AgentResponse | HookRuling:
        """Call the models one after another until one answers; a ruling if a hook stops a call.

        Raises:
            CallFailed: no model answers, or a request failed by itself.
        """
        location, scope, parked = self._location, self._scope, call.parked
        tried = 0 if parked is None else parked.fallbacks
        unavailable: CallFailed | None = None
        while True:
            suffix = replace(call.suffix, fallback=tried) if tried else call.suffix
            addressed = choice.addressed(request)
            if parked is None:
                named = turn_call(request.task, location, scope, call.options, suffix)
            else:
                named = named_call(parked.call, location, call.options, suffix)
            turn = ModelTurn(addressed, named, self._key, choice.current, location, scope, parked)
            try:
                return await turn.take()
            except Interrupted:
                parks = scope.state.progress.parked_turns[location.key]
                parks.request, parks.fallbacks = request, tried
                raise
            except CallFailed as error:
                acted = error.spent is not None and has_acted(error.spent.inner_calls)
                replaced = None if acted else choice.replace(error)
                if replaced is None:
                    raise _whole_failure(unavailable, choice.current, error) from None
                if error.type in UNAVAILABLE:
                    unavailable = error
                parked, tried = None, tried + 1
                note_step(scope, location, "fallback", replaced)
                await self._admit()
            ruling = await self.hooks.before_call(call.turn, request.inputs, choice.current)
            if ruling.stop is not None:
                return ruling.stop
            new = tuple(note for note in ruling.notes if note not in request.notices)
            if new:
                request = request.model_copy(update={"notices": (*request.notices, *new)})

    async def _compact(
        self, request: AgentRequest, call: TurnCall, due: CompactionDue
    ) -> str | HookRuling | None:
        """Sum the conversation up; return its new latest turn, or None if nothing got shorter."""
        persona = self._persona
        assert persona is not None, "a policy belongs to a persona"
        choice, summary_request = self.choice.summary(request, due)
        if call.parked is None:
            await self._admit()
        options = CallOptions(timeout=persona.timeout, retries=persona.retries)
        suffix = TurnSuffix(turn=call.turn, compacts=True)
        asking = TurnCall(call.turn, options, suffix, call.parked)
        response = await self._call_models(choice, summary_request, asking)
        if isinstance(response, HookRuling):
            return response
        outcome = turn_outcome(response)
        if outcome.error is not None:
            raise CallFailed(outcome.error.type, outcome.error.message)
        return self._take_over(response, choice.current, due)

    def _take_over(self, response: AgentResponse, model: str, due: CompactionDue) -> str | None:
        """Take the new conversation over, and note it in the trail."""
        head, context, context_use = response.conversation, response.context, self.choice.used
        if head is None or context is None:
            return None
        data = response.data if isinstance(response.data, dict) else {}
        summarised, kept = _count(data, "summarised"), _count(data, "kept")
        cause = ConversationCompacted(due.code, due.tokens, due.limit, model, summarised, kept)
        note_step(self._scope, self._location, "compacted", cause)
        window = None if context_use is None else context_use.window
        self.choice.used = context.model_copy(update={"window": window})
        self._head = head
        self._moved(ConversationHead(head, self.choice.used))
        return head

    def _park(
        self,
        suffix: TurnSuffix,
        compacted: bool,
        request: AgentRequest | None = None,
        due: CompactionDue | None = None,
    ) -> None:
        """Keep where the call stands, in a run that continues as new.

        With the request that waits for a summary, and why.
        """
        parks = self._scope.state.progress.parked_turns[self._location.key]
        parks.suffix, parks.compacted, parks.compacts = str(suffix), compacted, due
        parks.model, parks.request = self.choice.current, request or parks.request

    async def _admit(self) -> None:
        """Wait until the budgets have room for another call of the turn."""
        if self._scope.plan.budgets:
            personas = (*self._location.personas, self._key)
            await admit_call(self._scope, self._location, personas, "model_calls", boundary=False)


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


def _continuing_request(request: AgentRequest, head: str | None) -> AgentRequest:
    """Return the request for the conversation as it is now."""
    conversation = request.conversation
    if head is None or conversation is None:
        return request
    return request.model_copy(
        update={"conversation": conversation.model_copy(update={"head": head})}
    )


def _count(data: dict[str, JsonValue], name: str) -> int:
    value = data.get(name)
    return value if isinstance(value, int) else 0
