"""What a model reads instead of a result: the reason, and what it can do."""

import pytest

from coterie.dsl.tool_loop.call_refusals import (
    ArgumentsUnusable,
    CallRefusal,
    CallsUsedUp,
    HandoffTooEarly,
    NotExecuted,
    RepeatedTooOften,
    SentBack,
    TooManyOfTurn,
    UnknownToolCalled,
)
from coterie.dsl.tool_loop.exchange import ToolResult
from coterie.dsl.tool_loop.result_texts import (
    CallsMissing,
    CallsRepeated,
    LastTurn,
    Reminder,
    refused_result,
    reminder_text,
)
from coterie.dsl.tool_loop.tool_loop_progress import UnmetPolicy


@pytest.mark.parametrize(
    ("refusal", "text"),
    [
        (
            UnknownToolCalled("unknown_tool", "serch", ("search", "calc")),
            "there is no tool 'serch'; tools: calc, search. did you mean 'search'?",
        ),
        (
            UnknownToolCalled("unknown_tool", "zzz", ("search",)),
            "there is no tool 'zzz'; tools: search",
        ),
        (UnknownToolCalled("unknown_tool", "zzz"), "there is no tool 'zzz'; tools: none"),
        (
            ArgumentsUnusable("invalid_arguments", "calc", ("one", "two")),
            "the arguments of 'calc' are invalid: one; two",
        ),
        (
            CallsUsedUp("calls_used_up", "calc", 1),
            "'calc' may be called once, and that is used up",
        ),
        (
            CallsUsedUp("calls_used_up", "calc", 2),
            "'calc' may be called 2 times, and that is used up",
        ),
        (
            TooManyOfTurn("too_many_of_turn", "calc", 100),
            "one turn may call 100 tools; call this one again in the next turn",
        ),
        (
            RepeatedTooOften("repeated_too_often", "calc", 4),
            "'calc' was called 4 times with the same arguments and gave the same result each "
            "time, so it is not called again; do something else",
        ),
        (
            HandoffTooEarly("handoff_too_early", "to_team", ("b", "a")),
            "before you hand over, call a, b",
        ),
        (
            NotExecuted("handed_off", "calc"),
            "not executed: another call of this turn hands over to a team",
        ),
        (
            NotExecuted("calls_returned", "calc"),
            "not executed here: the caller of this agent receives the call",
        ),
        (
            NotExecuted("others_invalid", "calc"),
            "not executed: correct the other calls of this turn, and send all again",
        ),
        (
            NotExecuted("stopped_by_hook", "calc"),
            "not executed: a hook has stopped this agent",
        ),
        (SentBack("sent_back", "calc", "too vague"), "not executed: too vague"),
    ],
)
def test_a_refused_call_fails_and_says_why(refusal: CallRefusal, text: str) -> None:
    assert refused_result(refusal) == ToolResult(text=text, failed=True)


@pytest.mark.parametrize(
    ("reminder", "text"),
    [
        (
            CallsRepeated("calls_repeated", "calc", 3),
            "[Note: calc was called 3 times with the same arguments and gave the same result each "
            "time. Do something else.]",
        ),
        (
            CallsMissing(
                "calls_missing",
                (
                    UnmetPolicy(tool="calc", wanted=1, counted=0, require_success=True),
                    UnmetPolicy(tool="save", wanted=2, counted=1, require_success=False),
                ),
            ),
            "[Note: before you answer, call calc successfully once (so far: 0); "
            "save 2 times (so far: 1).]",
        ),
        (
            LastTurn("last_turn"),
            "[Note: no turns are left, and no tool runs any more. Answer now.]",
        ),
    ],
)
def test_a_reminder_is_a_note_to_the_model(reminder: Reminder, text: str) -> None:
    assert reminder_text(reminder) == text
