"""Where the plan of a run comes from: its input, the worker's compiler, or another run."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import cast

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

from coterie.activities.contracts import (
    COMPILE_TEAM,
    FORK_RUN,
    HEARTBEAT_TIMEOUT,
    CompileRequest,
    CompileResult,
    ForkRequest,
    ForkResult,
    VisibilitySettings,
)
from coterie.dsl.errors import RunRefused
from coterie.dsl.model.plan import Plan
from coterie.workflows.control.fork import fork_off
from coterie.workflows.core.memo_keys import FORKED_FROM, FORKED_RUN
from coterie.workflows.core.messages import ForkInput, TeamInput
from coterie.workflows.core.state import RunState

ACCEPTS_PLANS = "coterie_accepts_plans"
"""The function that reports whether a worker accepts a plan that it did not compile.

It takes the id of the run and the plan.
"""


REFUSED = "raw-plan-refused"
"""The marker in the history of a refused run: a replay refuses it too, on any worker."""

_COMPILE_TIMEOUT = timedelta(minutes=2)
"""The compiler bounds its own CPU; on a busy worker it may have to wait."""
ADVICE = (
    "this worker runs no plans that it did not compile (`worker.accept_plans`); start the run by "
    "the name of a team, or with its document, as `coterie start FILE` does"
)


UNKNOWN_ORIGIN = (
    "this worker runs no plans that it did not compile (`worker.accept_plans`), and cannot tell "
    "whether this run continues or was started so: it has a cron schedule or was retried; start it "
    "without both, for example by a Temporal schedule"
)


async def plan_of(given: TeamInput, state: RunState) -> Plan:
    """Return the plan of a run; its source may also set parts of the state.

    Raises:
        RunRefused: there is no plan, or this worker does not run it.
    """
    _check_one_source(given)
    if given.fork is not None:
        return await _plan_of_fork(given, given.fork, state)
    if given.plan is not None:
        if given.carried is None and _is_refused(given.plan):
            raise RunRefused(ADVICE)
        if given.carried is not None and _may_be_the_first() and _is_refused(given.plan):
            raise RunRefused(UNKNOWN_ORIGIN)
        if given.marked:
            state.visibility = await _visibility_settings(given)
        return given.plan
    result = await _ask_worker(given, attempts=5)
    if result.plan is None:
        raise RunRefused(result.refused or "the team does not compile")
    state.queues |= result.queues
    state.visibility = result.visibility
    return result.plan


def _check_one_source(team_input: TeamInput) -> None:
    sources = [team_input.plan, team_input.team, team_input.document, team_input.fork]
    if sum(source is not None for source in sources) != 1:
        raise RunRefused("a run starts from one of `team`, `document`, `plan` or `fork`")


async def _visibility_settings(team_input: TeamInput) -> VisibilitySettings | None:
    """Return how the worker shows runs; a worker that does not answer delays no run."""
    try:
        return (await _ask_worker(team_input, attempts=1)).visibility
    except (ActivityError, ApplicationError) as error:  # a local activity fails with its own
        if is_cancelled_exception(error):
            raise
        return None


async def _ask_worker(team_input: TeamInput, attempts: int) -> CompileResult:
    """Compile in a local activity, whose answer the history keeps."""
    return await workflow.execute_local_activity(
        COMPILE_TEAM,
        CompileRequest(team=team_input.team, document=team_input.document),
        result_type=CompileResult,
        start_to_close_timeout=_COMPILE_TIMEOUT,
        retry_policy=RetryPolicy(maximum_attempts=attempts),
        summary=f"compile {team_input.team or 'the document'}"
        if team_input.plan is None
        else "visibility",
    )


async def _plan_of_fork(team_input: TeamInput, fork: ForkInput, state: RunState) -> Plan:
    """Return the plan of another run, with its state as a worker finds it in that run's history."""
    if team_input.context:
        raise RunRefused(
            "a fork takes over the context of the other run; change it with `fork.updates`"
        )
    if fork.at is not None and fork.message is not None:
        raise RunRefused("a fork starts at a visit or at a message: give `at` or `message`")
    point = ForkRequest(run=fork.run, run_id=fork.run_id, at=fork.at, message=fork.message)
    result = await _find(point)
    if result.plan is None or result.carried is None:
        raise RunRefused(result.refused or "the other run has no state to go on from")
    other = RunState.resumed(result.carried)
    fork_off(other, fork, result.at, workflow.now(), result.plan.context)
    state.become(other)
    workflow.upsert_memo({FORKED_FROM: f"{fork.run} at {result.at}", FORKED_RUN: fork.run})
    return result.plan


def _point_name(point: ForkRequest) -> str:
    return point.at or ("the failure" if point.message is None else f"message {point.message}")


async def _find(point: ForkRequest) -> ForkResult:
    try:
        return await workflow.execute_activity(
            FORK_RUN,
            point,
            result_type=ForkResult,
            summary=f"find {_point_name(point)} in {point.run}",
            start_to_close_timeout=timedelta(minutes=10),
            heartbeat_timeout=HEARTBEAT_TIMEOUT,
            retry_policy=RetryPolicy(
                maximum_attempts=5, non_retryable_error_types=["PayloadsTooLarge"]
            ),
        )
    except ActivityError as error:
        if is_cancelled_exception(error):
            raise
        raise RunRefused(f"could not read the run {point.run!r}: {error.cause}") from None


def _may_be_the_first() -> bool:
    """Return whether the server has started the input of the start again.

    After a retry or by a cron schedule, a run looks as if it had continued as new, but its input is
    what the caller wrote, `carried` included.
    """
    info = workflow.info()
    return info.attempt > 1 or bool(info.cron_schedule)


def _is_refused(plan: Plan) -> bool:
    """Return whether this run ends because it brought a plan; every replay gives the same answer.

    Only the worker on which a run starts is asked. A refusal writes one event; a run that has
    started continues, also on a worker that would refuse it.
    """
    functions = cast(
        "Mapping[str, Callable[[str, Plan], bool]]",
        workflow.extern_functions(),  # pyright: ignore[reportUnknownMemberType]
    )
    accepts = functions.get(ACCEPTS_PLANS)
    must_refuse = workflow.unsafe.is_replaying() or (
        accepts is not None and not accepts(workflow.info().workflow_id, plan)
    )
    return must_refuse and workflow.patched(REFUSED)
