"""One call of a tool, whatever the tool is made of: a skill, an MCP tool, an agent, a team."""

from collections.abc import Callable, Coroutine
from typing import NamedTuple, assert_never

from pydantic import JsonValue

from coterie.dsl.json_schema.schema_checker import UnusableSchema, mismatches
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.retryability import can_pass
from coterie.dsl.model.steps import AgentStep
from coterie.dsl.model.terms import call_approval
from coterie.dsl.model.tools.tool_contract import (
    AgentTool,
    McpTool,
    NestedTool,
    OneCallTool,
    SkillTool,
    TeamTool,
    Tool,
)
from coterie.dsl.model.traversal.callable_tools import agent_type_of
from coterie.dsl.values import Json
from coterie.workflows.agents.repeatable_attempts import close_attempt, may_repeat, open_attempt
from coterie.workflows.agents.shared_work import hand_over_work
from coterie.workflows.agents.skill_calls import CalledSkill, SkillCall, make_call
from coterie.workflows.agents.team_runs import MAX_NESTED, begin_team, follow_team
from coterie.workflows.agents.time_limits import within_time
from coterie.workflows.agents.tool_cache import CachedCall
from coterie.workflows.approvals.egress_approval import LabelledCall, end_call, refused_egress
from coterie.workflows.budgets.call_admission import admit_call
from coterie.workflows.core.causes.step_causes import Failed
from coterie.workflows.core.location import Interpreter, Location
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.trail import note_step

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


async def call_tool(
    call: ToolCall, given: JsonValue, scope: Scope, interpreter: Interpreter
) -> CalledSkill:
    """Call the tool with its whole input."""
    labelled = LabelledCall.of_tool(call.name, call.tool)
    match call.tool:
        case SkillTool() | McpTool() as tool:
            cache = CachedCall(call.name, tool, given, call.location, scope, keep=call.keep)
            called = await _cached_result(call, cache, scope)
            if called is None:
                if refused := await refused_egress(labelled, given, call.location, scope):
                    return CalledSkill(refused)
                called = await _cached_result(call, cache, scope)  # made meanwhile
            if called is None:
                with cache:
                    called = await _skill(call, tool, given, scope)
                    cache.remember(called)
        case AgentTool() | TeamTool() as tool:
            if refused := await refused_egress(labelled, given, call.location, scope):
                return CalledSkill(refused)
            own = given if isinstance(given, dict) else {}
            called = CalledSkill(await _whole(call, tool, own, scope, interpreter))
        case _:
            assert_never(call.tool)
    end_call(labelled, call.location, scope)
    return called


async def _cached_result(call: ToolCall, cache: CachedCall, scope: Scope) -> CalledSkill | None:
    """Return the cached result of an equal call, if any."""
    known = await cache.known()
    if known is not None:
        note_step(scope, call.location, "cached", None, event="cache_hit")
    return known


async def _skill(call: ToolCall, tool: OneCallTool, given: JsonValue, scope: Scope) -> CalledSkill:
    """Call a skill or an MCP tool."""
    location, state = call.location, scope.state
    count = call.counted or (lambda: state.executed(location.step))
    return await make_call(skill_call(call, tool, given), location, scope, count)


def skill_call(call: ToolCall, tool: OneCallTool, given: JsonValue) -> SkillCall:
    """Return the call of a skill or an MCP tool under the name of a tool."""
    terms = tool.terms
    if call.retries is not None:
        terms = terms.model_copy(update={"retries": _fewest(call, terms.retries)})
    return SkillCall(
        tool.made_of,
        given,
        terms,
        seconds=call.seconds,
        keep=call.keep,
        listing=(tool.listing or None) if isinstance(tool, McpTool) else None,
        answered_by=call_approval(tool.requires_approval),
    )


def _fewest(call: ToolCall, retries: int) -> int:
    return retries if call.retries is None else min(call.retries, retries)


async def _whole(
    call: ToolCall, tool: AgentTool | TeamTool, given: Json, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run an agent or a team to its end, with the attempts of its contract."""
    location, retries = call.location, scope.state.progress.tool_retries
    if location.step.model_calls_around > MAX_NESTED_AGENTS:
        return _too_deep(MAX_NESTED_AGENTS)
    if len(location.enclosing_tools) >= MAX_NESTED:
        return _too_deep(MAX_NESTED)
    if scope.plan.budgets and location.key not in retries:
        await admit_call(scope, location, location.personas, "tool_calls")
    done = retries.setdefault(location.key, 0)
    while True:
        attempt = open_attempt(location, scope)
        outcome = await _in_time(call, tool, given, scope, interpreter)
        error = outcome.error
        close_attempt(location, scope)
        if (
            error is None
            or tool.on_error == "surface"
            or done >= _fewest(call, tool.retries)
            or not can_pass(outcome.root_error, data_can_differ=attempt.may_differ)
            or not may_repeat(attempt, outcome, location, scope)
        ):
            retries.pop(location.key, None)
            return outcome
        done += 1
        retries[location.key] = done
        note_step(scope, location, "retried", Failed("failed", error))


async def _in_time(
    call: ToolCall, tool: AgentTool | TeamTool, given: Json, scope: Scope, interpreter: Interpreter
) -> Outcome:
    async def work() -> Outcome:
        outcome = await _run_agent_or_team(call, tool, given, scope, interpreter)
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
    kept = allowed.get(location.key)
    sending = scope.state.progress.sending_calls.get(location.key)
    hooked = scope.state.progress.hooked_calls.get(location.key)
    scope.state.forget(location.key)
    if hooked is not None:  # the hooks that were asked, and the retries that they have used
        scope.state.progress.hooked_calls[location.key] = hooked
    if sending is not None:
        scope.state.progress.sending_calls[location.key] = sending
    if kept is not None:
        allowed[location.key] = kept


def _too_deep(allowed: int) -> Outcome:
    """Return the failure of a call that is nested too deep."""
    message = (
        f"agents and teams that call each other as tools may be nested {allowed} deep; "
        "do this work without the tool"
    )
    return Outcome.failed("NestedTooDeep", message)


def _run_agent_or_team(
    call: ToolCall, tool: AgentTool | TeamTool, given: Json, scope: Scope, interpreter: Interpreter
) -> Coroutine[None, None, Outcome]:
    if isinstance(tool, TeamTool):
        return _team(call, tool.team, given, scope, interpreter)
    hand_over_work(tool, call.location, scope)
    location = call.location._replace(tool=call.name).within_tool(call.name)
    return interpreter.run_agent(agent_step(call.name, tool, scope), location, given)


async def _team(
    call: ToolCall, team: str, given: Json, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run a team; a caller gets what it declares as output, or what its tasks came to."""
    location = call.location.within_tool(call.name)
    refused = begin_team(team, given, call.name, location, scope)
    if refused is not None:
        return refused
    return (await follow_team(team, location, scope, interpreter))[0]


def agent_step(name: str, tool: AgentTool, scope: Scope) -> AgentStep:
    """Return the step that runs an agent called as a tool."""
    persona = scope.plan.personas[tool.agent]
    return AgentStep(
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
