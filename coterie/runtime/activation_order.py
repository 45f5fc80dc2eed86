"""Deliver the events of an activation to a run in the order of its history.

The SDK runs all handlers of signals and updates of an activation before anything else. But an
update comes last: it is not in history before the run accepts it. And when a worker takes up a run,
core may join workflow tasks without commands to the next one: a message would then be judged before
the timer or result that opened the request it answers. A later replay, with the update accepted,
keeps these tasks apart. So we split an activation into parts, see
docs/decisions/0013-messages-come-in-the-order-of-history.md.
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict

from temporalio.bridge.proto.workflow_activation import WorkflowActivation, WorkflowActivationJob
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.exceptions import ApplicationError

from coterie.storage.wire import data_converter
from coterie.workflows.core.activation import MESSAGES_FOLLOW, SIGNALS_FOLLOW
from coterie.workflows.core.messages import SEND_MESSAGE
from coterie.workflows.core.requests import RunNotReady

Activate = Callable[[WorkflowActivation], WorkflowActivationCompletion]

_MESSAGES = ("signal_workflow", "do_update")
_SILENT = ("notify_has_patch", "update_random_seed")
"""Jobs that resume no step of the run."""
_TERMINAL = (
    "cancel_workflow_execution",
    "complete_workflow_execution",
    "continue_as_new_workflow_execution",
    "fail_workflow_execution",
)


class OrderedActivations:
    """Applies the activations of one run in the order of its history.

    It also refuses updates in the workflow task in which a local activity ended. The run would
    accept them after the result, and a replay would deliver them before: core delivers accepted
    updates when their task begins, and the result of a local activity when it reaches its marker
    among the commands of that task.
    """

    def __init__(self, activate: Activate) -> None:
        """Wrap the run's own method `activate`."""
        self._activate = activate
        self._task_of_local_result: int | None = None

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        """Apply the next activation."""
        if any(job.resolve_activity.is_local for job in act.jobs):
            self._task_of_local_result = act.history_length
        refusals = [job for job in act.jobs if job.do_update.run_validator]
        if not refusals or self._task_of_local_result != act.history_length:
            return _activate(self._activate, act)
        others = [job for job in act.jobs if not job.do_update.run_validator]
        completion = _activate(self._activate, _with_jobs(act, others)) if others else _idle(act)
        if not completion.HasField("failed"):
            _refuse(refusals, completion)
        return completion


def _activate(activate: Activate, act: WorkflowActivation) -> WorkflowActivationCompletion:
    """Apply an activation, in two parts if messages came after other events."""
    if len(act.jobs) == 1:
        return activate(act)
    seeds, others = _seeds(act)
    if seeds and others:
        completion = activate(_with_jobs(act, seeds))
        if completion.HasField("failed"):
            return completion
        return _join_completions(completion, _activate(activate, _with_jobs(act, others)))
    first, second = _parts(act)
    if not second:
        return activate(_with_jobs(act, first))
    open_order = _is_order_open(first)
    signals_follow = SIGNALS_FOLLOW.set(any(_is_signal(job) for job in second))
    messages_follow = MESSAGES_FOLLOW.set(
        any(_is_message(job, order_open=open_order) for job in second)
    )
    try:
        completion = activate(_with_jobs(act, first))
    finally:
        SIGNALS_FOLLOW.reset(signals_follow)
        MESSAGES_FOLLOW.reset(messages_follow)
    if completion.HasField("failed"):
        return completion
    if open_order or _ends(completion):
        refusals = [job for job in second if job.do_update.run_validator]
        second = [job for job in second if not job.do_update.run_validator]
        _refuse(refusals, completion)
    if not second:
        return completion
    return _join_completions(completion, activate(_with_jobs(act, second)))


def _seeds(
    act: WorkflowActivation,
) -> tuple[list[WorkflowActivationJob], list[WorkflowActivationJob]]:
    """Split off the mark of a reset: the run must know of it before the server repeats messages."""
    kinds = [job.WhichOneof("variant") for job in act.jobs]
    if "update_random_seed" not in kinds or "initialize_workflow" in kinds:
        return [], [*act.jobs]
    return (
        [job for job in act.jobs if job.HasField("update_random_seed")],
        [job for job in act.jobs if not job.HasField("update_random_seed")],
    )


