"""Build workers: register workflows and activities, and inject their access to the world."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from temporalio.client import Client
from temporalio.worker import Interceptor, Worker

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.agents.inner_calls import InnerCalls
from coterie.activities.contracts import MAX_HEARTBEAT_DELAY
from coterie.activities.failure_redaction import SecretsInterceptor
from coterie.activities.notifications import NotificationActivities
from coterie.activities.processes.process_privacy import keep_to_itself
from coterie.activities.storage.absences import lasting
from coterie.activities.storage.blobs import Blobs
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.tool_functions.function_registry import (
    TOOL_FUNCTIONS,
    AnyFunction,
    contracts,
)
from coterie.activities.tool_functions.long_calls.long_call import LongCalls
from coterie.activities.tool_functions.temporal.workflow_function import Workflows
from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.model.capabilities import FunctionContract
from coterie.logs import hide
from coterie.runtime.frozen_heap import frozen_heap
from coterie.runtime.task_board import TaskBoard
from coterie.runtime.workflow_sandbox import sandbox
from coterie.settings import Settings
from coterie.storage.large_values import storage_of
from coterie.storage.value_storage import Storage
from coterie.terminal import note
from coterie.version import own_version
from coterie.worker.bulk_activity import BulkActivities
from coterie.worker.compile_activity import CompileActivities
from coterie.worker.fork_activity import ForkActivities
from coterie.worker.plan_policy import PlanPolicy, RunCallsOnly
from coterie.worker.provider_queues import ProviderQueue, hold, queue_worker
from coterie.worker.surroundings import (
    agent_types,
    apis_of,
    channels_of,
    python_functions,
    web_access_of,
    workspace_of,
)
from coterie.worker.target_activity import TargetActivities
from coterie.worker.watchdog_process import watched
from coterie.worker.worker_parts import WorkerParts, worker_parts
from coterie.workflows.audit_log import AuditLogWorkflow
from coterie.workflows.bulk_action import BulkActionWorkflow
from coterie.workflows.team import TeamWorkflow

MAX_ACTIVITIES = 100
"""Concurrent calls of models and functions in one worker: they mostly wait for other systems."""

STICKY = timedelta(seconds=10)
"""Temporal's own default. Measured: of 500 parked runs woken at once on two busy cores, half wait
4.6 s for their worker; a shorter time would replay them elsewhere just when load is high."""

_CACHED_RUNS = 1000
"""Runs cached in memory; an uncached run costs a replay at its next event."""

_SHUTDOWN_TIMEOUT = timedelta(seconds=10)
"""After the grace for calls: a run that blocks its thread cannot be evicted at all."""


class ServingTerms(NamedTuple):
    """Where a worker takes runs from, and how it leaves them."""

    task_queue: str
    grace: timedelta
    """Time for calls in progress when it stops."""
    sticky: timedelta = STICKY
    """How long a run waits for this worker, which caches it, before another one may replay it: the
    delay after a worker is killed."""


@asynccontextmanager
async def working(
    client: Client,
    settings: Settings,
    trusted: TrustedConfig,
    terms: ServingTerms,
    policy: PlanPolicy,
) -> AsyncGenerator[Worker]:
    """Serve a task queue within the block; then finish calls in progress and close connections.

    Args:
        client: With our data converter.
        settings: Environment, for keys and commands.
        trusted: What the worker may touch and reach.
        terms: Where it takes runs from, and how it leaves them.
        policy: Which plans it runs that it did not compile.
    """
    keep_to_itself()
    async with worker_parts(client, settings, trusted, terms.task_queue) as parts:
        workers = _workers(client, settings, trusted, parts, terms, policy)
        await _hold(client, parts.queues)
        with watched(settings, parts.board), frozen_heap():
            async with _serving(workers, terms.grace):
                yield workers[0]


@asynccontextmanager
async def _serving(workers: Sequence[Worker], grace: timedelta) -> AsyncGenerator[None]:
    """Serve with all of them; stop them concurrently, because each may wait for calls in progress.

    A cancellation during the stop does not stop any of them twice.
    """
    started_workers: list[Worker] = []
    try:
        for worker in workers:
            await worker.__aenter__()
            started_workers.append(worker)
        yield
    finally:
        why = sys.exc_info()
        try:
            async with asyncio.timeout((grace + _SHUTDOWN_TIMEOUT).total_seconds()):
                await _report_worker_exit(started_workers, *why)
        except TimeoutError:
            note("a run could not be evicted from memory; it continues elsewhere")


async def _report_worker_exit(
    workers: Sequence[Worker],
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
) -> None:
    match workers:
        case [only]:  # in this very task, which an interruption cancels
            await only.__aexit__(kind, error, trace)
        case _:
            await asyncio.gather(*(worker.__aexit__(kind, error, trace) for worker in workers))


async def _hold(client: Client, queues: Mapping[str, ProviderQueue]) -> None:
    for queue in {queue.name: queue for queue in queues.values()}.values():
        problem = await hold(client, queue)
        if problem is not None:
            note(
                f"the server rejects the settings of queue {queue.name} ({problem}); workers still "
                "keep the rate limit, but runs do not take turns"
            )


def _workers(
    client: Client,
    settings: Settings,
    trusted: TrustedConfig,
    parts: WorkerParts,
    terms: ServingTerms,
    policy: PlanPolicy,
) -> tuple[Worker, ...]:
    """Build the SDK's workers: one with our workflow and activities, one per provider queue."""
    functions_by_name: dict[str, AnyFunction] = {
        **TOOL_FUNCTIONS,
        **python_functions(trusted, settings, parts.tools),
    }
    storage = storage_of(settings)
    blobs = lasting(storage.blobs)
    workflows = Workflows.of(client, trusted.on_temporal)
    functions = _functions(settings, trusted, parts, functions_by_name, blobs, workflows)
    hide(parts.known)  # in logs
    agents = _agents(settings, trusted, parts, functions, contracts(functions_by_name), blobs)
    forks = ForkActivities(client, policy)
    is_sandboxed = parts.commands_in is not None or not trusted.commands
    compiler = CompileActivities(
        settings,
        trusted,
        parts.queues,
        parts.visibility,
        sandboxed=is_sandboxed,
        client=client,
        runner=parts.pool,
    )
    clean = SecretsInterceptor(parts.known)
    activities = (
        agents.run_agent,
        functions.call_function,
        compiler.compile_team,
        forks.fork_run,
        BulkActivities(client, settings).act_on_run,
        TargetActivities(client, trusted.on_temporal).check_targets,
        _notification_activities(settings, trusted).notify,
    )
    serving = _serving_worker(
        client,
        terms,
        activities,
        parts.board,
        [clean, RunCallsOnly(), policy],
        storage,
    )
    queues = {queue.name: queue for queue in parts.queues.values()}.values()
    calling = (
        queue_worker(client, queue, agents, clean, grace=terms.grace, maximum=MAX_ACTIVITIES)
        for queue in queues
    )
    return (serving, *calling)


