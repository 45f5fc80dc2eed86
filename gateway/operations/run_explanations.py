"""Explain runs: why one took its path, what its requests and calls were, how two differ."""

from typing import Annotated

from pydantic import Field

from coterie.dsl.values import Documented, Json
from coterie.failures import CommandError
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.operation import AnyOperation, Operation, RunAsked, RunId
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_listing import VIEWERS
from coterie.gateway.operations.run_permissions import require_run
from coterie.inspection.recorded_requests import request_of
from coterie.inspection.run_comparison import RunComparison, compare, compared_run
from coterie.inspection.step_calls import step_calls
from coterie.inspection.step_trace import StepTrace, names_step
from coterie.inspection.trace import RefusedAnswer, traced_run
from coterie.rendering.calls_text import call_data
from coterie.rendering.commit_diffs import CommitDiffs
from coterie.replay.trace_events import Visit
from coterie.runs.histories.recorded_calls import RecordedCall
from coterie.runs.run_workspaces import workspace_of_run
from coterie.workflows.core.requests import RequestView

WaitingName = Annotated[str, Field(min_length=1, max_length=1_000)]


class WhyAsked(RunAsked):
    """The input of `why`."""

    about: WaitingName | None = None
    """A visit such as `review#2`, a team, a step `TEAM/STEP#N`, or a call such as `search@2.1`.
    Default: all visits."""


class RetriedCall(Documented):
    """A call that took more than one attempt."""

    step: str
    visit: int
    attempts: int
    seconds: float
    error: str


class Explanation(Documented):
    """Why a run took its path: every rule with the values that it saw, and every change."""

    run: str
    is_replayed: bool
    """Whether this version could follow the run; otherwise only a worker's trail is known."""
    visits: tuple[Visit, ...] = ()
    steps: tuple[StepTrace, ...] = ()
    """Where the question names a step or a call."""
    retried: tuple[RetriedCall, ...] = ()
    refused: tuple[RefusedAnswer, ...] = ()
    """Answers that did not match what the agent must return."""


class ShowAsked(RunAsked):
    """The input of `show`."""

    name: WaitingName | None = None
    """A request, a step `TEAM/STEP#N`, or a model's call such as `search@2.1`. Default: the only
    request that waits."""


class Shown(Documented):
    """One request in full, or every call of a step."""

    run: str
    request: RequestView | None = None
    is_served: bool = True
    """Whether a worker would accept a decision now."""
    diff: tuple[str, ...] = ()
    """Lines of the diff of what the call would commit; only where the files are."""
    calls: tuple[Json, ...] = ()
    """The calls: request, answer, attempts, as in the history."""


class CompareAsked(RunAsked):
    """The input of `compare`."""

    other: RunId
    """The id of the run to compare it with."""


async def _why(access: RunAccess, asked: WhyAsked, _: Identity) -> Explanation:
    async with access.replays:
        trace = await traced_run(access.client, asked.run)
    about = asked.about
    visits: tuple[Visit, ...] = ()
    steps: tuple[StepTrace, ...] = ()
    if about is not None and names_step(about) and not trace.has_visit(about):
        steps = trace.of_step(about)
    else:
        visits = trace.visits if about is None else trace.of(about)
    return Explanation(
        run=asked.run,
        is_replayed=bool(trace.visits),
        visits=visits,
        steps=steps,
        retried=tuple(map(_retried_call, trace.retried)),
        refused=trace.refused,
    )


def _retried_call(call: RecordedCall) -> RetriedCall:
    return RetriedCall(
        step=call.path,
        visit=call.visit,
        attempts=call.attempts,
        seconds=round(call.waited, 3),
        error=call.earlier_error,
    )


async def _show(access: RunAccess, asked: ShowAsked, _: Identity) -> Shown:
    run = access.run(asked.run)
    folder = workspace_of_run(access.settings, run.id)
    run.complete = CommitDiffs(folder, access.settings.environment).complete
    try:
        view, is_served = await request_of(access.client, run, asked.name)
    except CommandError:
        if asked.name is None:
            raise
        async with access.replays:
            calls = await step_calls(access.client, run, asked.name)
        if not calls:
            raise
        return Shown(run=run.id, calls=tuple(map(call_data, calls)))
    diff = () if view.pending is None else view.pending.commit
    return Shown(run=run.id, request=view, is_served=is_served, diff=diff)


async def _compare(access: RunAccess, asked: CompareAsked, identity: Identity) -> RunComparison:
    await require_run(access, asked.other, VIEWERS, identity)
    async with access.replays:
        first = await compared_run(access.client, asked.run)
        second = await compared_run(access.client, asked.other)
    return compare(first, second)


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        "why",
        "Explains why a run took its path: each rule with the values that it saw.",
        "GET",
        "/runs/{run}/why",
        VIEWERS,
        "run",
        WhyAsked,
        Explanation,
        _why,
    ),
    Operation(
        "show",
        "Shows one request in full, or every call of a step.",
        "GET",
        "/runs/{run}/show",
        (Role.VIEWER, Role.APPROVER),
        "run",
        ShowAsked,
        Shown,
        _show,
    ),
    Operation(
        "compare",
        "Compares two runs: path, context, cost, decisions.",
        "GET",
        "/runs/{run}/compare",
        VIEWERS,
        "run",
        CompareAsked,
        RunComparison,
        _compare,
    ),
)
