"""A run hears what reaches it in one activation in the order of its history."""

from collections.abc import Callable

import pytest
from temporalio.bridge.proto.workflow_activation import WorkflowActivation, WorkflowActivationJob
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion

from coterie.runtime.activation_order import Activate, OrderedActivations
from coterie.workflows.core.activation import SIGNALS_FOLLOW

STARTED = 20
"""The id of the event that the workflow task starts with."""


def signal(event: int) -> WorkflowActivationJob:
    job = WorkflowActivationJob()
    job.signal_workflow.signal_name = f"signal {event}"
    job.signal_workflow.originating_event_id = event
    return job


def update(name: str, *, replayed: bool = False) -> WorkflowActivationJob:
    job = WorkflowActivationJob()
    job.do_update.name = job.do_update.protocol_instance_id = name
    job.do_update.run_validator = not replayed
    return job


def timer() -> WorkflowActivationJob:
    job = WorkflowActivationJob()
    job.fire_timer.seq = 1
    return job


def start() -> WorkflowActivationJob:
    job = WorkflowActivationJob()
    job.initialize_workflow.workflow_id = "run"
    return job


def patch() -> WorkflowActivationJob:
    job = WorkflowActivationJob()
    job.notify_has_patch.patch_id = "patch"
    return job


def named(job: WorkflowActivationJob) -> str:
    kind = str(job.WhichOneof("variant"))
    match kind:
        case "do_update":
            return job.do_update.name
        case "signal_workflow":
            return job.signal_workflow.signal_name
        case _:
            return kind.partition("_")[0]


def done(*commands: str) -> WorkflowActivationCompletion:
    completion = WorkflowActivationCompletion()
    completion.successful.SetInParent()
    for command in commands:
        getattr(completion.successful.commands.add(), command).SetInParent()
    return completion


Heard = list[tuple[list[str], bool]]


def run(heard: Heard, answer: Callable[[list[str]], WorkflowActivationCompletion]) -> Activate:
    """A run that answers each part of an activation; what it heard, and whether signals follow."""

    def activate(act: WorkflowActivation) -> WorkflowActivationCompletion:
        jobs = [named(job) for job in act.jobs]
        heard.append((jobs, SIGNALS_FOLLOW.get()))
        return answer(jobs)

    return activate


def activation(*jobs: WorkflowActivationJob) -> WorkflowActivation:
    return WorkflowActivation(run_id="run", history_length=STARTED, jobs=jobs)


def activate_once(activate: Activate, act: WorkflowActivation) -> WorkflowActivationCompletion:
    return OrderedActivations(activate).activate(act)


def local_result() -> WorkflowActivationJob:
    job = WorkflowActivationJob()
    job.resolve_activity.is_local = True
    return job


def rejected(completion: WorkflowActivationCompletion) -> dict[str, str]:
    """`{update: code}` of what was refused without the run."""
    answers = [one.update_response for one in completion.successful.commands]
    return {
        one.protocol_instance_id: one.rejected.application_failure_info.type
        for one in answers
        if one.HasField("rejected")
    }


@pytest.mark.parametrize(
    ("jobs", "parts"),
    [
        ([update("decide"), timer()], [["fire"], ["decide"]]),
        ([update("decide"), start()], [["initialize"], ["decide"]]),
        ([update("a"), update("b"), patch(), timer()], [["notify", "fire"], ["a", "b"]]),
        (
            [signal(2), signal(3), start(), update("a")],
            [["signal 2", "signal 3", "initialize"], ["a"]],
        ),
        ([signal(18), timer()], [["signal 18", "fire"]]),
        ([signal(19), timer()], [["fire"], ["signal 19"]]),
        ([signal(18), signal(19), timer()], [["fire"], ["signal 18", "signal 19"]]),
        ([signal(16), signal(19), timer()], [["signal 16", "fire"], ["signal 19"]]),
        ([signal(19), update("decide"), timer()], [["fire"], ["signal 19", "decide"]]),
        ([update("decide"), signal(19)], [["signal 19", "decide"]]),
        (
            [signal(17), update("a"), signal(18), update("b"), signal(19)],
            [["signal 17", "signal 18", "signal 19", "a", "b"]],
        ),
        ([update("decide"), signal(19), timer()], [["fire"], ["signal 19", "decide"]]),
        ([patch(), update("decide")], [["notify", "decide"]]),
        ([timer()], [["fire"]]),
    ],
)
def test_messages_come_after_what_happened_before_them(
    jobs: list[WorkflowActivationJob], parts: list[list[str]]
) -> None:
    heard: Heard = []
    completion = activate_once(
        run(heard, lambda jobs: done(*["start_timer"] * len(jobs))), activation(*jobs)
    )
    assert [part for part, _ in heard] == parts
    assert len(completion.successful.commands) == len(jobs)


def test_the_first_part_knows_that_signals_follow() -> None:
    heard: Heard = []
    activate_once(run(heard, lambda _: done()), activation(signal(19), timer()))
    activate_once(run(heard, lambda _: done()), activation(update("decide"), timer()))
    assert [follow for _, follow in heard] == [True, False, False, False]


def test_an_update_is_to_be_sent_again_when_the_order_of_all_is_not_known() -> None:
    jobs = [signal(10), update("decide"), update("past", replayed=True), timer()]
    heard: Heard = []
    completion = activate_once(run(heard, lambda _: done()), activation(*jobs))
    assert [part for part, _ in heard] == [["signal 10", "fire"], ["past"]]
    assert rejected(completion) == {"decide": "NotYet"}


@pytest.mark.parametrize(
    "end",
    [
        "complete_workflow_execution",
        "continue_as_new_workflow_execution",
        "fail_workflow_execution",
        "cancel_workflow_execution",
    ],
)
def test_an_update_is_to_be_sent_again_when_the_run_ends_with_what_came_before(end: str) -> None:
    heard: Heard = []
    completion = activate_once(
        run(heard, lambda _: done(end)), activation(update("amend"), timer())
    )
    assert [part for part, _ in heard] == [["fire"]]
    assert rejected(completion) == {"amend": "NotYet"}
    assert completion.successful.commands[0].HasField(end)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("failing", ["fire", "decide"])
def test_a_part_that_fails_fails_the_whole(failing: str) -> None:
    def answer(jobs: list[str]) -> WorkflowActivationCompletion:
        completion = done("start_timer")
        if failing in jobs:
            completion.failed.failure.message = "broken"
        return completion

    heard: Heard = []
    completion = activate_once(run(heard, answer), activation(update("decide"), timer()))
    assert completion.failed.failure.message == "broken"
    assert len(heard) == (1 if failing == "fire" else 2)


def test_no_update_is_accepted_in_the_task_in_which_a_local_activity_ended() -> None:
    heard: Heard = []
    one_run = OrderedActivations(run(heard, lambda _: done()))
    joined = one_run.activate(activation(update("decide"), local_result()))
    assert rejected(joined) == {"decide": "NotYet"}
    later = one_run.activate(activation(update("amend")))
    assert rejected(later) == {"amend": "NotYet"}
    replayed = one_run.activate(activation(update("skip", replayed=True)))
    assert rejected(replayed) == {}
    next_task = activation(update("retry"))
    next_task.history_length = STARTED + 3
    assert rejected(one_run.activate(next_task)) == {}
    assert [part for part, _ in heard] == [["resolve"], ["skip"], ["retry"]]
