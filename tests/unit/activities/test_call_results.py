"""Results of calls lie in the history: only what fits is sent, and a failure with its question."""

import pytest
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import FailureType
from coterie.activities.tool_functions.function_results import (
    MAX_RESULT_SIZE,
    asked_of,
    encoded_result,
    refusal_details,
)
from coterie.activities.tool_functions.local_calls import MAX_LOCAL_RESULT, check_local_size
from coterie.dsl.model.tools.asked_input import AskedInput


def test_a_result_of_the_greatest_size_fits_and_a_byte_more_does_not() -> None:
    check_local_size("Files.read", MAX_LOCAL_RESULT)
    with pytest.raises(ApplicationError, match="at most") as refused:
        check_local_size("Files.read", MAX_LOCAL_RESULT + 1)
    assert refused.value.non_retryable


def test_a_result_as_large_as_a_history_takes_is_sent_and_a_byte_more_is_refused() -> None:
    text = "x" * (MAX_RESULT_SIZE - 2)
    assert encoded_result("Files.read", text) == f'"{text}"'.encode()
    with pytest.raises(ApplicationError, match="at most 1500000 fit in a run's history") as refused:
        encoded_result("Files.read", f"{text}x")
    assert (refused.value.type, refused.value.non_retryable) == (FailureType.FUNCTION_FAILED, True)
    with pytest.raises(ApplicationError, match="a value that is not JSON") as refused:
        encoded_result("Files.read", "half \ud800")
    assert (refused.value.type, refused.value.non_retryable) == (FailureType.FUNCTION_FAILED, True)


def test_a_failure_that_asks_carries_its_question_behind_what_was_spent() -> None:
    asked = AskedInput(state="s", is_plain=True)
    wanted = {"state": "s", "is_plain": True}
    assert refusal_details([{"cost": 1}, {"cost": 2}], None) == ({"cost": 1}, {"cost": 2})
    assert refusal_details([{"cost": 1}], asked) == ({"cost": 1}, wanted)
    assert refusal_details([], asked) == ({}, wanted)

    def failure(kind: str, *details: object) -> ApplicationError:
        return ApplicationError("m", *details, type=kind)

    assert asked_of(failure(FailureType.INPUT_REQUIRED, {}, wanted)) == asked
    assert asked_of(failure(FailureType.INPUT_REQUIRED, {})) is None
    assert asked_of(failure(FailureType.FUNCTION_FAILED, {}, wanted)) is None
