"""The calls of one model turn: concurrent, each with its approval, and each with one result."""

import json
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from pydantic import JsonValue

from activities.contracts import KeptResult
from dsl.errors import InvalidPlan
from dsl.model.hooks import Hook
from dsl.model.outcomes import Outcome
from dsl.model.terms import CallApproval, call_approval
from dsl.model.tools.tool_contract import Tool
from dsl.tool_loop.call_checks import fingerprint
from dsl.tool_loop.call_names import call_name, without_calls
from dsl.tool_loop.decision import leave_out, take_result
from dsl.tool_loop.exchange import ToolResult
from dsl.tool_loop.tool_loop_progress import OpenCall, StoppedByHook
from dsl.tool_loop.tool_loop_terms import REMINDED_AT, LoopTerms
from dsl.values import Json
from workflows.agents.hook_points import stopped_by
from workflows.agents.hooked_calls import CallHooks, HookedResult
from workflows.agents.shared_work import has_result, is_read, note_tool_result, publish_work
from workflows.agents.skill_calls import CalledSkill
from workflows.agents.tool_kinds import ToolCall, call_tool
from workflows.approvals.output_approval import ApprovalSubject, with_approval
from workflows.approvals.payload_edits import changes, edit_problem
from workflows.core.causes.agent_causes import CallRepeated
from workflows.core.causes.step_causes import Failed
from workflows.core.causes.trail_causes import TrailCause
from workflows.core.location import Interpreter, Location, Skipped
from workflows.core.patches import Patch
from workflows.core.progress_kinds import AgentLoopProgress, HookedCall
from workflows.core.scope import Job, Scope
from workflows.core.trail import note_step, skip_cause

_MAX_ERROR_LENGTH = 4_000
"""Characters of a failure's message that a model gets."""


async def run_calls(
    indexes: Sequence[int],
    progress: AgentLoopProgress,
    terms: LoopTerms,
    place: Location,
    persona: str,
    scope: Scope,
    interpreter: Interpreter,
    hooks: Sequence[Hook] = (),
    *,
    concurrent: bool,
) -> None:
    """Make the calls of a turn that have no result yet, and note their results.

    Args:
        indexes: of the calls in the turn.
        progress: of the agent.
        terms: of its loop.
        place: of the agent.
        persona: of the agent; its budgets pay.
        scope: the run.
        interpreter: runs agents and teams.
        hooks: of the agent.
        concurrent: whether the calls run at the same time; calls of one stateful agent never do.
    """
    turn = _Turn(progress, terms, place, persona, scope, interpreter, hooks)
    chains: dict[str, list[int]] = {}
    for index in indexes:
        tool = turn.tool(index)
        alone = f"{index}" if concurrent else "all"
        chains.setdefault(progress.loop.calls[index].tool if tool.stateful else alone, []).append(
            index
        )
    if len(chains) == 1 or (not concurrent and scope.patched(Patch.SERIAL_CALLS)):
        await turn.run(indexes)
        return
    jobs: dict[str, Job] = {name: partial(turn.run, chain) for name, chain in chains.items()}
    calls = progress.loop.calls
    begun = {name for name, chain in chains.items() if any(calls[n].started for n in chain)}
    await scope.together(jobs, enough=lambda finished: len(finished) == len(jobs), begun=begun)


class _Ran(NamedTuple):
    """What a call came to, and what the model learns besides."""

    outcome: Outcome
    kept: KeptResult | None = None
    note: str = ""
    """How the arguments that ran differ from the model's."""


