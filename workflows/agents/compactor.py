"""Compaction: a conversation that has become long continues as a new one with a summary.

The summary is a model turn of its own: recorded, paid by the budgets of the persona, and in the
trail with its because. `dsl.tool_loop.context_room` decides; labels that the run has met remain.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

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
from coterie.dsl.model.personas.compaction_policy import Compaction
from coterie.dsl.model.plan import Persona
from coterie.dsl.tool_loop.context_room import CompactionDue, compaction_due, compaction_limit
from coterie.workflows.agents.model_fallback import ModelChain, TurnCall, addressed_to, call_models
from coterie.workflows.agents.model_turns import turn_outcome
from coterie.workflows.agents.turn_hooks import TurnHooks
from coterie.workflows.budgets.call_admission import admit_call
from coterie.workflows.budgets.call_estimates import estimated_news
from coterie.workflows.core.causes.agent_causes import ConversationCompacted
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import CallFailed, Interrupted, Scope
from coterie.workflows.core.trail import note_step


class ConversationHead(NamedTuple):
    """Where a conversation continues."""

    head: str
    context: ContextUse | None


@dataclass(eq=False)
class Compactor:
    """Calls the models of one agent, and compacts its conversation before where it must."""

    _persona: Persona | None
    """Of the agent; None for a legacy agent, which has no conversation."""
    _key: str
    """Of the persona; its budgets pay."""
    _chain: ModelChain
    """The models of the conversation."""
    _hooks: TurnHooks
    _location: Location
    """Of the agent."""
    _scope: Scope
    _used: ContextUse | None
    """How full the conversation is; None if unknown."""
    _moved: Callable[[ConversationHead], None]
    """Keeps where the conversation continues."""
    _head: str | None = field(default=None, init=False)

    @property
    def _policy(self) -> Compaction | None:
        return None if self._persona is None else self._persona.compaction

    async def call(self, request: AgentRequest, call: TurnCall) -> AgentResponse | HookRuling:
        """Call the models with a request, once the conversation has room for it.

        A call that was parked while the run continued as new continues.

        Raises:
            CallFailed: no model answers or sums up, or the request failed by itself.
        """
        parked = call.parked
        if parked is None:
            request = _continuing_request(request, self._head)
            due, tried = self._due(request), False
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
                return await self._call_models(self._chain, request, call)
            except Interrupted:
                self._park(call.suffix, tried)
                raise
            except CallFailed as error:
                due = None if tried else self._due_after(request, error)
                if due is None:
                    raise
                call = call._replace(suffix=replace(call.suffix, again=True), parked=None)

    async def _call_models(
        self, chain: ModelChain, request: AgentRequest, call: TurnCall
    ) -> AgentResponse | HookRuling:
        return await call_models(
            chain, self._hooks, request, call, self._key, self._location, self._scope
        )

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
        parks.model, parks.request = self._chain.current, request or parks.request

    def _due(self, request: AgentRequest) -> CompactionDue | None:
        """Return why the conversation is compacted before a request; None if it is not."""
        used = self._used
        if used is None or not _has_earlier(request):
            return None
        turn = request.tool_turn
        waiting = turn is not None and bool(turn.results)
        if used.turns <= waiting:
            return None  # nothing could be summed up
        return compaction_due(used.tokens + estimated_news(request), self._limit())

    def _due_after(self, request: AgentRequest, failed: CallFailed) -> CompactionDue | None:
        """Return why it is compacted after the worker refused a request; None if it is not."""
        if failed.type != FailureType.CONTEXT_WINDOW_EXCEEDED or self._policy is None:
            return None
        if not _has_earlier(request):
            return None
        return CompactionDue("window_exceeded", 0, self._limit() or 0)

    def _limit(self) -> int | None:
        """Return the most tokens of a request; None if unknown, or if nothing is compacted."""
        if self._persona is None or self._policy is None:
            return None
        window = None if self._used is None else self._used.window
        return compaction_limit(self._policy, window, self._persona.max_tokens)

    async def _compact(
        self, request: AgentRequest, call: TurnCall, due: CompactionDue
    ) -> str | HookRuling | None:
        """Sum the conversation up; return its new latest turn, or None if nothing got shorter."""
        scope, location, policy, persona = self._scope, self._location, self._policy, self._persona
        assert policy is not None, "a conversation is due by its policy"
        assert persona is not None, "a policy belongs to a persona"
        asked = CompactionTurn(
            keep_turns=policy.keep_turns,
            limit=due.limit,
            prompt=policy.prompt or "",
            other_model=policy.model is not None,
        )
        update = {"compaction": asked, "notices": (), "reask": None}
        chain, made = self._chain, request.model_copy(update=update)
        if policy.model is not None:
            own = f"{persona.provider}/{persona.model}"
            chain = ModelChain(scope.plan, "", policy.model, "")
            made = addressed_to(policy.model, made, own)
        if scope.plan.budgets and call.parked is None:
            personas = (*location.personas, self._key)
            await admit_call(scope, location, personas, "model_calls", boundary=False)
        options = CallOptions(timeout=persona.timeout, retries=persona.retries)
        suffix = TurnSuffix(turn=call.turn, compacts=True)
        asking = TurnCall(call.turn, options, suffix, call.parked)
        response = await self._call_models(chain, made, asking)
        if isinstance(response, HookRuling):
            return response
        outcome = turn_outcome(response)
        if outcome.error is not None:
            raise CallFailed(outcome.error.type, outcome.error.message)
        return self._take_over(response, chain.current, due)

    def _take_over(self, response: AgentResponse, model: str, due: CompactionDue) -> str | None:
        """Take the new conversation over, and note it in the trail."""
        head, context = response.conversation, response.context
        if head is None or context is None:
            return None
        found = response.data if isinstance(response.data, dict) else {}
        summarised, kept = _count(found, "summarised"), _count(found, "kept")
        cause = ConversationCompacted(due.code, due.tokens, due.limit, model, summarised, kept)
        note_step(self._scope, self._location, "compacted", cause)
        window = None if self._used is None else self._used.window
        self._used = context.model_copy(update={"window": window})
        self._head = head
        self._moved(ConversationHead(head, self._used))
        return head


def _has_earlier(request: AgentRequest) -> bool:
    return request.conversation is not None and request.conversation.head is not None


def _continuing_request(request: AgentRequest, head: str | None) -> AgentRequest:
    """Return the request for the conversation as it is now."""
    asked = request.conversation
    if head is None or asked is None:
        return request
    return request.model_copy(update={"conversation": asked.model_copy(update={"head": head})})


def _count(found: dict[str, JsonValue], name: str) -> int:
    value = found.get(name)
    return value if isinstance(value, int) else 0
