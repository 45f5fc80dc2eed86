"""The hooks of one call: what they change, refuse or have made again."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.hooks.hook_reads import reads_result
from coterie.dsl.hooks.hook_rulings import HookRuling
from coterie.dsl.model.hooks import Hook, HookPoint
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.tools.tool_contract import OneCallTool
from coterie.dsl.tool_loop.call_checks import argument_problems
from coterie.dsl.values import Json
from coterie.workflows.agents.function_calls import CalledFunction
from coterie.workflows.agents.hook_points import HookVerdict, ask_hooks, stopped_outcome
from coterie.workflows.agents.tool_kinds import ToolCall, forget_result
from coterie.workflows.core.progress.agent_progress import HookedCall
from coterie.workflows.core.scope import Scope


class HookedResult(NamedTuple):
    """What a call came to after its hooks."""

    called: CalledFunction
    stop: HookRuling | None = None
    """The hook that stops the agent."""


Make = Callable[[ToolCall, JsonValue], Awaitable[CalledFunction]]
"""Makes the call with its whole input."""


class CallHooks:
    """Asks the hooks about one call."""

    def __init__(
        self, hooks: Sequence[Hook], own: Json, call: ToolCall, make: Make, scope: Scope
    ) -> None:
        self._hooks = hooks
        self._own: Json = {**own, "tool": call.name}
        """Whose call it is."""
        self._call = call._replace(keep=call.keep and not reads_result(hooks, call.name))
        self._make = make
        self._scope = scope

    async def before(self, given: Json) -> HookedCall | HookedResult:
        """Return the arguments as hooks change them, or the failure of a call that they stop.

        Their decisions survive continue-as-new.
        """
        if not self._hooks:
            return HookedCall(given)
        hooked_calls, key = self._scope.state.progress.hooked_calls, self._call.location.key
        if key in hooked_calls:
            return hooked_calls[key]
        verdict = await self._ask("before_tool_call", {"arguments": given})
        if verdict.stop is not None:
            return _hook_failure(verdict.stop)
        changed = verdict.facts["arguments"]
        assert isinstance(changed, dict), "`modified` merges arguments"
        tool = self._call.tool
        changed = {**changed, **tool.fixed}
        if verdict.changed_by and tool.input_schema is not None:
            own = {name: value for name, value in changed.items() if name not in tool.fixed}
            problems = argument_problems(own, tool.input_schema)
            if problems:
                by = ", ".join(verdict.changed_by)
                message = f"the hook {by!r} changed the arguments: {'; '.join(problems)}"
                return HookedResult(CalledFunction(Outcome.failed("InvalidArguments", message)))
        hooked_calls[key] = HookedCall(changed, verdict.changed_by)
        return hooked_calls[key]

    async def guard(self, given: JsonValue) -> HookedResult | None:
        """Return the failure of arguments that a person changed and a hook refuses."""
        if not self._hooks:
            return None
        facts: Json = {"arguments": given}
        verdict = await self._ask("before_tool_call", facts, guards_only=True)
        return None if verdict.stop is None else _hook_failure(verdict.stop)

    async def call(self, given: JsonValue) -> HookedResult:
        """Make the call, and again where a hook wants a retry; return what hooks let through."""
        while True:
            result = await self._make(self._call, given)
            if not self._hooks:
                return HookedResult(result)
            outcome = result.outcome
            error = outcome.error
            facts: Json = {
                "arguments": given,
                "result": outcome.data,
                "text": outcome.text,
                "error": None if error is None else {"type": error.type, "message": error.message},
            }
            verdict = await self._ask("after_tool_call", facts)
            ruling = verdict.ruling
            if ruling is None or ruling.decision != "retry":
                return self._let_through(result, verdict)
            tool = self._call.tool
            if isinstance(tool, OneCallTool) and tool.effect == "once":
                message = "a retry would repeat the effect of the tool"
                return _hook_failure(HookRuling(ruling.hook, "fail", message))
            forget_result(self._call.name, tool, given, self._call.location, self._scope)

    def _let_through(self, result: CalledFunction, verdict: HookVerdict) -> HookedResult:
        if verdict.stop is not None:
            return _hook_failure(verdict.stop)
        if verdict.changed_by:
            return HookedResult(CalledFunction(Outcome.succeeded(verdict.facts["result"])))
        return HookedResult(result)

    def ended(self) -> None:
        """Forget what hooks decided about the call."""
        self._scope.state.progress.hooked_calls.pop(self._call.location.key, None)

    async def _ask(
        self, point: HookPoint, facts: Json, *, guards_only: bool = False
    ) -> HookVerdict:
        call = self._call
        hooked_call = self._scope.state.progress.hooked_calls.get(call.location.key)
        return await ask_hooks(
            self._hooks,
            point,
            {**self._own, **facts},
            call.location,
            self._scope,
            tool=call.name,
            retries=None if hooked_call is None else hooked_call.retries,
            guards_only=guards_only,
        )


def _hook_failure(ruling: HookRuling) -> HookedResult:
    """Return the failure: a rejection refuses one call, a failure stops the agent."""
    stop = ruling if ruling.decision == "fail" else None
    return HookedResult(CalledFunction(stopped_outcome(ruling)), stop)
