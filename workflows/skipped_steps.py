"""Skipped steps: a step that did not run reads as skipped, at any depth.

While a list of steps runs, the steps that it has not come to yet keep what they came to in an
earlier round. Once a step has ended, in whatever way, each step within it has either run or is
skipped.
"""

from collections.abc import Sequence

from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import Step
from coterie.dsl.model.traversal.step_walk import walk
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state_parts import Frame


def skip_steps(steps: Sequence[Step], location: Location, scope: Scope) -> None:
    """Mark the steps, and the steps in them, as skipped."""
    frame = location.frame(scope)
    for step, _ in walk(steps, ()):
        frame.end(step.name, Outcome.skipped())


def begin_round(steps: Sequence[Step], frame: Frame) -> None:
    """Mark the outcomes of the steps as those of an earlier round."""
    for step, _ in walk(steps, ()):
        if step.name in frame.tasks:
            frame.earlier[step.name] = None


def skip_unrun(steps: Sequence[Step], frame: Frame) -> None:
    """Mark the steps that have not run in this round as skipped."""
    for step, _ in walk(steps, ()):
        if step.name in frame.earlier or step.name not in frame.tasks:
            frame.end(step.name, Outcome.skipped())


def skip_unrun_within(step: Step, frame: Frame) -> None:
    """Mark the steps in a step that has ended, and that have not run, as skipped."""
    for inner in step.lists():
        skip_unrun(inner.steps, frame)
