"""The model turns of one agent: its hooks, its models, and the room in its conversation.

`AgentModels` decides which model is called and whether the conversation is compacted before. The
summary is a model turn of its own: recorded, paid by the budgets of the persona, and in the trail
with its because. Labels that the run has met remain.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from pydantic import JsonValue

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    CallOptions,
    ContextUse,
    FailureType,
    TurnSuffix,
)
from coterie.dsl.hooks.hook_rulings import HookRuling
from coterie.dsl.json_schema.schema_checker import UnusableSchema, mismatches
from coterie.dsl.model.hooks import Hook, HookPoint
from coterie.dsl.model.plan import Persona, Plan
from coterie.dsl.tool_loop.context_room import CompactionDue
from coterie.dsl.tool_loop.exchange import ToolCallRequest
from coterie.dsl.tool_loop.tool_loop_progress import OpenCall
from coterie.dsl.values import Json
from coterie.workflows.agents.hook_points import HookVerdict, ask_hooks
from coterie.workflows.agents.model_turns import (
    UNAVAILABLE,
    AgentModels,
    ModelTurn,
    has_acted,
    named_call,
    turn_call,
    turn_outcome,
)
from coterie.workflows.budgets.call_admission import admit_call
from coterie.workflows.core.causes.agent_causes import ConversationCompacted
from coterie.workflows.core.location import Location
from coterie.workflows.core.progress.agent_progress import ParkedTurn
from coterie.workflows.core.scope import CallFailed, Interrupted, Scope
from coterie.workflows.core.trail import note_step

_UNASKED: Final = HookVerdict({})
"""Of an agent without hooks, which most are; nobody changes it."""


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


def hooks_of(plan: Plan, persona: str | None) -> tuple[Hook, ...]:
    """Return the hooks of an agent: the plan's, then the persona's own."""
    own = plan.personas.get(persona or "")
    return plan.hooks if own is None or not own.hooks else (*plan.hooks, *own.hooks)


@dataclass(eq=False)
class AgentTurns:
    """Calls the models of one agent, and asks its hooks around that."""

    choice: AgentModels
    hooks: Sequence[Hook]
    retries: dict[str, int]
    """`{hook: retries so far}` of the agent."""
    _persona: Persona | None
    """Of the agent; None for a legacy agent."""
    _key: str
    """Of the persona; its budgets pay."""
    _task: str
    _location: Location
    """Of the agent."""
    _scope: Scope
    _moved: Callable[[ConversationHead], None]
    """Keeps where the conversation continues."""
    _head: str | None = field(default=None, init=False)

    async def begin(self, turn: int, inputs: Json) -> HookVerdict:
        """Ask before a turn, and before its first call of a model."""
        if not self.hooks:
            return _UNASKED
        begun = await self._ask("before_turn", self._facts(turn))
        if begun.stop is not None:
            return begun
        asking = await self._before_call(turn, inputs)
        asking.notes = begun.notes + asking.notes
        return asking

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

    async def after_call(
        self, turn: int, response: AgentResponse
    ) -> tuple[HookVerdict, AgentResponse]:
        """Ask after a call of a model that has an answer; return it as hooks changed it."""
        if not response.success or not self.hooks:
            return _UNASKED, response
        calls = response.tool_calls
        facts: Json = {
            **self._facts(turn),
            "model": self.choice.current,
            "answer": None if calls else response.data,
            "calls": [_view_of_call(call) for call in calls],
        }
        verdict = await self._ask("after_model_call", facts)
        answer = verdict.facts["answer"]
        if not verdict.changed_by or calls:
            return verdict, response
        problem = _problem(answer, self._persona and self._persona.output_schema)
        if problem:
            hook = verdict.changed_by[-1]
            verdict.ruling = HookRuling(
                hook, "fail", f"its `value` is not a valid answer: {problem}"
            )
        return verdict, response.model_copy(update={"data": answer})

    async def after_turn(
        self, turn: int, answer: JsonValue, calls: Sequence[OpenCall] = ()
    ) -> HookVerdict:
        """Ask after a turn and its calls."""
        if not self.hooks:
            return _UNASKED
        made: list[JsonValue] = [
            {
                "tool": call.tool,
                "arguments": call.arguments,
                "failed": call.result is None or call.result.failed,
            }
            for call in calls
        ]
        facts: Json = {**self._facts(turn), "answer": None if made else answer, "calls": made}
        return await self._ask("after_turn", facts)

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
            asked = await self._before_call(call.turn, request.inputs, choice.current)
            if asked.stop is not None:
                return asked.stop
            new = tuple(note for note in asked.notes if note not in request.notices)
            if new:
                request = request.model_copy(update={"notices": (*request.notices, *new)})

    async def _compact(
        self, request: AgentRequest, call: TurnCall, due: CompactionDue
    ) -> str | HookRuling | None:
        """Sum the conversation up; return its new latest turn, or None if nothing got shorter."""
        persona = self._persona
        assert persona is not None, "a policy belongs to a persona"
        choice, made = self.choice.summary(request, due)
        if call.parked is None:
            await self._admit()
        options = CallOptions(timeout=persona.timeout, retries=persona.retries)
        suffix = TurnSuffix(turn=call.turn, compacts=True)
        asking = TurnCall(call.turn, options, suffix, call.parked)
        response = await self._call_models(choice, made, asking)
        if isinstance(response, HookRuling):
            return response
        outcome = turn_outcome(response)
        if outcome.error is not None:
            raise CallFailed(outcome.error.type, outcome.error.message)
        return self._take_over(response, choice.current, due)

    def _take_over(self, response: AgentResponse, model: str, due: CompactionDue) -> str | None:
        """Take the new conversation over, and note it in the trail."""
        head, context, used = response.conversation, response.context, self.choice.used
        if head is None or context is None:
            return None
        found = response.data if isinstance(response.data, dict) else {}
        summarised, kept = _count(found, "summarised"), _count(found, "kept")
        cause = ConversationCompacted(due.code, due.tokens, due.limit, model, summarised, kept)
        note_step(self._scope, self._location, "compacted", cause)
        window = None if used is None else used.window
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

    async def _before_call(self, turn: int, inputs: Json, model: str | None = None) -> HookVerdict:
        if not self.hooks:
            return _UNASKED
        model = self.choice.current if model is None else model
        facts: Json = {**self._facts(turn), "model": model, "inputs": inputs}
        return await self._ask("before_model_call", facts)

    def _facts(self, turn: int) -> Json:
        """Return the facts about whose turn it is."""
        return {"agent": self._key, "task": self._task, "turn": turn}

    async def _ask(self, point: HookPoint, facts: Json) -> HookVerdict:
        location, scope = self._location, self._scope
        return await ask_hooks(self.hooks, point, facts, location, scope, retries=self.retries)


def _view_of_call(call: ToolCallRequest) -> JsonValue:
    return {"tool": call.tool, "arguments": call.arguments}


def _problem(answer: JsonValue, schema: Json | None) -> str | None:
    """Return why a value cannot be the agent's answer, if it cannot."""
    if schema is None:
        return None
    try:
        return "; ".join(mismatches(answer, schema, "answer"))
    except UnusableSchema as error:
        return str(error)


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
    asked = request.conversation
    if head is None or asked is None:
        return request
    return request.model_copy(update={"conversation": asked.model_copy(update={"head": head})})


def _count(found: dict[str, JsonValue], name: str) -> int:
    value = found.get(name)
    return value if isinstance(value, int) else 0
