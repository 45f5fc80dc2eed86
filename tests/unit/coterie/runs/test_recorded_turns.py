"""The turns of an agent with tools, as a test repeats them: their numbers and their times."""

from datetime import UTC, datetime

import pytest

from coterie.activities.contracts import (
    AgentError,
    AgentRequest,
    AgentResponse,
    CompactionTurn,
    Conversation,
    FailureType,
    FunctionRequest,
    FunctionResult,
    StartedBatch,
)
from coterie.activities.providers.scripts.script import ScriptedError
from coterie.dsl.model.outcomes import Failure
from coterie.dsl.tool_loop.exchange import ToolTurn
from coterie.runs.histories.recorded_calls import RecordedCall
from coterie.runs.histories.recorded_values import RecordedFailure
from coterie.testing.recording.recorder import (
    _answer,  # pyright: ignore[reportPrivateUsage]
    _answers,  # pyright: ignore[reportPrivateUsage]
    _has_no_answer,  # pyright: ignore[reportPrivateUsage]
    _turn,  # pyright: ignore[reportPrivateUsage]
)

PLAIN = AgentRequest(team="t", task="a")
BATCH = StartedBatch(id="b", custom_id="c")
SUMMED = CompactionTurn(keep_turns=1, limit=100)


def at(head: str | None, compaction: CompactionTurn | None = None) -> AgentRequest:
    return PLAIN.model_copy(
        update={
            "conversation": Conversation(head=head),
            "tool_turn": ToolTurn(),
            "compaction": compaction,
        }
    )


def test_turns_are_counted_along_their_conversation_and_a_summary_is_none() -> None:
    turns: dict[str, int] = {}
    steps = [
        (at(None), AgentResponse(conversation="c1"), 1),
        (at("c1"), AgentResponse(conversation="c2"), 2),
        (at("c2"), Failure("E", "no"), 3),
        (at("c2", SUMMED), AgentResponse(conversation="s"), 3),
        (at("s"), AgentResponse(conversation="c3"), 3),
        (at("c3"), AgentResponse(), 4),
        (at("unknown"), AgentResponse(conversation="c4"), 1),
    ]
    assert [_turn(request, result, turns) for request, result, _ in steps] == [
        number for *_, number in steps
    ]
    assert turns == {"c1": 1, "c2": 2, "s": 2, "c3": 3, "c4": 1}


@pytest.mark.parametrize(
    "request_",
    [
        PLAIN,
        PLAIN.model_copy(update={"conversation": Conversation(head=None)}),
        PLAIN.model_copy(update={"tool_turn": ToolTurn()}),
    ],
)
def test_an_agent_without_tools_has_no_turns(request_: AgentRequest) -> None:
    turns: dict[str, int] = {}
    assert _turn(request_, AgentResponse(conversation="c1"), turns) is None
    assert turns == {}


@pytest.mark.parametrize(
    ("compaction", "result", "nothing"),
    [
        (SUMMED, AgentResponse(), True),
        (SUMMED, AgentResponse(conversation="s"), False),
        (SUMMED, AgentResponse(success=False), False),
        (SUMMED, Failure("E", "no"), False),
        (None, AgentResponse(), False),
        (None, AgentResponse(in_progress=BATCH), True),
    ],
)
def test_a_turn_that_waits_or_had_nothing_to_sum_up_has_no_answer(
    compaction: CompactionTurn | None, result: AgentResponse | Failure, nothing: bool
) -> None:
    assert _has_no_answer(at("c1", compaction), result) is nothing


@pytest.mark.parametrize(
    ("seconds", "recorded"), [(0.0, None), (0.09, None), (0.1, 0.1), (0.16, 0.2), (61.04, 61.0)]
)
def test_an_answer_has_its_time_unless_it_is_short(seconds: float, recorded: float | None) -> None:
    answer = _answer(PLAIN, AgentResponse(data="x"), seconds, None)
    assert answer.model_dump(exclude_unset=True).get("seconds") == recorded
    assert (answer.task, answer.visit, answer.turn) == ("t/a", 1, None)
    assert _answer(PLAIN, AgentResponse(data="x"), seconds, 2).turn == 2


def ended_call(
    request: AgentRequest | FunctionRequest,
    result: AgentResponse | FunctionResult | RecordedFailure,
) -> RecordedCall:
    call = RecordedCall("1", "t/a", 1, datetime.now(UTC), request)
    if isinstance(result, RecordedFailure):
        call.end, call.failure = "failed", result
    else:
        call.end, call.answer = "completed", result
    return call


def test_a_test_repeats_every_answer_of_a_model_and_no_function() -> None:
    ended = [
        ended_call(at("c1", SUMMED), AgentResponse()),
        ended_call(FunctionRequest(skill="A.b", key="run/e1/t/s#1"), FunctionResult(data=1)),
        ended_call(at(None), AgentResponse(conversation="c1", data="x")),
        ended_call(PLAIN, RecordedFailure("E", "no")),
    ]
    assert [(one.entry.turn, one.entry.answer) for one in _answers(ended)] == [
        (1, "x"),
        (None, None),
    ]


def failed(kind: str) -> AgentResponse:
    return AgentResponse(success=False, error=AgentError(type=kind, message="no"))


@pytest.mark.parametrize(
    ("kind", "stop_reason"),
    [(FailureType.ANSWER_TRUNCATED, "max_tokens"), (FailureType.ANSWER_REFUSED, "refusal")],
)
def test_an_answer_that_stopped_early_stops_early_again(kind: str, stop_reason: str) -> None:
    answer = _answer(PLAIN, failed(kind), 0.0, None)
    assert (answer.answer, answer.stop_reason, answer.error) == ("", stop_reason, None)


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (failed("Odd"), ScriptedError(type="Odd", message="no")),
        (Failure("E", "late"), ScriptedError(type="E", message="late")),
    ],
)
def test_any_other_failure_is_repeated(
    result: AgentResponse | Failure, error: ScriptedError
) -> None:
    assert _answer(PLAIN, result, 0.0, None).error == error


def test_a_summary_is_the_answer_of_its_turn() -> None:
    answer = _answer(at("c1", SUMMED), AgentResponse(data={"summary": "short"}), 0.0, 3)
    assert (answer.answer, answer.compaction) == ("short", True)
