"""Parallel: named branches that run concurrently, until enough of them have ended."""

from collections.abc import Callable, Coroutine, Set
from functools import partial

from pydantic import JsonValue

from dsl.errors import ContextConflict
from dsl.evaluate.branch_writes import joined
from dsl.evaluate.context_writes import ContextWrite
from dsl.json_values import json_equal
from dsl.model.merge import merged_by
from dsl.model.outcomes import Outcome
from dsl.model.step_walk import walk
from dsl.model.steps import CONTEXT, MergePolicy, ParallelStep
from workflows.context_drafts import take_draft, write
from workflows.core.location import Interpreter, Location
from workflows.core.scope import Scope
from workflows.core.step_progress import ParallelProgress
from workflows.core.trail import note_step
from workflows.core.trail_causes import Failed, StepStated, TrailCause


async def execute(
    step: ParallelStep, place: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run the branches; merge their variables in written order; the data has their outcomes."""
    parallels, key = scope.state.progress.parallels, place.key
    outcomes = parallels.setdefault(key, ParallelProgress()).ended
    good = sum(outcome.status != "failure" for outcome in outcomes.values())

    async def branch(name: str) -> None:
        nonlocal good
        inner = place.at(name).branched(name, scope)
        steps = step.branches[name]
        outcomes[name] = outcome = await interpreter.run_steps(steps, inner, part="branch")
        good += outcome.status != "failure"

    wanted = len(step.branches) if step.join == "all" else 1 if step.join == "any" else step.join

    def enough(finished: Set[str]) -> bool:
        if step.join == "all":
            return len(outcomes) == wanted
        return good >= wanted or len(outcomes) == len(step.branches)

    jobs: dict[str, Callable[[], Coroutine[None, None, None]]] = {
        name: partial(branch, name) for name in step.branches if name not in outcomes
    }
    if step.losers == "finish":
        await scope.together(jobs, enough=lambda finished: len(finished) == len(jobs))
    else:
        await scope.together(jobs, enough=enough)
    parallels.pop(key, None)
    return _joined(step, place, scope, outcomes, wanted)


def _joined(
    step: ParallelStep, place: Location, scope: Scope, outcomes: dict[str, Outcome], wanted: int
) -> Outcome:
    frame = place.frame(scope)
    before = dict(frame.variables)
    written: dict[str, list[tuple[str, JsonValue]]] = {}
    context_writes: dict[str, list[ContextWrite]] = {}
    data: dict[str, JsonValue] = {}
    for name in step.branches:
        inner = place.at(name).branched(name, scope)
        ended = inner.frame(scope)
        outcome = outcomes.get(name)
        draft = take_draft(inner.frame_key, scope)
        if outcome is not None and outcome.status != "failure":
            context_writes[name] = draft
        for one, _ in walk(step.branches[name], ()):
            if one.name in ended.tasks and one.name not in ended.earlier:
                frame.end(one.name, ended.tasks[one.name])
        if outcome is not None:
            for variable, value in ended.variables.items():
                if variable not in before or _differs(before[variable], value):
                    written.setdefault(variable, []).append((name, value))
        status = "cancelled" if outcome is None else outcome.status
        note_step(scope, place.at(name), status, _cause(outcome))
        data[name] = {"status": status, "data": None if outcome is None else outcome.data}
        del scope.state.frames[inner.frame_key]
    scope.state.forget_steps(place.key, set(step.branches))
    for variable, values in written.items():
        frame.variables[variable] = _merged(step, variable, values)
    write(place, _context_writes(step, context_writes), scope, repr(step.name))
    return _verdict(step, outcomes, data, wanted)


def _context_writes(
    step: ParallelStep, branches: dict[str, list[ContextWrite]]
) -> tuple[ContextWrite, ...]:
    """Join the context writes of the branches that succeeded, in written order."""
    policies: dict[str, MergePolicy] = {
        name.removeprefix(CONTEXT): policy
        for name, policy in step.merge.items()
        if name.startswith(CONTEXT)
    }
    return joined(
        branches,
        policies,
        lambda path: (
            f"use `append`, `extend` or `increment`, or say in {step.name!r}: "
            f"`merge: {{{CONTEXT}{path}: replace | extend | merge}}`"
        ),
    )


def _cause(outcome: Outcome | None) -> TrailCause | None:
    if outcome is None:
        return StepStated("not_needed")
    error = outcome.error
    return None if error is None else Failed("branch_failed", error)


def _differs(before: JsonValue, value: JsonValue) -> bool:
    return before is not value and not json_equal(before, value)


def _merged(step: ParallelStep, variable: str, values: list[tuple[str, JsonValue]]) -> JsonValue:
    policy = step.merge.get(variable)
    if len(values) > 1 and policy is None:
        writers = " and ".join(repr(name) for name, _ in values)
        raise ContextConflict(
            f"the branches {writers} of {step.name!r} both set the variable {variable!r}; say "
            f"which with `merge: {{{variable}: replace | extend | merge}}`"
        )
    return merged_by(policy or "replace", [value for _, value in values])


def _verdict(
    step: ParallelStep, outcomes: dict[str, Outcome], data: dict[str, JsonValue], wanted: int
) -> Outcome:
    failures = {n: o for n, o in outcomes.items() if o.status == "failure"}
    good = len(outcomes) - len(failures)
    if (step.join == "all" and not failures) or (step.join != "all" and good >= wanted):
        return Outcome.succeeded(data)
    messages = "; ".join(f"{n}: {o.error.message}" for n, o in failures.items() if o.error)
    first = next((o.error.type for o in failures.values() if o.error), "Failed")
    need = "" if step.join == "all" else f"{good} of {wanted} needed branches succeeded; "
    return Outcome.failed(first, f"{need}{messages}", data)
