"""An agent that uses tools: model turns and calls, until the model answers.

`dsl.tool_loop` decides what is next; this acts. Each turn and each call is one activity. The state
keeps how far the loop is, so a run that comes back continues between two calls.
"""

from collections.abc import Sequence

from pydantic import JsonValue

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    CallOptions,
    ContextUse,
    TokenUsage,
    TurnSuffix,
)
from coterie.dsl.hooks.hook_rulings import HookRuling
from coterie.dsl.model.causes import HandedOff
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.model.template_bound import number_of
from coterie.dsl.model.tools.tool_use import TOOL_SEARCH
from coterie.dsl.tool_loop.call_checks import fingerprint
from coterie.dsl.tool_loop.call_names import call_name
from coterie.dsl.tool_loop.exchange import ToolResult
from coterie.dsl.tool_loop.result_texts import LOST, reminder_text, unmet_text
from coterie.dsl.tool_loop.tool_loop_decision import (
    AskModel,
    EndLoop,
    RunCalls,
    TurnTaken,
    next_action,
    open_searches,
    take_search,
    take_turn,
)
from coterie.dsl.tool_loop.tool_loop_progress import (
    AnswerFailed,
    CallsHandedBack,
    ExitedOnSuccess,
    HandoffMade,
    LoopEnd,
    ModelAnswered,
    OpenCall,
    PolicyUnmet,
    StoppedByHook,
)
from coterie.dsl.tool_loop.tool_search import ToolCatalog
from coterie.workflows.agents.agent_turns import (
    AgentModels,
    AgentTurns,
    ConversationHead,
    TurnCall,
)
from coterie.workflows.agents.conversation_order import (
    conversation_name,
    hold_conversation,
    keep_conversation,
)
from coterie.workflows.agents.hook_points import TurnHooks, hooks_of, stopped_by
from coterie.workflows.agents.loop.agent_calls import CallingAgent
from coterie.workflows.agents.loop.offered_tools import loop_terms, skills_read, with_own_arguments
from coterie.workflows.agents.loop.tool_calls import run_calls
from coterie.workflows.agents.loop.turn_requests import TurnRequests
from coterie.workflows.agents.model_turns import (
    is_worth_a_reask,
    turn_notices,
    turn_outcome,
)
from coterie.workflows.agents.shared_work import shared_work
from coterie.workflows.core.causes.agent_causes import (
    CallRefused,
    LoopExited,
    ModelTurned,
    ToolsSearched,
)
from coterie.workflows.core.location import Interpreter, Location
from coterie.workflows.core.progress.agent_progress import AgentLoopProgress
from coterie.workflows.core.scope import CallFailed, Scope, on_abort
from coterie.workflows.core.trail import note_step
from coterie.workflows.sessions.said_messages import leave_said, mark_read, read_again, unread

_FAILURES = (AnswerFailed, PolicyUnmet, StoppedByHook)
"""Ends after which the step may have another attempt."""


async def run_tool_loop(
    step: PersonaStep,
    location: Location,
    scope: Scope,
    interpreter: Interpreter,
    given: JsonValue = None,
) -> Outcome:
    """Run the agent to its end, from where the state left it."""
    if step.conversation is None:
        return await _Loop(step, location, scope, interpreter, given, None).run()
    name = conversation_name(step, location, scope)
    if isinstance(name, Outcome):
        return name
    loop = _Loop(step, location, scope, interpreter, given, name)
    return await hold_conversation(name, location, scope, loop.run)


