"""Keys of what a run remembers: what they are made of, and what lies within them."""

import pytest

from coterie.workflows.core.progress.progress_kinds import SequenceProgress
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import MAIN, FunctionCallKey, StateKey, StepKey
from coterie.workflows.core.state_parts import Frame, Track

VISIT = StateKey.visit(MAIN, "plan", 2)
CODE = StateKey.at(MAIN, "plan", 2, "code")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (MAIN.fan_out_branch("review"), "main>review"),
        (StateKey.cleanup("tidy"), "on_cancel tidy"),
        (VISIT, "main:plan#2"),
        (StateKey.at(MAIN, "plan", 2, ""), "main:plan#2"),
        (CODE, "main:plan#2/code"),
        (CODE.frame_of("left"), "main:plan#2/code|left"),
        (CODE.part("catch"), "main:plan#2/code:catch"),
        (CODE.called_team(), "main:plan#2/code!"),
        (CODE.part("catch").list_owner, CODE),
    ],
)
def test_state_key_is_written_in_one_form(key: StateKey, text: str) -> None:
    assert key == text


@pytest.mark.parametrize(
    ("inside", "holds"),
    [
        (CODE, True),
        (CODE.part("steps"), True),
        (CODE.frame_of("left"), True),
        (StateKey.visit(CODE.called_team(), "sub", 1), True),
        (CODE.called_team().fan_out_branch("sub"), True),
        (StateKey.at(MAIN, "plan", 2, "code/apply"), True),
        (StateKey.at(MAIN, "plan", 2, "code_review"), False),
        (StateKey.at(MAIN, "plan", 2, "other"), False),
        (VISIT, False),
        (StateKey.visit(MAIN, "plan", 21), False),
    ],
)
def test_state_key_holds_what_lies_within_its_place(inside: StateKey, holds: bool) -> None:
    assert CODE.holds(inside) is holds


def test_forgetting_branches_drops_the_branches_into_which_they_fan_out() -> None:
    left = MAIN.fan_out_branch("left")
    nested = left.fan_out_branch("deep")
    kept = MAIN.fan_out_branch("left_over")
    state = RunState()
    state.tracks |= {left: Track(), nested: Track(), kept: Track()}
    state.frames |= {StateKey.visit(nested, "deep", 1): Frame()}
    state.forget_branches(MAIN, {"left"})
    assert list(state.tracks) == [MAIN, kept]
    assert state.frames == {}


def test_forgetting_steps_drops_only_the_named_rounds() -> None:
    each = StateKey.at(MAIN, "plan", 2, "each")
    first, tenth = (StateKey.at(MAIN, "plan", 2, f"each/{number}") for number in (1, 10))
    state = RunState()
    state.frames |= {first.frame_of("1"): Frame(), tenth.frame_of("10"): Frame()}
    state.progress.sequences |= {first.part("round"): SequenceProgress()}
    state.forget_steps(each, {"1"})
    assert list(state.frames) == [tenth.frame_of("10")]
    assert state.progress.sequences == {}


def test_step_key_names_a_step_its_requests_and_its_failure() -> None:
    step = StepKey.of("plan", "code/apply")
    assert (step.team, step.path) == ("plan", "code/apply")
    assert list(step.names()) == ["plan/code/apply", "code/apply", "apply"]
    assert StepKey.of_request(step.request(3)) == step
    assert StepKey.of_failed(step.failed.request(1)) == step
    assert StepKey.of_failed(step.request(1)) == ""
    assert StepKey("plan/each/7/ask").without_rounds() == "plan/each/ask"


def test_step_key_names_the_task_of_the_team_that_a_step_is_in() -> None:
    assert StepKey("plan/code/0/apply").task == StepKey("plan/code").task == "code"
    assert StepKey("plan").task == ""


@pytest.mark.parametrize(
    ("key", "step"),
    [
        ("main:plan#2/code/apply", "plan/code/apply"),
        ("main>left:plan#1/work", "plan/work"),
        ("main:plan#2/ask!:side#3/work/4/inner", "side/work/4/inner"),
    ],
)
def test_a_place_names_its_step(key: str, step: str) -> None:
    assert StateKey(key).step == step


@pytest.mark.parametrize(
    ("key", "step", "execution"),
    [
        (FunctionCallKey.of("run-1", "e1", "plan/code/apply", 3), "plan/code/apply", 3),
        (FunctionCallKey("run-1/e1/plan/code#999999999"), "plan/code", 999_999_999),
        (FunctionCallKey("run-1/e1/plan/code#1234567890"), "plan/code", 1),
        (FunctionCallKey("run-1/e1/plan/code#²"), "plan/code", 1),
        (FunctionCallKey("run-1/e1/plan/code#"), "plan/code", 1),
        (FunctionCallKey("run-1/e1/plan/code#x"), "plan/code", 1),
    ],
)
def test_key_of_a_function_call_says_which_execution_of_which_step_calls(
    key: FunctionCallKey, step: str, execution: int
) -> None:
    assert (key.step, key.execution) == (step, execution)
