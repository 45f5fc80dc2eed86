"""The policy of a loop for repeated calls, as the compiler decides it."""

from typing import Literal, assert_never

from coterie.dsl.model.steps import (
    AgentStep,
    ApprovalStep,
    BlockStep,
    BranchStep,
    FailStep,
    LoopStep,
    ParallelStep,
    ReplyStep,
    ReturnStep,
    SetStep,
    SkillStep,
    Step,
    TaskGraphStep,
    TeamStep,
    ToolStep,
    TryStep,
    WaitStep,
)


def compiled_loop(step: LoopStep) -> LoopStep:
    """Return a loop with its policy for repeated calls."""
    return step.model_copy(update={"repeated_calls": repeated_calls_of(step)})


def repeated_calls_of(step: LoopStep) -> Literal["stop", "allow"] | None:
    """Return what a loop does about repeated calls: its own setting, or a default by its shape.

    A loop that waits between its rounds polls, so its calls may repeat. A loop over a list ends by
    itself, so its calls count for the loop around it, if there is one.
    """
    if step.repeated_calls is not None:
        return step.repeated_calls
    if any(map(_waits, step.body)):
        return "allow"
    over_a_list = step.iterate_on is not None and step.break_when is None
    return None if over_a_list else "stop"


def _waits(step: Step) -> bool:
    """Return whether a step of a loop's own body lets time pass between two rounds."""
    match step:
        case WaitStep():
            return True
        case BlockStep():
            return any(map(_waits, step.steps))
        case (
            AgentStep()
            | SkillStep()
            | ToolStep()
            | LoopStep()
            | BranchStep()
            | ParallelStep()
            | TaskGraphStep()
            | SetStep()
            | ApprovalStep()
            | TeamStep()
            | TryStep()
            | ReturnStep()
            | FailStep()
            | ReplyStep()
        ):
            return False
        case _:
            assert_never(step)
