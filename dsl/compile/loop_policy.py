"""What a loop does about calls that repeat without progress."""

from typing import Literal

from dsl.model.steps import (
    LoopStep,
    WaitStep,
)


def repeated_calls_of(step: LoopStep) -> Literal["stop", "allow"] | None:
    """What the loop says of calls that repeat; unless it does, what it is tells.

    One that waits between its rounds looks whether something has changed. One over a list ends
    by itself: its calls count for the loop around it, if there is one.
    """
    if step.repeated_calls is not None:
        return step.repeated_calls
    if any(isinstance(inner, WaitStep) for inner in step.body):
        return "allow"
    over_a_list = step.iterate_on is not None and step.break_when is None
    return None if over_a_list else "stop"