class _Turn:
    """The calls of one turn."""

    def __init__(
        self,
        progress: AgentLoopProgress,
        terms: LoopTerms,
        place: Location,
        persona: str,
        scope: Scope,
        interpreter: Interpreter,
        hooks: Sequence[Hook],
    ) -> None:
        self._progress = progress
        self._persona = persona
        self._hooks = hooks
        self._terms = terms
        self._scope = scope
        self._interpreter = interpreter
        self._place = place._replace(personas=(*place.personas, persona), loop=None)
        self._agent = place
        self._publishes = _publishes(place, scope)
        """Whether other agents read the results of this one's tools."""

    def tool(self, index: int) -> Tool:
        """Return the tool of a call."""
        name = self._progress.loop.calls[index].tool
        tool = self._scope.plan.tools.get(name)
        if tool is None:
            raise InvalidPlan(f"the plan has no tool {name!r}")
        return tool

    async def run(self, indexes: Sequence[int]) -> None:
        """Make calls one after another."""
        for index in indexes:
            if self._progress.loop.calls[index].result is not None:
                continue
            if isinstance(self._progress.loop.end, StoppedByHook):
                leave_out(self._progress.loop, index)
            else:
                await self._one(index)

    async def _one(self, index: int) -> None:
        scope, state = self._scope, self._scope.state
        call = self._progress.loop.calls[index]
        number = self._progress.loop.turns + self._progress.loop.reasks
        place = self._place.at(call_name(call.tool, number, index + 1))
        key = place.step
        state.doing[key] = scope.time() if call.started is None else call.started
        status: str
        cause: TrailCause | None = None
        try:
            if call.started is None:
                await scope.checkpoint()
            if state.skips and key in state.skips:
                raise Skipped(state.skips.pop(key).value)
            if call.started is None:
                call.started = scope.time()
                note_step(scope, place, "started", None, event="tool_start")
            ran = await self._ran(call, self.tool(index), place)
            if state.skips and key in state.skips:  # it ended before the request reached it
                raise Skipped(state.skips.pop(key).value)
            status, error = ran.outcome.status, ran.outcome.error
            cause = None if error is None else Failed("failed", error)
            result, digest = _for_model(ran)
        except Skipped as skipped:
            state.forget(place.key)
            status, cause = "skipped", skip_cause(skipped.value, scope)
            result = _skipped_result(skipped.value)
            ran = _Ran(Outcome("skipped", skipped.value))
            digest = fingerprint(skipped.value)
        finally:
            state.doing.pop(key, None)
        publish_work(call.tool, ran.outcome, place, scope)
        if self._publishes and has_result(ran.outcome, scope):
            note_tool_result(call.tool, ran.outcome.data, self._agent, scope)
        if self._terms.policy(call.tool).exit_on_success:
            call.data = ran.outcome.data
        seconds = None if call.started is None else round(scope.time() - call.started, 3)
        note_step(scope, place, status, cause, seconds, event="tool_end")
        times = take_result(self._progress.loop, index, result, digest)
        if times == REMINDED_AT:
            repeated = CallRepeated("call_repeated", call.tool, times)
            note_step(scope, self._agent, "repeated", repeated)

    async def _ran(self, call: OpenCall, tool: Tool, place: Location) -> _Ran:
        """Make one call, after its hooks, with a person's approval if the tool demands one."""
        terms = call_approval(tool.requires_approval)
        made = ToolCall(
            call.tool,
            tool,
            place,
            keep=self._may_keep(call, terms),
            counted=lambda: self._progress.execution,
        )
        agent, number = self._agent, self._progress.loop.turns + self._progress.loop.reasks
        own: Json = {"agent": self._persona, "task": without_calls(agent.name), "turn": number}
        hooks = CallHooks(self._hooks, own, made, self._call, self._scope)
        hooked = await hooks.before({**call.arguments, **tool.fixed})
        if isinstance(hooked, HookedResult):
            return self._hooked(hooked)
        ran = await self._approved_call(call, tool, place, hooked, hooks)
        hooks.ended()
        if not hooked.changed_by:
            return ran
        differences = changes({**call.arguments, **tool.fixed}, hooked.given)
        note = f"[The hook {hooked.changed_by[-1]} changed the arguments: {', '.join(differences)}]"
        return ran._replace(note=f"{note}\n{ran.note}".strip())

    async def _call(self, call: ToolCall, given: JsonValue) -> CalledSkill:
        end = self._progress.loop.end
        if isinstance(end, StoppedByHook):  # of another call of the turn, while this one waited
            return CalledSkill(Outcome.failed(end.type, end.message))
        return await call_tool(call, given, self._scope, self._interpreter)

    def _hooked(self, result: HookedResult, note: str = "") -> _Ran:
        """Return what a call came to; a hook that failed also ends the agent."""
        if result.stop is not None:
            self._progress.loop.end = stopped_by(result.stop)
        return _Ran(result.called.outcome, result.called.kept, note)

    async def _approved_call(
        self, call: OpenCall, tool: Tool, place: Location, hooked: HookedCall, hooks: CallHooks
    ) -> _Ran:
        terms = call_approval(tool.requires_approval)
        if terms is None:
            return self._hooked(await hooks.call(hooked.given))
        ran: list[_Ran] = []

        async def work(allowed: JsonValue) -> Outcome:
            ran.append(await self._made(tool, hooked, allowed, hooks))
            return ran[-1].outcome

        subject = ApprovalSubject(
            given=hooked.given,
            allow=f"May the tool {call.tool!r} be called?",
            accept=f"Is the result of the tool {call.tool!r} accepted?",
            tool=call.tool,
            sends="egress" in tool.labels,
        )
        outcome = await with_approval(terms, subject, place, self._scope, work)
        if ran and ran[-1].outcome is outcome:
            return ran[-1]
        return _Ran(outcome)

    async def _made(
        self, tool: Tool, hooked: HookedCall, given: JsonValue, hooks: CallHooks
    ) -> _Ran:
        """Make one call with the arguments that a person allows; edited ones are checked again."""
        edited = changes(hooked.given, given)
        if not edited:
            return self._hooked(await hooks.call(given))
        problem = edit_problem(tool, given)
        if problem is not None:
            return _Ran(problem)
        refused = await hooks.guard(given)
        if refused is not None:
            return self._hooked(refused)
        note = f"[A person changed the arguments: {', '.join(edited)}]"
        return self._hooked(await hooks.call(given), note)

    def _may_keep(self, call: OpenCall, terms: CallApproval | None) -> bool:
        """Return whether nobody here reads the result: neither a person nor the step."""
        shown = terms is not None and terms.at == "after"
        exits = self._terms.policy(call.tool).exit_on_success
        return not shown and not exits and not self._publishes


def _publishes(agent: Location, scope: Scope) -> bool:
    """Return whether an agent runs as a tool whose own results others read."""
    if not agent.tool or not is_read(agent.tool, scope.plan, results=True):
        return False
    return agent.step.is_model_call or scope.patched(Patch.PUBLISHED_RESULTS)


def _for_model(ran: _Ran) -> tuple[ToolResult, str]:
    """Return the result as the model gets it, and a digest of what it is."""
    outcome, note = ran.outcome, f"{ran.note}\n" if ran.note else ""
    error = outcome.error
    if error is not None:
        text = f"{note}{error.type}: {error.message}"[:_MAX_ERROR_LENGTH]
        return ToolResult(text=text, failed=True), fingerprint([error.type, outcome.data])
    if ran.kept is not None:
        return ToolResult(text=note, kept=ran.kept.name, size=ran.kept.size), ran.kept.name
    return ToolResult(text=f"{note}{_text(outcome.data)}"), fingerprint(outcome.data)


def _skipped_result(value: JsonValue) -> ToolResult:
    if value is None:
        return ToolResult(text="a person skipped this call", failed=True)
    return ToolResult(text=f"[A person skipped this call, and gave its result.]\n{_text(value)}")


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
