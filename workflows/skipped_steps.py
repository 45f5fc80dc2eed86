"""Skipped steps: a step that did not run reads as skipped, even if an earlier round ran it."""

from collections.abc import Sequence

from dsl.model.outcomes import Outcome
from dsl.model.step_lists import step_lists
from dsl.model.step_walk import walk
from dsl.model.steps import Step
from workflows.core.location import Location
from workflows.core.scope import Scope


def skip_steps(steps: Sequence[Step], place: Location, scope: Scope) -> None:
    """Mark the steps, and the steps in them, as skipped."""
    tasks = place.frame(scope).tasks
    for step, _ in walk(steps, ()):
        tasks[step.name] = Outcome.skipped()


def skip_within(step: Step, place: Location, scope: Scope) -> None:
    """Mark the steps in a step as skipped."""
    for inner in step_lists(step):
        skip_steps(inner.steps, place, scope)
