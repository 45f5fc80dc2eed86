"""What did not run reads as skipped, also where an earlier round of a loop did run it."""

from collections.abc import Sequence

from dsl.model.outcomes import Outcome
from dsl.model.step_lists import step_lists
from dsl.model.step_walk import walk
from dsl.model.steps import Step
from workflows.core.location import Location
from workflows.core.scope import Scope


def skip_steps(steps: Sequence[Step], place: Location, scope: Scope) -> None:
    """Let the steps, and all that they hold, read as skipped."""
    tasks = place.frame(scope).tasks
    for step, _ in walk(steps, ()):
        tasks[step.name] = Outcome.skipped()


def skip_within(step: Step, place: Location, scope: Scope) -> None:
    """Let all that a step holds read as skipped."""
    for inner in step_lists(step):
        skip_steps(inner.steps, place, scope)