def _functions(
    settings: Settings,
    trusted: TrustedConfig,
    parts: WorkerParts,
    functions_by_name: dict[str, AnyFunction],
    blobs: Blobs | None,
    workflows: Workflows,
) -> FunctionActivities:
    return FunctionActivities(
        workspace_of(trusted, settings, parts.commands_in),
        functions_by_name,
        blobs=blobs,
        servers=parts.servers,
        apis=apis_of(trusted, settings),
        long_calls=LongCalls(),
        runner=parts.pool,
        workflows=workflows,
    )


def _agents(
    settings: Settings,
    trusted: TrustedConfig,
    parts: WorkerParts,
    functions: FunctionActivities,
    functions_by_name: dict[str, FunctionContract],
    blobs: Blobs | None,
) -> AgentActivities:
    return AgentActivities(
        parts.providers,
        agent_types=agent_types(trusted),
        agent_packages=trusted.agent_packages,
        call_function=functions.call_for_agent,
        inner_calls=InnerCalls(
            functions_by_name,
            trusted.reach(sandboxed=parts.commands_in is not None),
        ),
        blobs=blobs,
        queues={name: queue.own_queue for name, queue in parts.queues.items()},
        pricing=parts.pricing,
        user_code=parts.user_code,
        known=parts.known,
        runner=parts.pool,
    )


def _notification_activities(settings: Settings, trusted: TrustedConfig) -> NotificationActivities:
    channels = channels_of(trusted, settings)
    folder, web = Path(trusted.workspace), web_access_of(trusted)
    return NotificationActivities(channels, settings.environment, folder, web)


def _serving_worker(
    client: Client,
    terms: ServingTerms,
    activities: Sequence[Callable[..., object]],
    board: TaskBoard,
    interceptors: Sequence[Interceptor],
    storage: Storage,
) -> Worker:
    return Worker(
        client,
        interceptors=interceptors,
        task_queue=terms.task_queue,
        workflows=[TeamWorkflow, BulkActionWorkflow, AuditLogWorkflow],
        activities=activities,
        workflow_runner=sandbox(board=board),
        # The default is a hash over every loaded module, which takes seconds of CPU.
        build_id=own_version(),
        max_cached_workflows=_CACHED_RUNS,
        max_concurrent_activities=MAX_ACTIVITIES,
        max_heartbeat_throttle_interval=MAX_HEARTBEAT_DELAY,
        graceful_shutdown_timeout=terms.grace,
        sticky_queue_schedule_to_start_timeout=terms.sticky,
        max_workflow_task_external_storage_concurrency=storage.concurrency,
    )
