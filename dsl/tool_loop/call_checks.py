"""Check the calls of a model turn before any of them is executed, and edited arguments. Pure."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256

from pydantic import JsonValue

from coterie.dsl.json_schema.schema_checker import UnusableSchema, mismatches
from coterie.dsl.json_values import describe_kind
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.tools.tool_contract import Tool
from coterie.dsl.model.tools.tool_use import CALL_FOUND, TOOL_SEARCH
from coterie.dsl.tool_loop.call_refusals import (
    ArgumentsUnusable,
    CallRefusal,
    CallsUsedUp,
    HandoffTooEarly,
    RepeatedTooOften,
    TooManyOfTurn,
    UnknownToolCalled,
)
from coterie.dsl.tool_loop.exchange import ToolCallRequest
from coterie.dsl.tool_loop.tool_loop_progress import (
    CallCount,
    EqualCalls,
    OpenCall,
    ToolLoopProgress,
)
from coterie.dsl.tool_loop.tool_loop_terms import (
    MAX_CALLS_OF_CODE,
    MAX_CALLS_OF_TURN,
    MAX_SEARCHES_OF_TURN,
    REFUSED_AT,
    LoopTerms,
)
from coterie.dsl.tool_loop.tool_search import SCHEMAS, known_names
from coterie.dsl.values import Json

_MAX_REMEMBERED = 200
"""Different calls that a loop remembers; it forgets the oldest."""
_MAX_PROBLEMS = 5
MAX_NAME_LENGTH = 100


def fingerprint(value: JsonValue) -> str:
    """Return a digest of a JSON value: equal values, equal digests."""
    text = json.dumps(value, sort_keys=True)
    return sha256(text.encode(), usedforsecurity=False).hexdigest()[:16]


def call_digest(tool: str, arguments: Json) -> str:
    """Return a digest of a call."""
    return fingerprint([tool, arguments])


def equal_calls_of(progress: ToolLoopProgress, call: OpenCall) -> EqualCalls:
    """Return the earlier calls with the same arguments, and remember this one as the latest."""
    calls_by_digest = progress.equal_calls
    digest = call_digest(call.tool, call.arguments)
    earlier_calls = calls_by_digest.pop(digest, None) or EqualCalls(call.tool)
    calls_by_digest[digest] = earlier_calls  # the latest comes last
    while len(calls_by_digest) > _MAX_REMEMBERED:
        del calls_by_digest[next(iter(calls_by_digest))]
    return earlier_calls


def argument_problems(arguments: JsonValue, schema: Json) -> tuple[str, ...]:
    """Return why the arguments do not match the schema of a tool.

    A schema that cannot be checked here leaves the verdict to the tool itself.
    """
    try:
        return tuple(mismatches(arguments, schema, "arguments")[:_MAX_PROBLEMS])
    except UnusableSchema:
        return ()


def edit_problem(tool: Tool, given: JsonValue) -> Outcome | None:
    """Return the failure of arguments that a person changed and a tool cannot take, or None."""
    if not isinstance(given, dict):
        problems = (f"they are {describe_kind(given)}, not a mapping",)
    elif tool.input_schema is None:
        return None
    else:
        own = {key: value for key, value in given.items() if key not in tool.fixed}
        problems = argument_problems(own, tool.input_schema)
    if not problems:
        return None
    message = f"a person changed the arguments: {'; '.join(problems)}"
    return Outcome.failed("InvalidArguments", message)


def checked_calls(
    terms: LoopTerms,
    progress: ToolLoopProgress,
    asked: Sequence[ToolCallRequest],
    missing: tuple[str, ...],
) -> list[OpenCall]:
    """Return the calls of a turn, with the reasons why some are not executed.

    Args:
        terms: of the loop.
        progress: of the loop before the turn.
        asked: what the model asks for.
        missing: the tools that it must call before it may hand over.
    """
    calls: list[OpenCall] = []
    running: Counter[str] = Counter()
    equal: Counter[str] = Counter()
    for request in asked:
        call = OpenCall(request.tool[:MAX_NAME_LENGTH], request.arguments)
        digest = call_digest(call.tool, call.arguments)
        refusal = _invalid(terms, request, missing)
        if refusal is None and call.tool not in terms.handoffs:
            refusal = _beyond(terms, progress, call.tool, running, digest, equal[digest])
        if refusal is None:
            running[call.tool] += 1
            equal[digest] += 1
        call.refusal = refusal
        calls.append(call)
    return calls


def checked_code_calls(
    terms: LoopTerms,
    progress: ToolLoopProgress,
    asked: Sequence[ToolCallRequest],
    beside: Iterable[OpenCall],
) -> list[OpenCall]:
    """Return the calls that the code of a turn begins, with the reasons why some are not executed.

    Args:
        terms: of the loop.
        progress: of the loop; the calls count as begun.
        asked: what the code asks for.
        beside: other calls of the turn, which may be in progress.
    """
    own = replace(terms, tools=terms.by_code, deferred=(), handoffs={})
    running = Counter(call.tool for call in beside if call.refusal is None and call.result is None)
    calls: list[OpenCall] = []
    equal: Counter[str] = Counter()
    for request in asked:
        call = OpenCall(request.tool[:MAX_NAME_LENGTH], request.arguments)
        digest = call_digest(call.tool, call.arguments)
        refusal = _invalid(own, request, ())
        if refusal is None and progress.code_calls >= MAX_CALLS_OF_CODE:
            refusal = TooManyOfTurn("too_many_of_turn", call.tool, MAX_CALLS_OF_CODE)
        if refusal is None:
            refusal = _beyond(own, progress, call.tool, running, digest, equal[digest])
        if refusal is None:
            running[call.tool] += 1
            equal[digest] += 1
            progress.code_calls += 1
        else:
            progress.code_refusals += 1
        call.refusal = refusal
        calls.append(call)
    return calls


def _invalid(
    terms: LoopTerms, request: ToolCallRequest, missing: tuple[str, ...]
) -> CallRefusal | None:
    """Return why nobody could execute the call."""
    name = request.tool
    if name in terms.handoffs:
        if missing:
            return HandoffTooEarly("handoff_too_early", name, missing)
        return None
    schema = terms.tools.get(name)
    if schema is None and terms.deferred:
        schema = SCHEMAS.get(name)
    if schema is None:
        offered = (*known_names(name, terms.sent, terms.deferred), *terms.handoffs)
        return UnknownToolCalled("unknown_tool", name[:MAX_NAME_LENGTH], offered)
    if request.problem is not None:
        return ArgumentsUnusable("invalid_arguments", name, (request.problem,))
    if name == CALL_FOUND:
        return ArgumentsUnusable("invalid_arguments", name, ("it carries the call of a tool",))
    problems = argument_problems(request.arguments, schema)
    return ArgumentsUnusable("invalid_arguments", name, problems) if problems else None


def _beyond(
    terms: LoopTerms,
    progress: ToolLoopProgress,
    tool: str,
    running: Counter[str],
    digest: str,
    equal: int,
) -> CallRefusal | None:
    """Return the bound that a valid call exceeds, counting the calls before it in its turn."""
    allowed = terms.policy(tool).max_calls
    call_count = progress.counts.get(tool, CallCount()).calls + running[tool]
    if allowed is not None and call_count >= allowed:
        return CallsUsedUp("calls_used_up", tool, allowed)
    if tool == TOOL_SEARCH and terms.deferred and running[tool] >= MAX_SEARCHES_OF_TURN:
        return TooManyOfTurn("too_many_of_turn", tool, MAX_SEARCHES_OF_TURN)
    if running.total() >= MAX_CALLS_OF_TURN:
        return TooManyOfTurn("too_many_of_turn", tool, MAX_CALLS_OF_TURN)
    earlier_calls = progress.equal_calls.get(digest)
    times = (earlier_calls.times if earlier_calls is not None else 0) + equal
    if times >= REFUSED_AT - 1:
        return RepeatedTooOften("repeated_too_often", tool, times)
    return None
