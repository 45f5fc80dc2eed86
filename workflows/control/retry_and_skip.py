"""Retry and skip: what people do about one task of a run. Pure functions over RunState.

A failed task with `on_failure: ask` waits under a request of its own: `team/task/failed#1`.
Any task may be skipped: before it begins, in the middle of its call or wait, or when it failed.
"""

from collections.abc import Callable, Iterator
from datetime import datetime

from coterie.dsl.errors import closest
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.traversal.approvers import approvers_within
from coterie.dsl.model.traversal.step_paths import names_branch, step_paths, within_rounds
from coterie.dsl.person_names import is_among
from coterie.dsl.sizes import MAX_SHOWN, too_large
from coterie.dsl.visible import shortened_text, visible
from coterie.workflows.control.steering_refusals import (
    ApprovalProtected,
    FailedTaskUnknown,
    MessageUnusable,
    PersonNotAllowed,
    RunUnable,
    SteeringRefusal,
    TaskAmbiguous,
    TaskNotSkippable,
    TaskRequestChanged,
    TaskUnknown,
    ValueForApproval,
)
from coterie.workflows.core.causes.people_causes import SkipAsked
from coterie.workflows.core.messages import RetryInput, SignedInput, SkipInput
from coterie.workflows.core.requests import Decision, How, Pending
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import MAIN, StepKey
from coterie.workflows.core.trail import note_control
from coterie.workflows.signatures.statements import Proof

CHOICES = ("retry", "skip", "fail")
"""The decisions that a person may make about a failed task."""


def retry_refusal(state: RunState, asked: RetryInput) -> SteeringRefusal | None:
    """Return why the run refuses to retry that task, or None."""
    request = _failed_request(state, asked.task)
    if not isinstance(request, Pending):
        return request
    return _not_allowed(request, asked.by) or _changed_request(request, request.id, asked.digest)


def retry(state: RunState, asked: RetryInput, at: datetime, how: How) -> Decision:
    """Retry the failed task."""
    request = _failed_request(state, asked.task)
    assert isinstance(request, Pending)
    decision = Decision(
        id=request.id,
        verdict="retried",
        by=asked.by,
        comment=asked.why,
        at=_moment_text(at),
        how=how,
        digest=request.digest,
        proofs=_proofs(asked),
    )
    del state.pending[request.id]
    state.decide(decision)
    return decision.brief


def skip_refusal(plan: Plan | None, state: RunState, asked: SkipInput) -> SteeringRefusal | None:
    """Return why the run refuses to skip the task, or None."""
    large = too_large(asked.value, "`value`", MAX_SHOWN)
    if large is not None:
        return MessageUnusable("TooLarge", large)
    if plan is None:
        return RunUnable("RunNotBegun")
    step_key = _step_of_task(plan, state, asked.task)
    if not isinstance(step_key, StepKey):
        return step_key
    request = _waiting(state, step_key)
    changed = _changed_request(request, step_key, asked.digest)
    if changed is not None:
        return changed
    if request is None:
        return _not_skippable(plan, state, step_key, asked)
    protected = _refusal_of_skip(plan, step_key, asked.by) if request.choices else None
    return _not_allowed(request, asked.by) or _no_value(request, asked) or protected


def skip(
    plan: Plan | None,
    state: RunState,
    asked: SkipInput,
    at: datetime,
    how: How,
    cut: Callable[[str], None],
) -> Decision:
    """Skip the task, now or when it starts; `cut` ends its call."""
    assert plan is not None
    key = _step_of_task(plan, state, asked.task)
    assert isinstance(key, StepKey)
    request = _waiting(state, key)
    skipped = key.skipped
    id = request.id if request else skipped.request(state.executed(skipped.counter))
    decision = Decision(
        id=id,
        verdict="skipped",
        by=asked.by,
        comment=asked.why,
        at=_moment_text(at),
        how=how,
        payload=asked.value,
        digest=request.digest if request else "",
        proofs=_proofs(asked),
    )
    state.decide(decision, awaited=request is not None)
    if request is not None:
        del state.pending[id]
        return decision.brief
    state.skips[key] = asked
    note_control(state, at, SkipAsked("skip_asked", key, asked.by, asked.why))
    cut(key)
    return decision.brief


