"""What each agent of a run was asked, what it answered, and which tools it called. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coterie.activities.contracts import AgentRequest, AgentResponse, reasoning_text
from coterie.dsl.tool_loop.exchange import ToolResult
from coterie.gateway.console.page_values import ShownValue, shown_value
from coterie.rendering.cost_tables import money_text
from coterie.rendering.run_text import usage_text
from coterie.runs.histories.recorded_calls import RecordedCall, filled_prompts
from coterie.text.durations import duration
from coterie.workflows.core.state_keys import StepKey


@dataclass(frozen=True, slots=True)
class ToolCallRow:
    """A call that a model asked for, and its result as the model got it."""

    tool: str
    arguments: ShownValue
    problem: str = ""
    result: ShownValue | None = None
    """None if the model was not asked again, or the history lacks it."""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One turn of a model."""

    call: str
    """The id of its call."""
    number: int
    kind: str
    """`answer`, `re-ask 2`, `compaction`."""
    model: str
    system: ShownValue | None
    prompt: ShownValue | None
    problem: str
    """Why a re-ask was needed."""
    answer: ShownValue | None
    reasoning: ShownValue | None
    """What people may read of the model's thinking."""
    calls: tuple[ToolCallRow, ...]
    error: str
    facts: tuple[str, ...]
    """Duration, attempts, tokens, cost."""
    is_open: bool
    """Whether the model may still be writing."""


@dataclass(frozen=True, slots=True)
class AgentTalk:
    """The turns of one agent in one visit."""

    agent: str
    """`work#1/act`."""
    model: str
    turns: tuple[TurnRow, ...]

    @property
    def is_open(self) -> bool:
        """Whether a turn is in progress."""
        return any(turn.is_open for turn in self.turns)


def conversations_of(calls: Sequence[RecordedCall]) -> tuple[AgentTalk, ...]:
    """Return the conversation of each agent, in the order of their first turns."""
    turns_by_agent: dict[tuple[str, int], list[RecordedCall]] = {}
    for call in calls:
        if isinstance(call.request, AgentRequest):
            turns_by_agent.setdefault((call.path, call.visit), []).append(call)
    return tuple(_talk(path, visit, turns) for (path, visit), turns in turns_by_agent.items())


def _talk(path: str, visit: int, calls: Sequence[RecordedCall]) -> AgentTalk:
    key = StepKey(path)
    turns = tuple(turn_rows(calls))
    model = next((turn.model for turn in turns if turn.model), "")
    return AgentTalk(f"{key.team}#{visit}/{key.path}", model, turns)


def turn_rows(calls: Sequence[RecordedCall]) -> Iterator[TurnRow]:
    """Yield the turns of one agent."""
    for number, call in enumerate(calls, 1):
        later = calls[number] if number < len(calls) else None
        yield _turn(number, call, _results(later))


def _results(call: RecordedCall | None) -> Sequence[ToolResult]:
    """Return the results that a turn brings of the calls of the turn before."""
    if call is None or not isinstance(call.request, AgentRequest) or call.request.tool_turn is None:
        return ()
    return call.request.tool_turn.results


def _turn(number: int, call: RecordedCall, results: Sequence[ToolResult]) -> TurnRow:
    request = call.request
    assert isinstance(request, AgentRequest)
    system, prompt = filled_prompts(request)
    answer = call.answer if isinstance(call.answer, AgentResponse) else None
    error = call.error
    if answer is not None and answer.error is not None:
        error = f"{answer.error.type}: {answer.error.message}"
    return TurnRow(
        call=call.id,
        number=number,
        kind=_kind(request),
        model=_model(request, answer),
        system=shown_value(system) if system else None,
        prompt=shown_value(prompt) if prompt else None,
        problem="" if request.reask is None else request.reask.problem,
        answer=None if answer is None else _answer(answer),
        reasoning=None if answer is None else _reasoning(answer),
        calls=() if answer is None else tuple(_tool_calls(answer, results)),
        error=error,
        facts=tuple(_facts(call, answer)),
        is_open=call.end is None,
    )


def _kind(request: AgentRequest) -> str:
    if request.compaction is not None:
        return "compaction"
    return "answer" if request.reask is None else f"re-ask {request.reask.number}"


def _model(request: AgentRequest, answer: AgentResponse | None) -> str:
    if answer is not None and answer.model is not None:
        return answer.model
    if request.persona is not None:
        return f"{request.persona.provider}/{request.persona.model}"
    return request.model or ""


def _answer(answer: AgentResponse) -> ShownValue | None:
    value = answer.data if answer.answer is None else answer.answer
    return None if value is None else shown_value(value)


def _reasoning(answer: AgentResponse) -> ShownValue | None:
    text = reasoning_text(answer.reasoning)
    return shown_value(text) if text else None


def _tool_calls(answer: AgentResponse, results: Sequence[ToolResult]) -> Iterator[ToolCallRow]:
    for index, call in enumerate(answer.tool_calls):
        result = results[index] if index < len(results) else None
        yield ToolCallRow(
            call.tool,
            shown_value(call.arguments),
            call.problem or "",
            None if result is None else _result(result),
            failed=result is not None and result.failed,
        )


def _result(result: ToolResult) -> ShownValue:
    kept = "" if result.kept is None else f"[the whole result is stored as {result.kept[:12]}]"
    return shown_value("\n".join(part for part in (result.text, kept) if part))


def _facts(call: RecordedCall, answer: AgentResponse | None) -> Iterator[str]:
    if call.attempts > 1:
        yield f"{call.attempts} attempts"
    if answer is None:
        return
    yield duration(answer.seconds)
    if answer.usage is not None:
        yield usage_text(answer.usage)
        if answer.cost is not None:
            yield money_text(answer.cost, unpriced=answer.unpriced)
        if answer.estimated:
            yield "estimated"
