"""One call of a tool, whatever the tool is made of: a function, a server's tool, an agent, a team.

With `cache: run`, the same call gets the first result again. Equal calls that are in progress at
once become one call, whose result all get. Only successes of tools that read are kept, and any call
with an effect forgets all of them.
"""

import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import NamedTuple, Self, assert_never

from pydantic import JsonValue

from coterie.activities.contracts import KeptResult
from coterie.dsl.egress.counted_grants import counted_grants
from coterie.dsl.json_schema.schema_checker import UnusableSchema, mismatches
from coterie.dsl.model.decision_terms import call_approval
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.retryability import can_pass
from coterie.dsl.model.step_kinds.step_base import FunctionTerms
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.model.temporal_calls import CommandTarget
from coterie.dsl.model.tools.tool_contract import (
    ActivityTool,
    AgentTool,
    ApiTool,
    FunctionTool,
    McpTool,
    NestedTool,
    NexusTool,
    OneCallTool,
    PlannedTool,
    ServerOffer,
    TeamTool,
    TemporalTool,
    Tool,
    WorkflowTool,
)
from coterie.dsl.model.traversal.callable_tools import agent_type_of
from coterie.dsl.tool_loop.call_checks import fingerprint
from coterie.dsl.values import Json
from coterie.workflows.agents.function_calls import CalledFunction, FunctionCall, make_call
from coterie.workflows.agents.repeatable_attempts import close_attempt, may_repeat, open_attempt
from coterie.workflows.agents.shared_work import hand_over_work
from coterie.workflows.agents.team_runs import MAX_NESTED, begin_team, follow_team
from coterie.workflows.agents.time_limits import within_time
from coterie.workflows.approvals.egress_approval import LabelledCall, end_call, refused_egress
from coterie.workflows.budgets.call_admission import admit_call
from coterie.workflows.core.causes.step_causes import Failed
from coterie.workflows.core.location import Interpreter, Location
from coterie.workflows.core.requests import PlannedCall
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state_parts import CachedResult, ReadInProgress
from coterie.workflows.core.trail import note_step


def planned_call(name: str, terms: FunctionTerms | None) -> PlannedCall | None:
    """Return the call of a function, a function or a server's tool, if it may change something."""
    if terms is None or terms.effect == "read":
        return None
    return PlannedCall(name=name, effect=terms.effect)


def planned_tool_call(tool: Tool) -> PlannedCall | None:
    """Return the call of a tool, if it is one and may change something."""
    return planned_call(tool.made_of, tool.terms) if isinstance(tool, OneCallTool) else None


_MAX_CACHED = 200
"""Results that a run keeps; it forgets the oldest."""

_MAX_SIZE = 4_000
"""Bytes of JSON of a result that the state keeps itself; the worker stores larger ones."""


class CachedCall:
    """One call of a tool, which may get the result of an equal one."""

    def __init__(
        self,
        name: str,
        tool: OneCallTool,
        given: JsonValue,
        location: Location,
        scope: Scope,
        *,
        keep: bool,
    ) -> None:
        """Take the call.

        Args:
            name: of the tool.
            tool: its contract.
            given: its whole input.
            location: of the call.
            scope: the run.
            keep: whether the caller takes the name of a stored result.
        """
        is_cached = tool.cache is not None and tool.effect == "read"
        self._key = _key(name, tool, given, location, scope) if is_cached else ""
        self._name = name
        self._keep = keep
        self._scope = scope
        self._read = ReadInProgress()

    async def known(self) -> CalledFunction | None:
        """Return the result of an equal call, which may still be in progress.

        None if this call must be made: there is no equal one, or it failed.
        """
        if not self._key:
            return None
        state, scope = self._scope.state, self._scope
        result = self._usable(state.cached_results.get(self._key))
        while result is None:
            pending_read = state.reads_in_progress.get(self._key)
            if pending_read is None:
                return None
            await _end_of(pending_read, self._name, scope)
            result = self._usable(pending_read.result)
        return result

    def _usable(self, cached_result: CachedResult | None) -> CalledFunction | None:
        if cached_result is None or (cached_result.name and not self._keep):
            return None
        if cached_result.name:
            kept_result = KeptResult(name=cached_result.name, size=cached_result.size, preview="")
            return CalledFunction(Outcome.succeeded(), kept_result)
        return CalledFunction(Outcome.succeeded(cached_result.data, cached_result.text))

    def __enter__(self) -> Self:
        """Begin the call: equal ones wait for it from now on."""
        if self._key:
            self._scope.state.reads_in_progress.setdefault(self._key, self._read)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: object,
    ) -> None:
        """End the call, also without a result: then one of those that wait makes its own."""
        self._read.ended = True
        if self._is_current():
            del self._scope.state.reads_in_progress[self._key]

    def remember(self, called: CalledFunction) -> None:
        """Give the result of the call to equal ones, now and later, if it succeeded.

        One that depends on a person's answer is given to none: another call may get other answers.
        """
        if not self._key or not called.outcome.success or called.has_answers:
            return
        state = self._scope.state
        if called.kept is not None:
            result = CachedResult(name=called.kept.name, size=called.kept.size)
        else:
            result = CachedResult(data=called.outcome.data, text=called.outcome.text)
        self._read.result = result
        if called.kept is None and len(json.dumps([result.data, result.text])) > _MAX_SIZE:
            return
        if not self._is_current():
            return  # an effect since the call began: it may have read what was before
        state.cached_results[self._key] = result
        while len(state.cached_results) > _MAX_CACHED:
            del state.cached_results[next(iter(state.cached_results))]

    def _is_current(self) -> bool:
        return self._scope.state.reads_in_progress.get(self._key) is self._read


