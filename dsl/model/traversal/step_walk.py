"""Walking steps: every step of a team or plan, in written order, with its place."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coterie.dsl.model.conditions import AllOf, AnyOf, Condition, Not
from coterie.dsl.model.facts import GRAPH_VARIABLE
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import (
    AgentStep,
    ApprovalStep,
    BranchStep,
    LoopStep,
    ParallelStep,
    SetStep,
    SkillStep,
    Step,
    TaskGraphStep,
    TryStep,
    WaitStep,
)
from coterie.dsl.model.template_bound import TemplateBound, TemplateDuration
from coterie.dsl.model.terms import CallApproval, DecisionTerms, call_approval
from coterie.dsl.model.traversal.step_bounds import bounds_of
from coterie.dsl.model.traversal.step_lists import lists_of_plan, step_lists
from coterie.dsl.values import NodePath


def walk(steps: Sequence[Step], path: NodePath) -> Iterator[tuple[Step, NodePath]]:
    """Yield each step and the place where it is written, a step before its nested steps."""
    for index, step in enumerate(steps):
        here = (*path, index)
        yield step, here
        for inner in step_lists(step, here):
            yield from walk(inner.steps, inner.path)


def conditions(step: Step, path: NodePath) -> Iterator[tuple[Condition, NodePath]]:
    """Yield the conditions that a step itself tests."""
    if step.when is not None:
        yield step.when, (*path, "when")
    match step:
        case LoopStep():
            asked = (("while", step.while_), ("until", step.until), ("break_when", step.break_when))
            for key, condition in asked:
                if condition is not None:
                    yield condition, (*path, key)
        case BranchStep(branches=branches):
            for index, branch in enumerate(branches):
                yield branch.condition, (*path, "branches", index, "condition")
        case _:
            pass
    if step.fail_when is not None:
        yield step.fail_when, (*path, "fail_when")
    asked = conditional_approval(step)
    if asked is not None and asked.when is not None:
        yield asked.when, (*path, *APPROVAL_CONDITION)


APPROVAL_CONDITION = ("requires_approval", "when")
"""The path of the condition of a step's approval, from the step."""


def asks_after(step: Step, path: NodePath) -> bool:
    """Return whether the condition at the path is that of an approval after the step."""
    asked = conditional_approval(step)
    return asked is not None and asked.at == "after" and path[-2:] == APPROVAL_CONDITION


def conditional_approval(step: Step) -> CallApproval | None:
    """Return the terms of a step's approval if they have a condition."""
    if not isinstance(step, AgentStep | SkillStep):
        return None
    asked = step.requires_approval
    return asked if isinstance(asked, CallApproval) and asked.when is not None else None


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
    for key in FILLED_OF_STEPS[step.kind]:
        yield TemplateValue(getattr(step, key), (*path, key))
    for bound, written in bounds_of(step):
        if isinstance(written, TemplateBound | TemplateDuration):
            yield TemplateValue(written.value, (*path, *bound.path, "value"))
        elif isinstance(written, str):
            yield TemplateValue(written, (*path, *bound.path))
    if isinstance(step, ParallelStep):
        for name, branch in step.ranked_branches.items():
            yield TemplateValue(branch.score, (*path, "branches", name, "score"))
    if isinstance(step, AgentStep | SkillStep) and isinstance(step.requires_approval, CallApproval):
        for key in FILLED_OF_CALL_APPROVALS:
            value = getattr(step.requires_approval, key)
            yield TemplateValue(value, (*path, "requires_approval", key))


FILLED_OF_STEPS: dict[str, tuple[str, ...]] = {
    "agent": ("persona_key", "input", "conversation"),
    "skill": ("input",),
    "tool": ("tool", "arguments"),
    "loop": ("iterate_on",),
    "branch": (),
    "parallel": ("only", "join"),
    "task_graph": ("tasks", "chosen", "add"),
    "set": ("values",),
    "approval": ("prompt", "show"),
    "wait": ("duration", "time"),
    "reply": ("value",),
    "team": ("input",),
    "try": (),
    "block": (),
    "return": ("value",),
    "fail": ("message",),
}
"""`{kind: the fields whose templates are rendered when the step runs}`."""


FILLED_BETWEEN = ("chosen", "add")
"""Of a task graph: filled between its steps, and not before they run."""

FILLED_OF_CALL_APPROVALS = ("prompt", "show")
"""The same for a step's `requires_approval`."""


def asks(step: Step) -> DecisionTerms | None:
    """Return the terms with which a step asks a person; None if it asks nobody, or by a tool."""
    match step:
        case ApprovalStep():
            return step
        case AgentStep(requires_approval=said) | SkillStep(requires_approval=said):
            return call_approval(said)
        case _:
            return None


def variables(steps: Sequence[Step]) -> dict[str, NodePath]:
    """Return every variable that some step of the team or plan sets, and where."""
    found: dict[str, NodePath] = {}
    for step, path in walk(steps, ()):
        if step.output_variable is not None:
            found.setdefault(step.output_variable, (*path, "output_variable"))
        match step:
            case LoopStep(loop_variable=str() as name):
                found.setdefault(name, (*path, "loop_variable"))
            case TaskGraphStep(task_variable=name):
                found.setdefault(name, (*path, "task_variable"))
                found.setdefault(GRAPH_VARIABLE, path)
            case TryStep(catch=clauses) if clauses:
                found.setdefault("error", (*path, "catch"))
            case SetStep(values=values):
                for name in values:
                    found.setdefault(name, (*path, "values", name))
            case _:
                pass
    return found


def sets_as_well(step: Step, name: str) -> bool:
    """Return whether a step itself, and not a `catch`, sets a variable."""
    match step:
        case LoopStep(loop_variable=item) if item == name:
            return True
        case TaskGraphStep(task_variable=item) if item == name:
            return True
        case SetStep(values=values) if name in values:
            return True
        case ParallelStep(merge=merge) if name in merge:
            return True
        case _:
            return step.output_variable == name


def waited_for(plan: Plan) -> frozenset[str]:
    """Return the names of the signals that some step or concentrator of the plan waits for."""
    names = {team.collects.signal for team in plan.teams.values() if team.collects is not None}
    for steps in lists_of_plan(plan):
        names |= {step.signal for step, _ in walk(steps, ()) if isinstance(step, WaitStep)}
    return frozenset(name for name in names if name is not None)


def message_waits(plan: Plan) -> tuple[WaitStep, ...]:
    """Return the steps that wait for a message; with one of them a run is a session."""
    return tuple(
        step
        for steps in lists_of_plan(plan)
        for step, _ in walk(steps, ())
        if isinstance(step, WaitStep) and step.message
    )
