"""The lists of steps that a plan holds, and changes of those that a step holds."""

from collections.abc import Callable, Iterator, Sequence

from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import Step
from coterie.dsl.values import NodePath

Change = Callable[[Sequence[Step], NodePath], tuple[Step, ...]]


def rebuilt(step: Step, path: NodePath, change: Change) -> Step:
    """Return the step with each list of steps inside it changed."""
    return step.with_lists(change(one.steps, one.path) for one in step.lists(path))


def lists_of_plan(plan: Plan) -> Iterator[tuple[Step, ...]]:
    """Yield the steps of every team, and of every execution plan."""
    yield from (team.steps for team in plan.teams.values())
    yield from (persona.execution_plan or () for persona in plan.personas.values())