async def _end_of(pending_read: ReadInProgress, name: str, scope: Scope) -> None:
    """Wait for an equal call; it ends before the run continues as new."""
    await scope.wait_until(
        lambda: pending_read.ended, None, f"an equal call of {name}", boundary=False
    )


def forget_result(
    name: str, tool: PlannedTool, given: JsonValue, location: Location, scope: Scope
) -> None:
    """Forget the result of a call that is made again."""
    scope.state.cached_results.pop(_key(name, tool, given, location, scope), None)


def _key(
    name: str, tool: PlannedTool, tool_input: JsonValue, location: Location, scope: Scope
) -> str:
    """Return the key of a call; without grants, it is the one that earlier versions have kept."""
    counted = counted_grants(tool.grants, location.enclosing_tools, scope.plan).counted
    grants: list[JsonValue] = [*sorted(counted)]
    return fingerprint([name, tool.contract, tool_input, *([grants] if grants else [])])


MAX_NESTED_AGENTS = 5
"""How deep agents and teams may call each other as tools."""


class ToolCall(NamedTuple):
    """One call of a tool."""

    name: str
    tool: Tool
    location: Location
    seconds: float | None = None
    """Time limit, instead of the tool's own."""
    keep: bool = False
    """Whether the worker stores a large result."""
    retries: int | None = None
    """Additional attempts: the fewest of these and of the tool's own count."""
    counted: Callable[[], int] | None = None
    """Returns the execution of the step that the call belongs to. Default: counts its location."""
    program: Callable[[FunctionCall], Awaitable[CalledFunction]] | None = None
    """Makes the call if its code calls tools."""


async def call_tool(
    call: ToolCall, given: JsonValue, scope: Scope, interpreter: Interpreter
) -> CalledFunction:
    """Call the tool with its whole input."""
    labelled = LabelledCall.of_tool(call.name, call.tool)
    match call.tool:
        case (
            FunctionTool() | McpTool() | ApiTool() | ActivityTool() | WorkflowTool() | NexusTool()
        ) as tool:
            cache = CachedCall(call.name, tool, given, call.location, scope, keep=call.keep)
            result = await _cached_result(call, cache, scope)
            if result is None:
                if refused := await refused_egress(labelled, given, call.location, scope):
                    return CalledFunction(refused)
                result = await _cached_result(call, cache, scope)  # made meanwhile
            if result is None:
                with cache:
                    result = await _function(call, tool, given, scope)
                    cache.remember(result)
        case AgentTool() | TeamTool() as tool:
            if refused := await refused_egress(labelled, given, call.location, scope):
                return CalledFunction(refused)
            own = given if isinstance(given, dict) else {}
            result = CalledFunction(await _whole(call, tool, own, scope, interpreter))
        case _:
            assert_never(call.tool)
    end_call(labelled, call.location, scope)
    return result


async def _cached_result(call: ToolCall, cache: CachedCall, scope: Scope) -> CalledFunction | None:
    """Return the cached result of an equal call, if any."""
    result = await cache.known()
    if result is not None:
        note_step(scope, call.location, "cached", None, event="cache_hit")
    return result


async def _function(
    call: ToolCall, tool: OneCallTool, tool_input: JsonValue, scope: Scope
) -> CalledFunction:
    """Call a tool function or an MCP tool."""
    if call.program is not None:
        return await call.program(function_call(call, tool, tool_input))
    location, state = call.location, scope.state
    count = call.counted or (lambda: state.executed(location.step))
    return await make_call(function_call(call, tool, tool_input), location, scope, count)


def function_call(call: ToolCall, tool: OneCallTool, given: JsonValue) -> FunctionCall:
    """Return the call of a tool function or an MCP tool under the name of a tool."""
    terms = tool.terms
    if call.retries is not None:
        terms = terms.model_copy(update={"retries": _fewest(call, terms.retries)})
    return FunctionCall(
        tool.made_of,
        given,
        terms,
        seconds=call.seconds,
        keep=call.keep,
        listing=_listing(tool),
        answered_by=call_approval(tool.requires_approval),
        target=_command(tool),
        failures_without_effect=tool.target.failures_without_effect
        if isinstance(tool, TemporalTool)
        else (),
    )


def _listing(tool: OneCallTool) -> str | None:
    """Return the digest of what a worker must still offer when it makes the call."""
    if isinstance(tool, TemporalTool):
        return tool.target.declaration if _command(tool) is None else None
    return (tool.listing or None) if isinstance(tool, ServerOffer) else None