def _proofs(asked: SignedInput) -> tuple[Proof, ...]:
    return () if asked.proof is None else (asked.proof,)


def _moment_text(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds")


def _failed_request(state: RunState, task: str | None) -> Pending | SteeringRefusal:
    """Return the request of the failed task of that name, or why there is none."""
    waiting = [request for request in state.pending.values() if request.choices]
    if task is not None:
        waiting = [request for request in waiting if task in _names(request.id)]
    if len(waiting) == 1:
        return waiting[0]
    failed_steps = [
        StepKey.of_failed(request.id) for request in state.pending.values() if request.choices
    ]
    if not failed_steps:
        return RunUnable("NothingFailed")
    if task is None:
        return TaskAmbiguous(None, tuple(failed_steps))
    return FailedTaskUnknown(task, tuple(failed_steps))


def _names(request: str) -> Iterator[str]:
    """Yield the names of a failed task: the id of its request, its key and the ends of the key."""
    yield request
    yield from StepKey.of_failed(request).names()


def _waiting(state: RunState, key: StepKey) -> Pending | None:
    """Return the request with which a task waits for a person, also failed or as its tool asks."""
    for id, request in state.pending.items():
        if StepKey.of_request(id) in (key, key.failed, key.input):
            return request
    return None


def _not_allowed(request: Pending, by: str) -> SteeringRefusal | None:
    if request.approvers and not is_among(by, request.approvers):
        return PersonNotAllowed(by, request.id, request.approvers)
    return None


def _changed_request(
    request: Pending | None, task: str, named: str | None
) -> SteeringRefusal | None:
    """Return that a task no longer waits with what somebody has seen; None if it does."""
    digest = "" if request is None else request.digest
    if named is None or named == digest:
        return None
    return TaskRequestChanged(task, shortened_text(visible(named), 64), digest)


def _no_value(request: Pending, skip_input: SkipInput) -> SteeringRefusal | None:
    if request.choices or skip_input.value is None:
        return None
    return ValueForApproval(request.id)


def _step_of_task(plan: Plan, state: RunState, task: str) -> StepKey | SteeringRefusal:
    """Return the `team/path` of the task that a person names, or why there is none."""
    failed = [
        StepKey.of_failed(request.id) for request in state.pending.values() if request.choices
    ]
    for key in failed:
        if task == key or (task in state.pending and key == StepKey.of_failed(task)):
            return key
    open_now = [*state.doing, *(StepKey.of_request(request) for request in state.pending), *failed]
    paths = step_paths(plan)
    if task in open_now or task in paths:
        return StepKey(task)
    team = state.main.team or ""
    matches = [
        key
        for key in dict.fromkeys((*open_now, *sorted(paths)))
        if StepKey(key).is_called(task) and (key in open_now or StepKey(key).team == team)
    ]
    if len(matches) == 1:
        return StepKey(matches[0])
    if matches:
        return TaskAmbiguous(task, tuple(matches))
    return TaskUnknown(task, closest(task, paths))


def _not_skippable(
    plan: Plan, state: RunState, key: StepKey, skip_input: SkipInput
) -> SteeringRefusal | None:
    """Return why a task that waits for nobody cannot be skipped."""
    within = [other for other in state.doing if key.holds(other)]
    if within:
        return TaskNotSkippable("TaskHasSteps", key, step=within[-1])
    if names_branch(plan, key):
        return TaskNotSkippable("TaskIsBranch", key)
    frame = state.open_frame(MAIN)
    ended = None if frame is None or key.team != state.main.team else frame.tasks.get(key.path)
    if ended is not None and key not in state.doing:
        return TaskNotSkippable("TaskHasEnded", key, status=ended.status)
    if key not in state.doing and within_rounds(plan, key):
        return TaskNotSkippable("TaskInRounds", key)
    return _refusal_of_skip(plan, key, skip_input.by)


def _refusal_of_skip(plan: Plan, key: str, by: str) -> SteeringRefusal | None:
    """Return why a person may not skip the approvals at or below a task, or None."""
    for path, people in approvers_within(plan, key):
        if not is_among(by, people):
            return ApprovalProtected(by, key, path, tuple(people))
    return None