class _Loop:
    """One agent in its loop."""

    def __init__(
        self,
        step: PersonaStep,
        location: Location,
        scope: Scope,
        interpreter: Interpreter,
        given: JsonValue,
        conversation: str | None,
    ) -> None:
        self._step = step
        self._location = location
        self._scope = scope
        self._interpreter = interpreter
        self._conversation = conversation
        self._persona = interpreter.persona(step)
        self._key = step.persona_key or step.name
        self._hooks = hooks_of(scope.plan, step.persona_key)
        nested = location.step.model_calls_around > 0
        turns = self._persona.max_turns if step.max_turns is None else number_of(step.max_turns)
        self._terms = loop_terms(scope.plan, self._persona, turns, may_hand_over=not nested)
        self._catalog = ToolCatalog(self._terms.deferred, scope.plan.tools)
        self._requests = TurnRequests(
            step, self._persona, self._terms, location, scope, given, conversation
        )

    async def run(self) -> Outcome:
        """Take turns and make calls until the loop ends."""
        loops, key = self._scope.state.progress.tool_loops, self._location.key
        loop_progress = loops.get(key)
        if loop_progress is None:
            loop_progress = loops[key] = self._begin_progress()
        self._progress = loop_progress
        async with on_abort(self._abandon):
            return await self._turns()

    async def _turns(self) -> Outcome:
        response: AgentResponse | None = None
        while True:
            action = next_action(self._terms, self._progress.loop)
            if self._hooks and not isinstance(action, RunCalls):
                await self._close_turn(response)
                action = next_action(self._terms, self._progress.loop)
            match action:
                case AskModel() as next_turn:
                    try:
                        response = await self._ask(next_turn)
                    except CallFailed as error:
                        self._leave_loop(may_repeat=True)
                        return Outcome.failed(error.type, error.message)
                case RunCalls(indexes):
                    await self._make_calls(indexes)
                case EndLoop(ModelAnswered()) if unread(self._scope.state, self._location.key):
                    self._progress.loop.end = None  # somebody has said something meanwhile
                case EndLoop(end):
                    self._leave_loop(may_repeat=isinstance(end, _FAILURES))
                    return self._outcome(end, response)

    async def _make_calls(self, indexes: Sequence[int]) -> None:
        await run_calls(
            indexes,
            self._progress,
            CallingAgent(self._key, self._location, self._terms, self._hooks),
            self._scope,
            self._interpreter,
            concurrent=self._persona.parallel_tool_calls,
        )

    def _outcome(self, end: LoopEnd, response: AgentResponse | None) -> Outcome:
        """Return the outcome of the step, and note an exit or a handoff."""
        calls, terms = self._progress.loop.calls, self._terms
        match end:
            case ModelAnswered() | AnswerFailed():
                return self._answer(response, None)
            case CallsHandedBack():
                return self._answer(response, calls)
            case ExitedOnSuccess(call=index, tool=tool):
                note_step(self._scope, self._location, "exited", LoopExited("loop_exited", tool))
                return Outcome.succeeded(calls[index].data)
            case HandoffMade(call=index, team=team):
                return self._handed_off(team, calls[index], response)
            case StoppedByHook(type=type, message=message):
                return Outcome.failed(type, message)
            case PolicyUnmet(unmet=unmet):
                missing = "; ".join(map(unmet_text, unmet))
                return Outcome.failed(
                    "ToolPolicyUnmet",
                    f"agent {self._step.name!r} has used its {terms.max_turns} turns, and "
                    f"its policy demands more calls: {missing}",
                )

    def _answer(self, response: AgentResponse | None, calls: list[OpenCall] | None) -> Outcome:
        assert response is not None, "a loop ends with the turn that answers"
        outcome = turn_outcome(response)
        if not self._terms.returns or not outcome.success:
            return outcome
        if calls is None and self._persona.output_schema is not None:
            return outcome
        call_records: list[JsonValue] = [
            {"tool": call.tool, "arguments": call.arguments} for call in calls or ()
        ]
        if isinstance(outcome.data, dict) and calls is None:
            return Outcome.succeeded({**outcome.data, "tool_calls": call_records})
        return Outcome.succeeded({"text": _text_of(response), "tool_calls": call_records})

    def _handed_off(self, team: str, call: OpenCall, response: AgentResponse | None) -> Outcome:
        """Let the run leave for the team when the step has ended."""
        reason = call.arguments.get("reason")
        reason_text = reason if isinstance(reason, str) else ""
        cause = HandedOff("handed_off", team, self._location.step, reason_text)
        self._scope.state.progress.handoffs[self._location.key] = cause
        return Outcome.succeeded(
            {"text": _text_of(response), "handoff": team, "reason": reason_text}
        )

    def _leave_loop(self, *, may_repeat: bool) -> None:
        """Drop the progress of the loop, but for results that the conversation still needs."""
        del self._scope.state.progress.tool_loops[self._location.key]
        self._leave_results()
        self._leave_said(may_repeat=may_repeat)

    def _leave_said(self, *, may_repeat: bool) -> None:
        """Note what the agent has not read; another attempt of its step reads that."""
        left = leave_said(self._scope.state, self._location.key, may_repeat=may_repeat)
        if left is not None:
            note_step(self._scope, self._location, "unread", left)

    async def _close_turn(self, response: AgentResponse | None) -> None:
        """Ask the hooks once after each turn and its calls; they may stop the agent."""
        loop = self._progress.loop
        number = loop.turns + loop.reasks
        if loop.closed == number:
            return
        loop.closed = number
        if isinstance(loop.end, StoppedByHook):
            return
        answer = None if response is None else response.data
        verdict = await self._turn_hooks().after_turn(number, answer, loop.calls)
        if verdict.stop is not None:
            loop.end = stopped_by(verdict.stop)

    def _agent_turns(self, latest: str) -> AgentTurns:
        """Return what calls the models, from the one that answered last."""
        scope, persona, location = self._scope, self._persona, self._location
        choice = AgentModels.of(scope.plan, self._key, persona, latest, self._progress.context)
        hooks = self._turn_hooks()
        return AgentTurns(choice, hooks, persona, self._key, location, scope, self._move_to)

    def _turn_hooks(self) -> TurnHooks:
        return TurnHooks(
            self._hooks,
            self._progress.loop.hook_retries,
            self._persona,
            self._key,
            self._step.name,
            self._location,
            self._scope,
        )

    def _begin_progress(self) -> AgentLoopProgress:
        state = self._scope.state
        state.progress.handoffs.pop(self._location.key, None)  # of an attempt that failed
        if self._conversation is None:
            read_again(state, self._location.key)
        count = state.executed(self._location.step.without_model_calls())
        head = None if self._conversation is None else state.conversations.get(self._conversation)
        name = self._conversation or ""
        fallback = state.conversation_models.get(name, "")
        context = state.conversation_sizes.get(name)
        return AgentLoopProgress(
            count, head, self._conversation, fallback=fallback, context=context
        )

    async def _ask(self, next_turn: AskModel) -> AgentResponse | None:
        """Take one model turn, and note what it asks for; None if a hook stops it before."""
        scope, location, progress = self._scope, self._location, self._progress
        parked = scope.state.progress.parked_turns.pop(location.key, None)
        turns = self._agent_turns(progress.fallback if parked is None else parked.model)
        request = None if parked is None else parked.request
        if request is None:
            request = await self._begin_turn(next_turn, turns)
        if request is None:
            return None
        options = CallOptions(timeout=self._persona.timeout, retries=self._persona.retries)
        suffix = TurnSuffix(turn=next_turn.number)
        response = await turns.call(request, TurnCall(next_turn.number, options, suffix, parked))
        if isinstance(response, HookRuling):
            progress.loop.end = stopped_by(response)
            return None
        response = with_own_arguments(response, scope.plan)
        progress.fallback = turns.choice.fallback
        turns.stay_with_fallback(self._conversation or "")
        if response.conversation is not None:
            self._advance(response.conversation, response.context, response.usage)
            self._note_read(len(request.said), next_turn.number)
            progress.loop.calls = []  # their results are sent
        else:  # nothing was stored: the results are still to be sent
            self._leave_results()
        verdict, response = await turns.hooks.after_call(
            next_turn.number, response, turns.choice.current
        )
        unusable = is_worth_a_reask(response)
        back = verdict.reason if verdict.retries else ""
        progress.problem = response.error.message if unusable and response.error else back
        failed = not response.success and not unusable
        turn = TurnTaken(response.tool_calls, unusable, failed, back)
        take_turn(self._terms, progress.loop, next_turn, turn)
        if verdict.stop is not None:
            progress.loop.end = stopped_by(verdict.stop)
        self._note(next_turn, turn)
        self._search_tools()
        return response

    def _search_tools(self) -> None:
        """Answer the searches of the turn at once: they only read the plan."""
        scope, loop = self._scope, self._progress.loop
        for index, query in open_searches(self._terms, loop):
            answer = self._catalog.search(query)
            take_search(loop, index, ToolResult(text=answer.text), fingerprint([*answer.found]))
            name = call_name(TOOL_SEARCH, loop.turns + loop.reasks, index + 1)
            cause = ToolsSearched("tools_searched", answer.query, answer.found)
            note_step(scope, self._location.at(name), "success", cause, 0.0, event="tool_end")

    async def _begin_turn(self, next_turn: AskModel, turns: AgentTurns) -> AgentRequest | None:
        """Return the request of a turn that may begin; None if a hook stops it."""
        scope, location, progress = self._scope, self._location, self._progress
        if next_turn.number > 1:
            await scope.checkpoint()
        notices = await turn_notices(scope, location, self._key, boundary=True)
        if next_turn.number == 1:
            notices = shared_work(location, scope) + notices
        notices += tuple(map(reminder_text, next_turn.reminders))
        request = self._requests.request(next_turn, notices, progress)
        begun = await turns.hooks.begin(next_turn.number, request.inputs, turns.choice.current)
        if begun.stop is not None:
            progress.loop.end = stopped_by(begun.stop)
            return None
        if begun.notes:
            request = request.model_copy(update={"notices": (*notices, *begun.notes)})
        said = tuple(message.text for message in unread(scope.state, location.key))
        return request.model_copy(update={"said": said}) if said else request

    def _note_read(self, messages: int, turn: int) -> None:
        """Note that a stored turn has what people said before it."""
        if messages:
            cause = mark_read(self._scope.state, self._location.key, messages, turn)
            note_step(self._scope, self._location, "told", cause)

    def _advance(self, head: str, context: ContextUse | None, usage: TokenUsage | None) -> None:
        """Continue from the turn that the worker has stored."""
        self._progress.head, self._progress.context = head, context
        state, name = self._scope.state, self._conversation
        if name is not None:
            keep_conversation(state, name, head, context, usage)
            state.unsent_results.pop(name, None)

    def _move_to(self, to: ConversationHead) -> None:
        """Continue in the conversation that replaces the one that became too long."""
        self._progress.head, self._progress.context = to
        if self._conversation is not None:
            keep_conversation(self._scope.state, self._conversation, *to)

    def _leave_results(self) -> None:
        """Keep the results of the latest turn for the next turn of the conversation.

        Calls whose result nobody waits for any more get one that says so.
        """
        lost = ToolResult(text=LOST, failed=True)
        results = [call.result or lost for call in self._progress.loop.calls]
        if self._conversation is not None and results:
            self._scope.state.unsent_results[self._conversation] = results

    def _abandon(self) -> None:
        """Leave the conversation to what continues it: a cleanup, or the team of a budget."""
        self._leave_results()
        self._leave_said(may_repeat=True)
        if self._conversation is not None:
            self._scope.state.progress.tool_loops.pop(self._location.key, None)

    def _note(self, next_turn: AskModel, turn: TurnTaken) -> None:
        """Note the turn in the trail, and the calls that are not executed."""
        scope, location, loop = self._scope, self._location, self._progress.loop
        calls = tuple(call.tool for call in loop.calls)
        if turn.failed:
            code = "turn_failed"
        elif calls:
            code = "turn_called"
        elif loop.unmet:
            code = "turn_too_early"
        else:
            code = "turn_unusable" if turn.unusable or turn.sent_back else "turn_answered"
        skills = skills_read(scope.plan, loop.calls)
        cause = ModelTurned(code, next_turn.number, calls, next_turn.is_last, skills)
        note_step(scope, location, "turn", cause, event="routing")
        for call in loop.calls:
            if call.refusal is not None:
                message = "" if call.result is None else call.result.text
                refused = CallRefused("call_refused", call.tool, call.refusal.code, message)
                note_step(scope, location, "refused", refused)


def _text_of(response: AgentResponse | None) -> str:
    """Return what the model said beside its calls."""
    data = None if response is None else response.data
    text = data.get("text") if isinstance(data, dict) else None
    return text if isinstance(text, str) else ""
