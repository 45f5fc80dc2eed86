"""One call of an agent's tool, by its model or its code: hooks, approval, and one result."""

import json
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import NamedTuple

from pydantic import JsonValue

from coterie.activities.contracts import KeptResult
from coterie.dsl.errors import InvalidPlan
from coterie.dsl.model.decision_terms import CallApproval, call_approval
from coterie.dsl.model.hooks import Hook
from coterie.dsl.model.outcomes import Outcome, with_text
from coterie.dsl.model.tools.tool_contract import Tool, is_stateful
from coterie.dsl.tool_loop.call_checks import edit_problem, fingerprint
from coterie.dsl.tool_loop.call_names import call_name, without_calls
from coterie.dsl.tool_loop.exchange import ToolResult
from coterie.dsl.tool_loop.tool_loop_progress import OpenCall, StoppedByHook
from coterie.dsl.tool_loop.tool_loop_terms import LoopTerms
from coterie.dsl.values import Json
from coterie.dsl.visible import shortened_text
from coterie.workflows.agents.function_calls import CalledFunction
from coterie.workflows.agents.hook_points import stopped_by
from coterie.workflows.agents.loop.call_hooks import CallHooks, HookedResult
from coterie.workflows.agents.shared_work import has_result, is_read, note_tool_result, publish_work
from coterie.workflows.agents.tool_kinds import ToolCall, call_tool, planned_tool_call
from coterie.workflows.approvals.decisions import changes
from coterie.workflows.approvals.output_approval import ApprovalSubject, with_approval
from coterie.workflows.core.causes.step_causes import Failed
from coterie.workflows.core.causes.trail_causes import TrailCause
from coterie.workflows.core.location import Interpreter, Location, Skipped
from coterie.workflows.core.progress.agent_progress import AgentLoopProgress, HookedCall
from coterie.workflows.core.scope import Job, Scope
from coterie.workflows.core.trail import note_step, skip_cause

_MAX_ERROR_LENGTH = 4_000
"""Characters of a failure's message that a model gets."""


class MadeCall(NamedTuple):
    """What a call came to, and what the model learns besides."""

    outcome: Outcome
    kept: KeptResult | None = None
    note: str = ""
    """How the arguments that ran differ from the model's."""


class EndedCall(NamedTuple):
    """How a call ended, for the trail and for the model."""

    outcome: Outcome
    cause: TrailCause | None
    result: ToolResult
    digest: str
    """Of what the model gets, to notice equal results."""


def result_for_model(made: MadeCall, most: int | None) -> tuple[ToolResult, str]:
    """Return the result as the model gets it, and a digest of what it is.

    Args:
        made: What the call came to.
        most: `max_result` of its tool.
    """
    outcome, note = made.outcome, f"{made.note}\n" if made.note else ""
    error = outcome.error
    if error is not None:
        text = shortened_text(f"{note}{error.type}: {error.message}", _MAX_ERROR_LENGTH)
        return ToolResult(text=text, failed=True), fingerprint([error.type, outcome.data])
    if made.kept is not None:
        name, size = made.kept.name, made.kept.size
        size = size if most is None else min(size, most)
        return ToolResult(text=note, kept=name, size=size, max_result=most), name
    text = f"{note}{with_text(_text(outcome.data), outcome)}"
    content = [outcome.data, outcome.text] if outcome.text else outcome.data
    return ToolResult(text=text, max_result=most), fingerprint(content)


def skipped_call(skipped: Skipped, scope: Scope) -> EndedCall:
    """Return the end of a call that a person skipped."""
    value = skipped.value
    if value is None:
        result = ToolResult(text="a person skipped this call", failed=True)
    else:
        text = f"[A person skipped this call, and gave its result.]\n{_text(value)}"
        result = ToolResult(text=text)
    return EndedCall(Outcome("skipped", value), skip_cause(value), result, fingerprint(value))


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class CallingAgent(NamedTuple):
    """The agent whose model calls tools."""

    persona: str
    """Its budgets pay."""
    location: Location
    terms: LoopTerms
    """Of its loop."""
    hooks: Sequence[Hook]


