"""`on_failure: ask` of a team or of all teams: the tasks that it applies to."""

from collections.abc import Sequence

from dsl.model.step_kinds.kind_facts import KIND_FACTS
from dsl.model.steps import LoopStep, Step


def asking_about_failures(steps: Sequence[Step], team_type: str) -> tuple[Step, ...]:
    """Make the tasks of a team ask a person when they fail, unless they set `on_failure`.

    For a team of type `loop` these are the steps in the loop's body. Steps that already decide, or
    let a person decide, do not ask.
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
        if step.on_failure is not None or not KIND_FACTS[step.kind].asks_about_failure
        else step.model_copy(update={"on_failure": "ask"})
        for step in steps
    )
