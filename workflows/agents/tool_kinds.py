"""One call of a tool, whatever the tool is made of: a skill, an MCP tool, an agent, a team."""

from collections.abc import Callable, Coroutine
from typing import NamedTuple, assert_never

from pydantic import JsonValue

from coterie.dsl.errors import InvalidPlan
from coterie.dsl.json_schema.schema_checker import UnusableSchema, mismatches
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.retryability import can_pass
from coterie.dsl.model.step_kinds.step_base import SkillTerms
from coterie.dsl.model.steps import AgentStep
from coterie.dsl.model.terms import call_approval
from coterie.dsl.model.tools.tool_contract import Tool
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
    kind, made_of = call.tool.origin
    labelled = LabelledCall.of_tool(call.name, call.tool)
    match kind:
        case "skill" | "mcp":
            cache = CachedCall(call.name, call.tool, given, call.location, scope, keep=call.keep)
            called = await _cached_result(call, cache, scope)
            if called is None:
                if refused := await refused_egress(labelled, given, call.location, scope):
                    return CalledSkill(refused)
                called = await _cached_result(call, cache, scope)  # made meanwhile
            if called is None:
                with cache:
                    called = await _skill(call, made_of, given, scope)
                    cache.remember(called)
        case "agent" | "team":
            if refused := await refused_egress(labelled, given, call.location, scope):
                return CalledSkill(refused)
            own = given if isinstance(given, dict) else {}
            called = CalledSkill(await _whole(call, own, scope, interpreter))
        case "function":
            raise InvalidPlan(f"the tool {call.name!r} is made of what this version cannot call")
        case _:
            assert_never(kind)
    end_call(labelled, call.location, scope)
    return called


async def _cached_result(call: ToolCall, cache: CachedCall, scope: Scope) -> CalledSkill | None:
    """Return the cached result of an equal call, if any."""
    known = await cache.known()
    if known is not None:
        note_step(scope, call.location, "cached", None, event="cache_hit")
    return known


async def _skill(call: ToolCall, skill: str, given: JsonValue, scope: Scope) -> CalledSkill:
    """Call a skill or an MCP tool."""
    location, state = call.location, scope.state
    count = call.counted or (lambda: state.executed(location.step))
    return await make_call(skill_call(call, skill, given), location, scope, count)


def skill_call(call: ToolCall, skill: str, given: JsonValue) -> SkillCall:
    """Return the call of a skill or an MCP tool under the name of a tool."""
    tool = call.tool
    return SkillCall(
        skill,
        given,
        _own_terms(call),
        seconds=call.seconds,
        keep=call.keep,
        listing=tool.listing or None,
        answered_by=call_approval(tool.requires_approval),
    )


def _own_terms(call: ToolCall) -> SkillTerms | None:
    terms = call.tool.terms
    if terms is None or call.retries is None:
        return terms
    return terms.model_copy(update={"retries": _fewest(call, terms.retries)})


def _fewest(call: ToolCall, retries: int) -> int:
    return retries if call.retries is None else min(call.retries, retries)


async def _whole(call: ToolCall, given: Json, scope: Scope, interpreter: Interpreter) -> Outcome:
    """Run an agent or a team to its end, with the attempts of its contract."""
    location, tool, retries = call.location, call.tool, scope.state.progress.tool_retries
    if location.step.model_calls_around > MAX_NESTED_AGENTS:
        return _too_deep(MAX_NESTED_AGENTS)
    if len(location.enclosing_tools) >= MAX_NESTED:
        return _too_deep(MAX_NESTED)
    if scope.plan.budgets and location.key not in retries:
        await admit_call(scope, location, location.personas, "tool_calls")
    done = retries.setdefault(location.key, 0)
    while True:
        attempt = open_attempt(location, scope)
        outcome = await _in_time(call, given, scope, interpreter)
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


async def _in_time(call: ToolCall, given: Json, scope: Scope, interpreter: Interpreter) -> Outcome:
    async def work() -> Outcome:
        return _check_result(call, await _run_agent_or_team(call, given, scope, interpreter))

    seconds = call.seconds or call.tool.timeout
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
    call: ToolCall, given: Json, scope: Scope, interpreter: Interpreter
) -> Coroutine[None, None, Outcome]:
    tool = call.tool
    if tool.team is not None:
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


def agent_step(name: str, tool: Tool, scope: Scope) -> AgentStep:
    """Return the step that runs an agent called as a tool."""
    persona = scope.plan.personas[tool.agent or ""]
    return AgentStep(
        name=name,
        agent_type=agent_type_of(persona),
        persona_key=tool.agent,
        input={},
        conversation=f"tool:{name}" if tool.stateful else None,
    )


def _check_result(call: ToolCall, outcome: Outcome) -> Outcome:
    """Check the result of an agent or a team against the tool's output schema."""
    schema = call.tool.output_schema
    if schema is None or not outcome.success:
        return outcome
    try:
        problems = mismatches(outcome.data, schema, "the result")
    except UnusableSchema as error:
        problems = [f"its schema cannot be checked: {error}"]
    if not problems:
        return outcome
    return Outcome.failed("InvalidResult", f"{call.name!r}: {'; '.join(problems)}", outcome.data)
