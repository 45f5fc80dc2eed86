"""The suffixes of calls: what is formatted can be parsed again, whatever the step is called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.activities.contracts import (
    TurnSuffix,
    first_id,
    function_step,
    function_summary,
    id_after_detour,
    id_after_loss,
    named_turn,
)

_NUMBERS = st.integers(0, 120)
_SUFFIXES = st.one_of(
    st.builds(TurnSuffix, _NUMBERS, st.just(0), st.booleans(), st.booleans(), _NUMBERS),
    st.builds(TurnSuffix, st.just(0), _NUMBERS, st.booleans(), st.booleans(), _NUMBERS),
)
_PIECES = ("a", ".", " ", ": ", ".t2", ".r1", ".again", ".compact", ".f1", ".q1", "@1.2", "*")
_NAMES = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=4).map("".join)
_ABOVE = st.lists(_NAMES, min_size=1, max_size=3).map("/".join)
_CALLS = st.sampled_from(("", "@3.1"))


@given(_SUFFIXES)
def test_a_suffix_is_parsed_as_it_was_formatted(suffix: TurnSuffix) -> None:
    assert TurnSuffix.parse(str(suffix)) == suffix


@given(_ABOVE, _NAMES, _CALLS, _SUFFIXES)
def test_a_summary_keeps_step_and_turn_apart(
    above: str, task: str, call: str, suffix: TurnSuffix
) -> None:
    step = f"{above}/{task}{call}"
    assert named_turn(f"{step}{suffix}", task) == (step, suffix)


@given(_ABOVE, _NAMES)
def test_the_summary_of_a_function_call_names_its_step(above: str, task: str) -> None:
    step = f"{above}/{task}"
    assert function_step(function_summary(step, "Files.read"), "Files.read") == step


@given(st.integers(1, 9999), _ABOVE, _SUFFIXES, st.integers(1, 9), st.integers(0, 3))
def test_a_call_is_the_same_however_often_it_is_sent(
    number: int, name: str, suffix: TurnSuffix, detours: int, losses: int
) -> None:
    id = f"{number:04}.{name}{suffix}"
    sent = id_after_detour(id, detours)
    for _ in range(losses):
        sent = id_after_loss(sent)
    assert first_id(sent) == first_id(id)
    assert first_id(id).startswith(f"{number:04}.")


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("", TurnSuffix()),
        (".r2", TurnSuffix(reask=2)),
        (".t3", TurnSuffix(turn=3)),
        (".t3.compact", TurnSuffix(turn=3, compacts=True)),
        (".t3.again.f1", TurnSuffix(turn=3, again=True, fallback=1)),
    ],
)
def test_the_texts_are_those_of_recorded_histories(text: str, suffix: TurnSuffix) -> None:
    assert (TurnSuffix.parse(text), str(suffix)) == (suffix, text)


def test_a_text_that_is_no_suffix_has_none() -> None:
    assert named_turn("t/x.t2", "x.t2") == ("t/x.t2", TurnSuffix())
    assert named_turn("t/other", "x") == ("t/other", TurnSuffix())
