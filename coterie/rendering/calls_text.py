"""Format the calls of a step: prompts, answers, attempts, tokens and cost."""

import json
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    CodeTurn,
    FunctionRequest,
    FunctionResult,
    reasoning_text,
)
from coterie.dsl.tool_loop.exchange import ToolTurn
from coterie.dsl.values import Json
from coterie.rendering.cost_tables import money_text
from coterie.rendering.run_text import usage_text
from coterie.runs.histories.recorded_calls import RecordedCall, filled_prompts
from coterie.text.durations import duration
from coterie.text.lines import text_of


def calls_text(run: str, step: str, calls: Sequence[RecordedCall]) -> str:
    """Format every call of a step, in order."""
    lines = [f"{run}  {step}"]
    for call in calls:
        lines += ["", *_call(call)]
    return text_of(lines)


def call_data(call: RecordedCall) -> Json:
    """Return one call for programs: its request and its result as in the history."""
    request, answer = call.request, call.answer
    data: Json = {
        "id": call.id,
        "step": call.path,
        "visit": call.visit,
        "kind": "model turn" if isinstance(request, AgentRequest) else "skill",
        "attempts": call.attempts,
        "local_activity": call.is_local,
        "waited": round(call.waited, 3),
        "earlier_error": call.earlier_error or None,
        "error": call.error or None,
        "request": request.model_dump(mode="json", exclude_defaults=True),
        "answer": None if answer is None else answer.model_dump(mode="json", exclude_defaults=True),
    }
    if isinstance(request, AgentRequest):
        system, prompt = filled_prompts(request)
        data |= {"system": system, "prompt": prompt}
    return data


def _call(call: RecordedCall) -> Iterator[str]:
    request = call.request
    what = (
        _model_turn(call) if isinstance(request, AgentRequest) else f"tool function {request.skill}"
    )
    again = ""
    if isinstance(request, AgentRequest) and request.reask is not None:
        again = f", re-ask {request.reask.number}"
    yield f"{call.path}: {what}{again}  ({call.id})"
    yield f"  attempts   {_attempts(call)}"
    if call.earlier_error:
        yield f"  failed     attempt {call.attempts - 1}: {call.earlier_error}"
    if call.is_local and call.answer is None:
        yield "  input      not recorded: the local activity failed"
    elif isinstance(request, FunctionRequest) and request.code and request.code.state:
        yield from _continued_code(request.code)
    elif isinstance(request, FunctionRequest):
        yield from _part("input", request.input)
    else:
        yield from _request_lines(request)
    yield from _came(call)


def _continued_code(turn: CodeTurn) -> Iterator[str]:
    """Show what a program gets of the calls that it has waited for."""
    for answer in turn.answers:
        if answer.error:
            yield f"  continues  with a failure: {answer.error}: {answer.message}"
        elif answer.kept:
            yield f"  continues  with a result, stored as {answer.kept[:12]}"
        else:
            yield f"  continues  with {json.dumps(answer.value, ensure_ascii=False)}"


def _model_turn(call: RecordedCall) -> str:
    """Name a model turn, with its number if the agent uses tools."""
    if isinstance(call.request, AgentRequest) and call.request.compaction is not None:
        return "summary that compacts the conversation"
    number = call.suffix.turn
    return f"model turn {number}" if number else "model turn"


def _attempts(call: RecordedCall) -> str:
    if call.started is None:
        return "not started yet"
    delay = f", started {duration(call.waited)} after the call" if call.waited >= 0.1 else ""
    return f"{call.attempts}{delay}{', as a local activity' if call.is_local else ''}"


def _request_lines(request: AgentRequest) -> Iterator[str]:
    persona = request.persona
    if persona is not None:
        yield f"  model      {persona.provider}/{persona.model}"
    system, prompt = filled_prompts(request)
    yield from _part("system", system)
    yield from _part("prompt", prompt or None)
    if request.tool_turn is not None:
        yield from _tools(request.tool_turn)
    if request.reask is not None:
        yield from _part("previous answer", request.reask.answer)
        yield from _part("problem", request.reask.problem)
    yield from _part("notices", list(request.notices) or None)
    yield from _part("people say", list(request.said) or None)


def _came(call: RecordedCall) -> Iterator[str]:
    answer = call.answer
    if call.error:
        yield f"  error      {call.error}"
    if answer is None:
        if not call.error:
            yield "  answer     none yet"
        return
    if isinstance(answer, AgentResponse):
        if answer.error is not None:
            yield f"  error      {answer.error.type}: {answer.error.message}"
        yield from _part("reasoning", reasoning_text(answer.reasoning) or None)
        yield from _part("answer", answer.data if answer.answer is None else answer.answer)
        for tool_call in answer.tool_calls:
            arguments = tool_call.problem or json.dumps(tool_call.arguments, ensure_ascii=False)
            yield f"  calls      {tool_call.tool} {arguments}"
        if answer.usage is not None:
            money = money_text(answer.cost, unpriced=answer.unpriced or answer.cost is None)
            suffix = ", estimated" if answer.estimated else ""
            yield f"  used       {usage_text(answer.usage)}, {money}{suffix}"
    else:
        yield from _function_result(answer)
    yield f"  worked     {duration(answer.seconds)}"


def _function_result(result: FunctionResult) -> Iterator[str]:
    """Show what a tool function returned, or the calls that its code waits for."""
    for waiting in () if result.suspended is None else result.suspended.calls:
        arguments = json.dumps(waiting.arguments, ensure_ascii=False)
        yield f"  waits for  {waiting.function} {arguments}"
    yield from _part("result", result.data)
    yield from _part("besides", result.text or None)
    if result.kept is not None:
        yield f"  result     {result.kept.size:,} bytes, stored as {result.kept.name[:12]}:"
        yield f"    {result.kept.preview}..."


def _tools(turn: ToolTurn) -> Iterator[str]:
    """Show the tools of a first turn, or the results that a later one brings."""
    if turn.offered:
        yield f"  tools      {', '.join(tool.name for tool in turn.offered)}"
    for number, result in enumerate(turn.results, 1):
        mark = "failed: " if result.failed else ""
        reference = "" if result.kept is None else f"(stored as {result.kept[:12]})"
        yield from _part(f"result {number}", f"{mark}{result.text}{reference}")


def _part(name: str, value: JsonValue) -> Iterator[str]:
    if value is None:
        return
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    yield f"  {name}:"
    yield from (f"    {line}" for line in text.split("\n"))