def _parts(
    act: WorkflowActivation,
) -> tuple[list[WorkflowActivationJob], list[WorkflowActivationJob]]:
    """Split the jobs into earlier events and later messages; the second part may be empty."""
    kinds = [job.WhichOneof("variant") for job in act.jobs]
    if all(kind in _MESSAGES or kind in _SILENT for kind in kinds):
        return _updates_last(act.jobs), []
    latest = _latest_signals(act)
    second = [
        kind == "do_update"
        or (_is_signal(job) and job.signal_workflow.originating_event_id in latest)
        for job, kind in zip(act.jobs, kinds, strict=True)
    ]
    return (
        [job for job, late in zip(act.jobs, second, strict=True) if not late],
        _updates_last(job for job, late in zip(act.jobs, second, strict=True) if late),
    )


def _updates_last(jobs: Iterable[WorkflowActivationJob]) -> list[WorkflowActivationJob]:
    """Put updates after signals, as a replay delivers them.

    The time-skipping server sends an update with the number of the event after which it arrived.
    Signals that came later then follow it, although history has them before its acceptance.
    """
    return sorted(jobs, key=lambda job: job.HasField("do_update"))


def _latest_signals(act: WorkflowActivation) -> set[int]:
    """Return the signals after which the history has only the start of the workflow task."""
    ids = {job.signal_workflow.originating_event_id for job in act.jobs if _is_signal(job)}
    latest: set[int] = set()
    event = act.history_length - 1
    while event in ids:
        latest.add(event)
        event -= 1
    return latest


def _is_order_open(jobs: Iterable[WorkflowActivationJob]) -> bool:
    """Return whether some signals may belong to any of several joined workflow tasks.

    Signals directly after the run's start, from event 2 on, belong to the first task.
    """
    ids = {job.signal_workflow.originating_event_id for job in jobs if _is_signal(job)}
    return ids != set(range(2, 2 + len(ids)))


def _is_signal(job: WorkflowActivationJob) -> bool:
    return job.HasField("signal_workflow")


def _is_message(job: WorkflowActivationJob, *, order_open: bool) -> bool:
    """Return whether it is a message of a session that the run will be handed."""
    is_refused = order_open and job.do_update.run_validator
    return job.do_update.name == SEND_MESSAGE and not is_refused


def _with_jobs(
    act: WorkflowActivation, jobs: Iterable[WorkflowActivationJob]
) -> WorkflowActivation:
    part = WorkflowActivation()
    part.CopyFrom(act)
    del part.jobs[:]
    part.jobs.extend(jobs)
    return part


def _idle(act: WorkflowActivation) -> WorkflowActivationCompletion:
    """Return the completion of an activation in which the run does nothing."""
    completion = WorkflowActivationCompletion(run_id=act.run_id)
    completion.successful.SetInParent()
    return completion


def _ends(completion: WorkflowActivationCompletion) -> bool:
    """Return whether the run has ended or continued as new, so that no message can reach it."""
    commands = completion.successful.commands
    return any(command.WhichOneof("variant") in _TERMINAL for command in commands)


def _refuse(
    updates: Iterable[WorkflowActivationJob], completion: WorkflowActivationCompletion
) -> None:
    """Reject updates whose order is unknown, or that come too late, so that clients resend them.

    A rejected update leaves nothing in history, so no replay can order it differently.
    """
    refusal = RunNotReady()
    facts = asdict(refusal)
    error = ApplicationError(refusal.message, facts, type=refusal.code, non_retryable=True)
    for job in updates:
        response = completion.successful.commands.add().update_response
        response.protocol_instance_id = job.do_update.protocol_instance_id
        data_converter.failure_converter.to_failure(
            error, data_converter.payload_converter, response.rejected
        )


def _join_completions(
    first: WorkflowActivationCompletion, second: WorkflowActivationCompletion
) -> WorkflowActivationCompletion:
    """Combine both completions into one; if the second failed, return it alone."""
    if second.HasField("failed"):
        return second
    first.successful.commands.extend(second.successful.commands)
    first.successful.used_internal_flags.extend(second.successful.used_internal_flags)
    return first
