"""Walking steps: every step of a team or plan, in written order, with its place."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from coterie.dsl.model.conditions import AllOf, AnyOf, Condition, Not
from coterie.dsl.model.decision_terms import CallApproval
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.wait_step import MessageWait
from coterie.dsl.model.steps import Step
from coterie.dsl.model.template_bound import TemplateBound, TemplateDuration
from coterie.dsl.model.traversal.step_bounds import bounds_of
from coterie.dsl.values import NodePath

Change = Callable[[Sequence[Step], NodePath], tuple[Step, ...]]


def rebuilt(step: Step, path: NodePath, change: Change) -> Step:
    """Return the step with each list of steps inside it changed."""
    return step.with_lists(
        change(step_list.steps, step_list.path) for step_list in step.lists(path)
    )


def lists_of_plan(plan: Plan) -> Iterator[tuple[Step, ...]]:
    """Yield the steps of every team, and of every execution plan."""
    yield from (team.steps for team in plan.teams.values())
    yield from (persona.execution_plan or () for persona in plan.personas.values())


PlacedStep = tuple[Step, NodePath]
"""A step, and the place where it is written."""


def walk(steps: Sequence[Step], path: NodePath) -> list[PlacedStep]:
    """Return each step and the place where it is written, a step before its nested steps."""
    placed_steps: list[PlacedStep] = []
    for index, step in enumerate(steps):
        here = (*path, index)
        placed_steps.append((step, here))
        for inner in step.lists(here):
            placed_steps += walk(inner.steps, inner.path)
    return placed_steps


def conditions(step: Step, path: NodePath) -> Iterator[tuple[Condition, NodePath]]:
    """Yield the conditions that a step itself tests."""
    if step.when is not None:
        yield step.when, (*path, "when")
    for condition, inner_path in step.own_conditions():
        yield condition, (*path, *inner_path)
    if step.fail_when is not None:
        yield step.fail_when, (*path, "fail_when")
    approval = conditional_approval(step)
    if approval is not None and approval.when is not None:
        yield approval.when, (*path, *APPROVAL_CONDITION)


APPROVAL_CONDITION = ("requires_approval", "when")
"""The path of the condition of a step's approval, from the step."""


def asks_after(step: Step, path: NodePath) -> bool:
    """Return whether the condition at the path is that of an approval after the step."""
    approval = conditional_approval(step)
    return approval is not None and approval.at == "after" and path[-2:] == APPROVAL_CONDITION


def conditional_approval(step: Step) -> CallApproval | None:
    """Return the terms of a step's approval if they have a condition."""
    approval = step.approval
    return approval if approval is not None and approval.when is not None else None


def leaves(condition: Condition, path: NodePath) -> Iterator[tuple[Condition, NodePath]]:
    """Yield the single tests of a condition, below and, or, not."""
    match condition:
        case AllOf(all_of=parts):
            for index, part in enumerate(parts):
                yield from leaves(part, (*path, "and", index))
        case AnyOf(any_of=parts):
            for index, part in enumerate(parts):
                yield from leaves(part, (*path, "or", index))
        case Not(negated=part):
            yield from leaves(part, (*path, "not"))
        case _:
            yield condition, path


@dataclass(frozen=True, slots=True)
class TemplateValue:
    """A value of a step that may contain templates, and where it is written."""

    value: object
    path: NodePath


def templated(step: Step, path: NodePath) -> Iterator[TemplateValue]:
    """Yield the values of a step that are rendered when it runs."""
    for key in step.filled:
        yield TemplateValue(getattr(step, key), (*path, key))
    for bound, bound_value in bounds_of(step):
        if isinstance(bound_value, TemplateBound | TemplateDuration):
            yield TemplateValue(bound_value.value, (*path, *bound.path, "value"))
        elif isinstance(bound_value, str):
            yield TemplateValue(bound_value, (*path, *bound.path))
    for value, inner_path in step.own_templates():
        yield TemplateValue(value, (*path, *inner_path))
    if step.approval is not None:
        for key in FILLED_OF_CALL_APPROVALS:
            value = getattr(step.approval, key)
            yield TemplateValue(value, (*path, "requires_approval", key))


FILLED_BETWEEN = ("chosen", "add")
"""Of a task graph: filled between its steps, and not before they run."""

FILLED_OF_CALL_APPROVALS = ("prompt", "show")
"""The same for a step's `requires_approval`."""


def variables(steps: Sequence[Step]) -> dict[str, NodePath]:
    """Return every variable that some step of the team or plan sets, and where."""
    paths_by_name: dict[str, NodePath] = {}
    for step, path in walk(steps, ()):
        for variable in step.variables():
            paths_by_name.setdefault(variable.name, (*path, *variable.path))
    return paths_by_name


def waited_for(plan: Plan) -> frozenset[str]:
    """Return the names of the signals that some step or concentrator of the plan waits for."""
    names = {team.collects.signal for team in plan.teams.values() if team.collects is not None}
    for steps in lists_of_plan(plan):
        names |= {step.awaited_signal for step, _ in walk(steps, ())}
    return frozenset(name for name in names if name is not None)


def message_waits(plan: Plan) -> tuple[MessageWait, ...]:
    """Return the steps that wait for a message; with one of them a run is a session."""
    return tuple(
        step
        for steps in lists_of_plan(plan)
        for step, _ in walk(steps, ())
        if isinstance(step, MessageWait)
    )
