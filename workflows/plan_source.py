"""Where the plan of a run comes from: its input, the worker's compiler, or another run."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import cast

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

from coterie.activities.contracts import (
    CHECK_TARGETS,
    COMPILE_TEAM,
    FORK_RUN,
    HEARTBEAT_TIMEOUT,
    CompileRequest,
    CompileResult,
    ForkRequest,
    ForkResult,
    TargetsRequest,
    TargetsResult,
    TargetUse,
)
from coterie.dsl.errors import RunRefused
from coterie.dsl.json_values import json_digest
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.tools.tool_contract import TemporalTool
from coterie.workflows.control.fork import fork_off
from coterie.workflows.core.memo_keys import FORKED_FROM, FORKED_RUN
from coterie.workflows.core.messages import ForkInput, TeamInput
from coterie.workflows.core.state import RunState
from coterie.workflows.signatures.statements import Authority

ACCEPTS_PLANS = "coterie_accepts_plans"
"""The function that reports whether a worker accepts a plan that it did not compile.

It takes the id of the run and the plan.
"""

SIGNS_DECISIONS = "coterie_signs_decisions"
"""The function that reports whether a worker takes only runs with signed decisions."""

SIGNED = "signed-decisions"
"""The marker in the history of a run that asks its worker only for the root of decisions."""


REFUSED = "raw-plan-refused"
"""The marker in the history of a refused run: a replay refuses it too, on any worker."""

_COMPILE_TIMEOUT = timedelta(minutes=2)
"""The compiler bounds its own CPU; on a busy worker it may have to wait."""
ADVICE = (
    "this worker runs no plans that it did not compile (`worker.accept_plans`); start the run by "
    "the name of a team, or with its document, as `coterie start FILE` does"
)


_UNKNOWN_ROOT = (
    "this worker takes only runs with signed decisions, and could not tell their root key: start "
    "the run again"
)
_OTHER_ROOT = (
    "the start expects decisions signed under another root key than this worker's "
    "(`worker.decisions`); omit `decisions_root`, or use the right worker"
)
_FORK_WITH_UPDATES = (
    "this worker takes only runs with signed decisions, and a fork keeps those of the other run: "
    "it cannot change the context that they were made about; fork without `updates`, then amend "
    "the new run with a signature"
)
_UNKNOWN_START = (
    "this worker takes only runs with signed decisions, and cannot tell whether this run continues "
    "or was started so: it has a cron schedule or was retried; start it without both, for example "
    "by a Temporal schedule"
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
    plan = await _find_plan(given, state)
    if given.carried is None or _may_be_the_first():
        await _check_targets(plan)
    return plan


async def _check_targets(plan: Plan) -> None:
    """Ask the worker whether the plan may call what it names on Temporal, and whether it is there.

    Raises:
        RunRefused: it may not, or that is not there.
    """
    uses = tuple(
        TargetUse(
            name=tool.made_of, target=tool.target, effect=tool.terms.effect, labels=tool.labels
        )
        for tool in plan.tools.values()
        if isinstance(tool, TemporalTool)
    )
    if not uses:
        return
    result = await workflow.execute_local_activity(
        CHECK_TARGETS,
        TargetsRequest(uses=uses),
        result_type=TargetsResult,
        start_to_close_timeout=_COMPILE_TIMEOUT,
        retry_policy=RetryPolicy(maximum_attempts=5),
        summary="check what the plan calls on Temporal",
    )
    if result.refused is not None:
        raise RunRefused(result.refused)


async def _find_plan(given: TeamInput, state: RunState) -> Plan:
    """Return the plan of a run, whatever its calls reach."""
    if given.fork is not None:
        return await _plan_of_fork(given, given.fork, state)
    if given.plan is not None:
        if given.carried is None and _is_refused(given.plan):
            raise RunRefused(ADVICE)
        if given.carried is not None and _may_be_the_first() and _is_refused(given.plan):
            raise RunRefused(UNKNOWN_ORIGIN)
        if given.carried is not None and _may_be_the_first() and _must_be_signed():
            raise RunRefused(_UNKNOWN_START)
        if given.carried is None:
            await _set_up(given, state)
        return given.plan
    result = await _ask_worker(given, attempts=5)
    if result.plan is None:
        raise RunRefused(result.refused or "the team does not compile")
    state.queues |= result.queues
    state.visibility = result.visibility
    state.version = result.version
    _take_root(given, state, result.decisions_root)
    return result.plan


def _check_one_source(team_input: TeamInput) -> None:
    sources = [team_input.plan, team_input.team, team_input.document, team_input.fork]
    if sum(source is not None for source in sources) != 1:
        raise RunRefused("a run starts from one of `team`, `document`, `plan` or `fork`")


async def _set_up(team_input: TeamInput, state: RunState) -> None:
    """Take over how the worker shows a run that brings its plan, and what it demands of decisions.

    Raises:
        RunRefused: the worker demands signed decisions, and does not say under which root key.
    """
    result = await _worker_settings(team_input) if team_input.marked else None
    if result is None and _must_be_signed():
        result = await _ask_worker(team_input, attempts=5)
        if result.decisions_root is None:
            raise RunRefused(_UNKNOWN_ROOT)
    if result is not None:
        state.visibility = result.visibility if team_input.marked else None
    _take_root(team_input, state, None if result is None else result.decisions_root)


async def _worker_settings(team_input: TeamInput) -> CompileResult | None:
    """Return the worker's settings of a run; a worker that does not answer delays no run."""
    try:
        return await _ask_worker(team_input, attempts=1)
    except (ActivityError, ApplicationError) as error:  # a local activity fails with its own
        if is_cancelled_exception(error):
            raise
        return None


def _take_root(team_input: TeamInput, state: RunState, root: str | None) -> None:
    """Demand signed decisions under the worker's root key, for the whole life of the run.

    Raises:
        RunRefused: the start expects another root.
    """
    if team_input.decisions_root not in (None, root):
        raise RunRefused(_OTHER_ROOT)
    if root is not None:
        info = workflow.info()
        execution = json_digest(info.original_execution_run_id, str(workflow.random_seed()))
        state.authority = Authority(root=root, run=info.first_execution_run_id, execution=execution)


def change_authority(state: RunState, seed: int) -> None:
    """Refuse what was signed before a reset, or before the run continued as new.

    After a reset, Temporal gives the run another seed; it may be the reset of a history that
    has only just begun, which nothing else tells from that history.
    """
    authority = state.authority
    if authority is not None:
        execution = json_digest(authority.execution, str(seed))
        state.authority = authority.model_copy(update={"execution": execution})


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
    if result.decisions_root is not None and fork.updates:
        raise RunRefused(_FORK_WITH_UPDATES)
    other = RunState.resumed(result.carried)
    fork_off(other, fork, result.at, workflow.now(), result.plan.context)
    state.become(other)
    _take_root(team_input, state, result.decisions_root)
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


def _must_be_signed() -> bool:
    """Return whether the worker on which a run starts takes only runs with signed decisions.

    As with `_is_refused`, every replay gives the same answer.
    """
    signs = cast(
        "Mapping[str, Callable[[], bool]]",
        workflow.extern_functions(),  # pyright: ignore[reportUnknownMemberType]
    ).get(SIGNS_DECISIONS)
    must_sign = workflow.unsafe.is_replaying() or (signs is not None and signs())
    return must_sign and workflow.patched(SIGNED)


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
