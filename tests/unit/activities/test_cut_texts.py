"""A text that is cut off says how much of it is left out, in every process."""

from collections.abc import Callable

import pytest

from coterie.activities.processes.child_loop import cut_text, reason_for, said
from coterie.activities.workspace.call_effects import MAX_SAID, shown
from coterie.dsl.visible import shortened_text


@pytest.mark.parametrize("cut", [shortened_text, cut_text])
def test_a_text_is_cut_off_with_a_mark(cut: Callable[[str, int], str]) -> None:
    assert cut("abc", 3) == "abc"
    assert cut("abcd", 3) == "abc [cut off: 1 more characters]"
    assert cut("a" * 2_000, 500) == "a" * 500 + " [cut off: 1,500 more characters]"


def test_an_exception_and_a_result_of_user_code_are_cut_off_with_a_mark() -> None:
    assert reason_for(ValueError("x" * 3_000)).endswith("x [cut off: 2,500 more characters]")
    assert said("x" * 100_100).endswith("x [cut off: 102 more characters]")
    assert shown("x" * (MAX_SAID + 7)).endswith("x [cut off: 7 more characters]")