def _command(tool: OneCallTool) -> CommandTarget | None:
    """Return what the run itself calls; None if a worker of Coterie makes the call."""
    if not isinstance(tool, TemporalTool) or not isinstance(tool.target, CommandTarget):
        return None
    return tool.target


def _fewest(call: ToolCall, retries: int) -> int:
    return retries if call.retries is None else min(call.retries, retries)


async def _whole(
    call: ToolCall,
    tool: AgentTool | TeamTool,
    tool_input: Json,
    scope: Scope,
    interpreter: Interpreter,
) -> Outcome:
    """Run an agent or a team to its end, with the attempts of its contract."""
    location, retries = call.location, scope.state.progress.tool_retries
    if location.step.model_calls_around > MAX_NESTED_AGENTS:
        return _too_deep(MAX_NESTED_AGENTS)
    if len(location.enclosing_tools) >= MAX_NESTED:
        return _too_deep(MAX_NESTED)
    if scope.plan.budgets and location.key not in retries:
        await admit_call(scope, location, location.personas, "tool_calls")
    retry_count = retries.setdefault(location.key, 0)
    while True:
        attempt = open_attempt(location, scope)
        outcome = await _in_time(call, tool, tool_input, scope, interpreter)
        error = outcome.error
        close_attempt(location, scope)
        if (
            error is None
            or tool.on_error == "surface"
            or retry_count >= _fewest(call, tool.retries)
            or not can_pass(outcome.root_error, data_can_differ=attempt.may_differ)
            or not may_repeat(attempt, outcome, location, scope)
        ):
            retries.pop(location.key, None)
            return outcome
        retry_count += 1
        retries[location.key] = retry_count
        note_step(scope, location, "retried", Failed("failed", error))


async def _in_time(
    call: ToolCall,
    tool: AgentTool | TeamTool,
    tool_input: Json,
    scope: Scope,
    interpreter: Interpreter,
) -> Outcome:
    async def work() -> Outcome:
        outcome = await _run_agent_or_team(call, tool, tool_input, scope, interpreter)
        return _check_result(call.name, tool, outcome)

    seconds = call.seconds or tool.timeout
    if seconds is None:
        return await work()
    outcome = await within_time(seconds, call.name, call.location, scope, work)
    if outcome is not None:
        return outcome
    _stop(call.location, scope)
    return Outcome.failed("Timeout", f"{call.name!r} did not end within {seconds:g} s")


def _stop(location: Location, scope: Scope) -> None:
    """Drop all progress within the call, but not what people and hooks decided of it."""
    allowed = scope.state.progress.approved_inputs
    approved_input = allowed.get(location.key)
    sending = scope.state.progress.sending_calls.get(location.key)
    hooked = scope.state.progress.hooked_calls.get(location.key)
    scope.state.forget(location.key)
    if hooked is not None:  # the hooks that were asked, and the retries that they have used
        scope.state.progress.hooked_calls[location.key] = hooked
    if sending is not None:
        scope.state.progress.sending_calls[location.key] = sending
    if approved_input is not None:
        allowed[location.key] = approved_input


def _too_deep(allowed: int) -> Outcome:
    """Return the failure of a call that is nested too deep."""
    message = (
        f"agents and teams that call each other as tools may be nested {allowed} deep; "
        "do this work without the tool"
    )
    return Outcome.failed("NestedTooDeep", message)


def _run_agent_or_team(
    call: ToolCall,
    tool: AgentTool | TeamTool,
    tool_input: Json,
    scope: Scope,
    interpreter: Interpreter,
) -> Coroutine[None, None, Outcome]:
    if isinstance(tool, TeamTool):
        return _team(call, tool.team, tool_input, scope, interpreter)
    hand_over_work(tool, call.location, scope)
    location = call.location._replace(tool=call.name).within_tool(call.name)
    return interpreter.run_agent(agent_step(call.name, tool, scope), location, tool_input)


async def _team(
    call: ToolCall, team: str, tool_input: Json, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run a team; a caller gets what it declares as output, or what its tasks came to."""
    location = call.location.within_tool(call.name)
    refused = begin_team(team, tool_input, call.name, location, scope)
    if refused is not None:
        return refused
    return (await follow_team(team, location, scope, interpreter))[0]


def agent_step(name: str, tool: AgentTool, scope: Scope) -> PersonaStep:
    """Return the step that runs an agent called as a tool."""
    persona = scope.plan.personas[tool.agent]
    return PersonaStep(
        name=name,
        agent_type=agent_type_of(persona),
        persona_key=tool.agent,
        input={},
        conversation=f"tool:{name}" if tool.stateful else None,
    )


def _check_result(name: str, tool: NestedTool, outcome: Outcome) -> Outcome:
    """Check the result of an agent or a team against the tool's output schema."""
    schema = tool.output_schema
    if schema is None or not outcome.success:
        return outcome
    try:
        problems = mismatches(outcome.data, schema, "the result")
    except UnusableSchema as error:
        problems = [f"its schema cannot be checked: {error}"]
    if not problems:
        return outcome
    return Outcome.failed("InvalidResult", f"{name!r}: {'; '.join(problems)}", outcome.data)
