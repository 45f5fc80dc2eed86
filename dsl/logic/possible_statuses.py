"""Possible statuses of tasks, from their text alone: which cannot fail, which never skip."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from coterie.dsl.json_values import texts_within
from coterie.dsl.logic.solver import ABSENT, ANY_STATUS, FAILURE, SKIPPED, SUCCESS, Effort, Statuses
from coterie.dsl.model.conditions import Expression
from coterie.dsl.model.step_kinds.step_list import Tried, catches_all, form_of
from coterie.dsl.model.steps import FailStep, ReturnStep, Step
from coterie.dsl.model.traversal.step_bounds import bound_templates
from coterie.dsl.model.traversal.step_walk import conditions, leaves, templated, walk
from coterie.dsl.templates.template import is_template

_MAX_CASES = 12


def after_all(steps: Sequence[Step], stop_on_failure: bool) -> tuple[Statuses, ...]:
    """List the ways in which a team's steps may have ended when its routing is evaluated.

    Where a failure stops the team, each task that can fail first gives one case: the skipped tasks
    are then known. A team with very many tasks gets a single, weaker case.
    """
    ends = _ends(steps)
    if not stop_on_failure:
        return (_counting(steps, ends),)
    failing = [step for step in steps if _may_stop(step, ends)]
    if len(failing) > _MAX_CASES:
        after_first = steps[steps.index(failing[0]) + 1 :]
        skipped = {step.name: ends[step.name] | SKIPPED for step in after_first}
        return (_counting(steps, ends | skipped),)
    return (
        _counting(steps, _without_failure(steps, ends)),
        *(_counting(steps, _statuses_after_failure(steps, ends, True, step)) for step in failing),
    )


def during(steps: Sequence[Step]) -> tuple[Statuses, ...]:
    """Return how each step may have ended while others still run."""
    statuses = {step.name: ANY_STATUS for step, _ in walk(steps, ())}
    return (Statuses(statuses, tuple(statuses)),)


def after_failures(
    steps: Sequence[Step], stop_on_failure: bool, effort: Effort
) -> Iterator[tuple[Step, Callable[[], Statuses]]]:
    """List, for each step that can fail the team first, how the others may have ended.

    The statuses are computed when they are asked for, and cost effort: those of all steps are as
    many as the steps squared.
    """
    ends = _ends(steps)
    for step in steps:
        if _may_stop(step, ends):
            yield step, partial(_after_failure, steps, ends, stop_on_failure, step, effort)


def _after_failure(
    steps: Sequence[Step],
    ends: Mapping[str, int],
    stop_on_failure: bool,
    failed: Step,
    effort: Effort,
) -> Statuses:
    effort.left -= len(ends) // 2
    return _counting(steps, _statuses_after_failure(steps, ends, stop_on_failure, failed))


def after_success(steps: Sequence[Step]) -> Statuses:
    """Return how each step may have ended when the team succeeded."""
    return _counting(steps, _without_failure(steps, _ends(steps)))


def _counting(steps: Sequence[Step], statuses: Mapping[str, int]) -> Statuses:
    """Build statuses in which only the team's own tasks count, not nested steps."""
    return Statuses(statuses, tuple(step.name for step in steps))


def _without_failure(steps: Sequence[Step], ends: Mapping[str, int]) -> dict[str, int]:
    own = {step.name for step in steps if step.on_failure != "continue"}
    return {name: mask & ~FAILURE if name in own else mask for name, mask in ends.items()}


def _statuses_after_failure(
    steps: Sequence[Step], ends: Mapping[str, int], stop_on_failure: bool, failed: Step
) -> dict[str, int]:
    """Return the statuses when this step is the first that failed the team."""
    statuses = dict(ends)
    passed = False
    for step in steps:
        if step is failed:
            statuses[step.name] = FAILURE
            passed = True
        elif not passed and step.on_failure != "continue":
            statuses[step.name] &= ~FAILURE
        elif passed and stop_on_failure:
            for inner, _ in walk([step], ()):
                statuses[inner.name] = SKIPPED if inner is step else ABSENT
    return statuses


def _ends(steps: Sequence[Step]) -> dict[str, int]:
    """Return how each step may end, as long as no other failure skips it."""
    statuses: dict[str, int] = {}
    returned = False
    for step in steps:
        _, *within = (inner for inner, _ in walk([step], ()))
        returned = returned or any(isinstance(part, ReturnStep) for part in (step, *within))
        left_out = step.when is not None or step.on_failure == "ask"
        skipped = SKIPPED if returned or left_out else 0
        statuses[step.name] = _ran(step) | skipped
        for inner in within:
            statuses[inner.name] = _ran(inner) | SKIPPED | ABSENT
    return statuses


def _may_stop(step: Step, ends: Mapping[str, int]) -> bool:
    """Apply `stops` when the possible statuses of the step are already known."""
    return step.on_failure != "continue" and ends[step.name] & FAILURE != 0


def stops(step: Step) -> bool:
    """Return whether the step can fail its team."""
    return step.on_failure != "continue" and can_fail(step)


def _ran(step: Step) -> int:
    """Return the possible statuses of a step that runs."""
    if isinstance(step, FailStep):
        return FAILURE
    return SUCCESS | FAILURE if can_fail(step) else SUCCESS


def can_fail(step: Step) -> bool:
    """Return whether the step may fail; false only when it certainly does not."""
    certain = step.timeout is None and step.fail_when is None and not bound_templates(step)
    if not certain or _asks_expressions(step):
        return True
    if step.can_fail_itself:
        return True
    lists = tuple(step.lists())
    match form_of(lists):
        case Tried():
            tried, *clauses, last = lists
            escapes = not catches_all(clauses) or any(_fails(clause.steps) for clause in clauses)
            return _fails(last.steps) or (_fails(tried.steps) and escapes)
        case _:
            return _always_fills(step) or any(_fails(inner.steps) for inner in lists)


def _fails(steps: Sequence[Step]) -> bool:
    return any(map(stops, steps))


def _asks_expressions(step: Step) -> bool:
    return any(
        isinstance(leaf, Expression)
        for condition, _ in conditions(step, ())
        for leaf, _ in leaves(condition, ())
    )


def _always_fills(step: Step) -> bool:
    return any(
        is_template(text) for value in templated(step, ()) for text, _ in texts_within(value.value)
    )