class CallMaker:
    """Makes calls of one agent: those of a turn of its model, or those of its code."""

    def __init__(
        self,
        progress: AgentLoopProgress,
        agent: CallingAgent,
        within: Location,
        scope: Scope,
        interpreter: Interpreter,
    ) -> None:
        """Take the agent.

        Args:
            progress: of the agent.
            agent: the agent.
            within: where the calls are, with the personas that pay.
            scope: the run.
            interpreter: runs agents and teams.
        """
        self._progress = progress
        self._persona = agent.persona
        self._hooks = agent.hooks
        self._terms = agent.terms
        self._scope = scope
        self._interpreter = interpreter
        self._agent = agent.location
        self._location = within
        self._publishes = _publishes(agent.location, scope)
        """Whether other agents read the results of this one's tools."""

    def tool(self, call: OpenCall) -> Tool:
        """Return the tool of a call."""
        tool = self._scope.plan.tools.get(call.tool)
        if tool is None:
            raise InvalidPlan(f"the plan has no tool {call.tool!r}")
        return tool

    @property
    def is_stopped(self) -> bool:
        """Whether a hook has stopped the agent."""
        return isinstance(self._progress.loop.end, StoppedByHook)

    async def run_all(
        self,
        indexes: Sequence[int],
        calls: Sequence[OpenCall],
        run: Callable[[Sequence[int]], Coroutine[None, None, None]],
        *,
        concurrent: bool,
    ) -> None:
        """Make calls, concurrently if they may be; those of one stateful agent never are.

        Args:
            indexes: of the calls to make.
            calls: all that stand beside each other.
            run: makes some of them, one after another.
            concurrent: whether the calls run at the same time.
        """
        chains: dict[str, list[int]] = {}
        for index in indexes:
            alone = f"{index}" if concurrent else "all"
            chain = calls[index].tool if is_stateful(self.tool(calls[index])) else alone
            chains.setdefault(chain, []).append(index)
        if len(chains) == 1 or not concurrent:
            await run(indexes)
            return
        jobs: dict[str, Job] = {name: partial(run, chain) for name, chain in chains.items()}
        begun = {name for name, chain in chains.items() if any(calls[n].started for n in chain)}
        await self._scope.together(
            jobs, enough=lambda finished: len(finished) == len(jobs), begun=begun
        )

    async def make(self, call: OpenCall, number: int, index: int) -> EndedCall:
        """Make one call, or skip it, from where the state left it.

        Args:
            call: the call.
            number: of the turn, from 1.
            index: of the call in its turn.
        """
        scope, state = self._scope, self._scope.state
        location = self._location.at(call_name(call.tool, number, index + 1))
        key = location.step
        state.doing[key] = scope.time() if call.started is None else call.started
        try:
            ended = await self._run(call, location)
        except Skipped as skipped:
            state.forget(location.key)
            ended = skipped_call(skipped, scope)
        finally:
            state.doing.pop(key, None)
        self._keep_outcome(call, ended.outcome, location)
        seconds = None if call.started is None else round(scope.time() - call.started, 3)
        note_step(scope, location, ended.outcome.status, ended.cause, seconds, event="tool_end")
        return ended

    async def _run(self, call: OpenCall, location: Location) -> EndedCall:
        """Run a call from where the state left it. Raises Skipped."""
        scope = self._scope
        if call.started is None:
            await scope.checkpoint()
        self._raise_if_skipped(location)
        if call.started is None:
            call.started = scope.time()
            note_step(scope, location, "started", None, event="tool_start")
        ran = await self._hooked_run(call, self.tool(call), location)
        self._raise_if_skipped(location)  # it ended before the request reached it
        error = ran.outcome.error
        cause = None if error is None else Failed("failed", error)
        return EndedCall(ran.outcome, cause, *result_for_model(ran, self.tool(call).max_result))

    def _raise_if_skipped(self, location: Location) -> None:
        skips = self._scope.state.skips
        if skips and location.step in skips:
            raise Skipped(skips.pop(location.step).value)

    def _keep_outcome(self, call: OpenCall, outcome: Outcome, location: Location) -> None:
        """Let other agents and tools read the outcome, and keep that of an exit tool."""
        publish_work(call.tool, call.arguments, outcome, location, self._scope)
        if self._publishes and has_result(outcome):
            note_tool_result(call.tool, outcome, self._agent, self._scope)
        if self._terms.policy(call.tool).exit_on_success:
            call.data = outcome.data

    async def _hooked_run(self, call: OpenCall, tool: Tool, location: Location) -> MadeCall:
        """Make one call, after its hooks, with a person's approval if the tool demands one."""
        terms = call_approval(tool.requires_approval)
        tool_call = ToolCall(
            call.tool,
            tool,
            location,
            keep=self._may_keep(call, terms),
            counted=lambda: self._progress.execution,
        )
        agent, number = self._agent, self._progress.loop.turns + self._progress.loop.reasks
        own: Json = {"agent": self._persona, "task": without_calls(agent.name), "turn": number}
        hooks = CallHooks(self._hooks, own, tool_call, self._call, self._scope)
        hooked = await hooks.before({**call.arguments, **tool.fixed})
        if isinstance(hooked, HookedResult):
            return self._take_hooked_result(hooked)
        ran = await self._approved_call(call, tool, location, hooked, hooks)
        hooks.ended()
        if not hooked.changed_by:
            return ran
        differences = changes({**call.arguments, **tool.fixed}, hooked.given)
        note = f"[The hook {hooked.changed_by[-1]} changed the arguments: {', '.join(differences)}]"
        return ran._replace(note=f"{note}\n{ran.note}".strip())

    async def _call(self, call: ToolCall, tool_input: JsonValue) -> CalledFunction:
        end = self._progress.loop.end
        if isinstance(end, StoppedByHook):  # of another call of the turn, while this one waited
            return CalledFunction(Outcome.failed(end.type, end.message))
        return await call_tool(self._with_program(call), tool_input, self._scope, self._interpreter)

    def _with_program(self, call: ToolCall) -> ToolCall:
        """Return the call with what makes the calls of its code, if it runs code."""
        return call

    def _take_hooked_result(self, result: HookedResult, note: str = "") -> MadeCall:
        """Return what a call came to; a hook that failed also ends the agent."""
        if result.stop is not None:
            self._progress.loop.end = stopped_by(result.stop)
        return MadeCall(result.called.outcome, result.called.kept, note)

    async def _approved_call(
        self, call: OpenCall, tool: Tool, location: Location, hooked: HookedCall, hooks: CallHooks
    ) -> MadeCall:
        terms = call_approval(tool.requires_approval)
        if terms is None:
            return self._take_hooked_result(await hooks.call(hooked.given))
        ran: list[MadeCall] = []

        async def work(allowed: JsonValue) -> Outcome:
            ran.append(await self._make_call(tool, hooked, allowed, hooks))
            return ran[-1].outcome

        subject = ApprovalSubject(
            given=hooked.given,
            allow=f"May the tool {call.tool!r} be called?",
            accept=f"Is the result of the tool {call.tool!r} accepted?",
            tool=call.tool,
            call=planned_tool_call(tool),
            sends="egress" in tool.labels,
        )
        outcome = await with_approval(terms, subject, location, self._scope, work)
        if ran and ran[-1].outcome is outcome:
            return ran[-1]
        return MadeCall(outcome)

    async def _make_call(
        self, tool: Tool, hooked: HookedCall, tool_input: JsonValue, hooks: CallHooks
    ) -> MadeCall:
        """Make one call with the arguments that a person allows; edited ones are checked again."""
        edited = changes(hooked.given, tool_input)
        if not edited:
            return self._take_hooked_result(await hooks.call(tool_input))
        problem = edit_problem(tool, tool_input)
        if problem is not None:
            return MadeCall(problem)
        refused = await hooks.guard(tool_input)
        if refused is not None:
            return self._take_hooked_result(refused)
        note = f"[A person changed the arguments: {', '.join(edited)}]"
        return self._take_hooked_result(await hooks.call(tool_input), note)

    def _may_keep(self, call: OpenCall, terms: CallApproval | None) -> bool:
        """Return whether nobody here reads the result: neither a person nor the step."""
        is_shown = terms is not None and terms.at == "after"
        exits = self._terms.policy(call.tool).exit_on_success
        return not is_shown and not exits and not self._publishes


def _publishes(agent: Location, scope: Scope) -> bool:
    """Return whether an agent runs as a tool whose own results others read."""
    return bool(agent.tool) and is_read(agent.tool, scope.plan, results=True)
