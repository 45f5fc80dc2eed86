"""`on_failure: ask` of a team or of all teams: which of its tasks it means."""

from collections.abc import Sequence

from dsl.model.steps import ApprovalStep, FailStep, LoopStep, ReturnStep, Step


def asking_about_failures(steps: Sequence[Step], team_type: str) -> tuple[Step, ...]:
    """The team's own tasks, which ask a person when they fail and say nothing else themselves.

    The tasks of a team of type `loop` are the body of its loop. What is a decision already, of a
    person or of the file, is not asked about.
    """
    if team_type == "loop":
        return tuple(
            step.model_copy(update={"body": asking_about_failures(step.body, "standard")})
            if isinstance(step, LoopStep)
            else step
            for step in steps
        )
    return tuple(
        step
        if step.on_failure is not None or isinstance(step, ApprovalStep | FailStep | ReturnStep)
        else step.model_copy(update={"on_failure": "ask"})
        for step in steps
    )
