"""A tool: a tool function under the name that the document gives it, chosen now or at run time."""

from pydantic import JsonValue

from coterie.dsl.errors import listed, nearest
from coterie.dsl.json_values import describe_kind
from coterie.dsl.model.decision_terms import call_approval
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import ToolStep
from coterie.dsl.model.template_bound import number_of, optional_seconds
from coterie.dsl.model.tools.tool_contract import OneCallTool, Tool
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.tool_loop.call_checks import argument_problems, edit_problem
from coterie.dsl.values import Json
from coterie.workflows.agents.function_calls import CalledFunction, call_function
from coterie.workflows.agents.loop.call_hooks import CallHooks, HookedResult
from coterie.workflows.agents.shared_work import publish_work
from coterie.workflows.agents.tool_kinds import (
    ToolCall,
    call_tool,
    function_call,
    planned_tool_call,
)
from coterie.workflows.approvals.egress_approval import LabelledCall, end_call, refused_egress
from coterie.workflows.approvals.output_approval import ApprovalSubject, with_approval
from coterie.workflows.core.causes.agent_causes import ToolCalled
from coterie.workflows.core.location import Interpreter, Location, Skipped
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.trail import note_step


async def execute(
    step: ToolStep, location: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Call the tool; an unknown name is a failure that lists the tools."""
    names = location.facts(scope).names()
    name = fill(step.tool, names)
    tools = scope.plan.tools
    tool = tools.get(name) if isinstance(name, str) else None
    if tool is None or not isinstance(name, str):
        hint = nearest(str(name), tools)
        return Outcome.failed(
            "UnknownTool", f"there is no tool {name!r}; tools: {listed(tools)}. {hint}".rstrip(". ")
        )
    arguments = _valid_arguments(name, tool, fill(step.arguments, names))
    if isinstance(arguments, Outcome):
        return arguments
    if scope.plan.tool_events:
        _note_start(name, location, scope)
    retries = None if step.call_retries is None else number_of(step.call_retries)
    call = ToolCall(name, tool, location, optional_seconds(step.timeout), retries=retries)
    return await _hooked_call(call, {**arguments, **tool.fixed}, step.name, scope, interpreter)


def _valid_arguments(name: str, tool: Tool, arguments: JsonValue) -> Json | Outcome:
    """Return the arguments of a call, or the failure of those that the tool does not take."""
    arguments = {} if arguments is None else arguments
    if not isinstance(arguments, dict):
        kind = describe_kind(arguments)
        problem = f"the arguments of the tool {name!r} are {kind}, not a mapping"
        return Outcome.failed("InvalidArguments", problem)
    if (
        isinstance(tool, OneCallTool) or tool.input_schema is None
    ):  # a tool function checks its own input
        return arguments
    own = {key: value for key, value in arguments.items() if key not in tool.fixed}
    problems = argument_problems(own, tool.input_schema)
    if problems:
        return Outcome.failed("InvalidArguments", f"the tool {name!r}: {'; '.join(problems)}")
    return arguments


async def _hooked_call(
    call: ToolCall, arguments: Json, task: str, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Call the tool between its hooks, which may change its arguments or answer for it."""

    async def make(call: ToolCall, tool_input: JsonValue) -> CalledFunction:
        return await _call_tool(call, tool_input, scope, interpreter)

    own: Json = {"agent": "", "task": task, "turn": 0}
    hooks = CallHooks(scope.plan.hooks, own, call, make, scope)
    hooked = await hooks.before(arguments)
    if isinstance(hooked, HookedResult):
        return hooked.called.outcome
    if isinstance(call.tool, OneCallTool):
        outcome = await _approved_call(call, hooked.given, hooks, scope)
    else:
        outcome = await _publish_work(call, hooked.given, hooks, scope)
    hooks.ended()
    return outcome


async def _publish_work(
    call: ToolCall, tool_input: Json, hooks: CallHooks, scope: Scope
) -> Outcome:
    """Call an agent or a team, and let other tools read its accepted work."""
    skips, key = scope.state.skips, call.location.step
    try:
        outcome = await _approved_call(call, tool_input, hooks, scope)
        if outcome.success and key in skips:
            raise Skipped(skips.pop(key).value)  # it ended before the request reached it
    except Skipped as skipped:
        publish_work(call.name, tool_input, Outcome("skipped", skipped.value), call.location, scope)
        raise
    publish_work(call.name, tool_input, outcome, call.location, scope)
    return outcome


def _note_start(name: str, location: Location, scope: Scope) -> None:
    """Note the start of the call once, whatever its attempts, and however often the run resumes."""
    progress, key = scope.state.progress, location.key
    attempts = progress.retries.get(key)
    is_first = key not in progress.called_tools and (attempts is None or not attempts.retries)
    progress.called_tools[key] = name
    if is_first:
        note_step(scope, location, "started", ToolCalled("tool_called", name), event="tool_start")


async def _approved_call(
    call: ToolCall, tool_input: Json, hooks: CallHooks, scope: Scope
) -> Outcome:
    """Call the tool, with a person's approval if it demands one."""

    async def work(allowed: JsonValue) -> Outcome:
        refused = None
        if allowed != tool_input:
            checks_itself = isinstance(call.tool, OneCallTool)
            problem = None if checks_itself else edit_problem(call.tool, allowed)
            if problem is not None:
                return problem
            refused = await hooks.guard(allowed)
        return (refused or await hooks.call(allowed)).called.outcome

    terms = call_approval(call.tool.requires_approval)
    if terms is None:
        return await work(tool_input)
    subject = ApprovalSubject(
        given=tool_input,
        allow=f"May the tool {call.name!r} be called?",
        accept=f"Is the result of the tool {call.name!r} accepted?",
        tool=call.name,
        call=planned_tool_call(call.tool),
        sends="egress" in call.tool.labels,
    )
    return await with_approval(terms, subject, call.location, scope, work)


async def _call_tool(
    call: ToolCall, tool_input: JsonValue, scope: Scope, interpreter: Interpreter
) -> CalledFunction:
    """Call the tool; a function or MCP tool also counts as a call of the loop around the step."""
    tool = call.tool
    if isinstance(tool, OneCallTool) and tool.cache is None:
        labelled = LabelledCall.of_tool(call.name, tool)
        if refused := await refused_egress(labelled, tool_input, call.location, scope):
            return CalledFunction(refused)
        outcome = await call_function(function_call(call, tool, tool_input), call.location, scope)
        end_call(labelled, call.location, scope)
        return CalledFunction(outcome)
    return await call_tool(call, tool_input, scope, interpreter)
