"""Rate-limit providers: each has a task queue, whose limit the server enforces for all workers.

Every worker of such a queue sends the limit to the server when it starts; the last one wins, so
workers with the same configuration agree. The workers also poll with the limit, which older servers
understand.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import RateLimit
from temporalio.api.workflowservice.v1 import UpdateTaskQueueConfigRequest
from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import Worker

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.contracts import MAX_HEARTBEAT_DELAY, OwnQueue
from coterie.activities.failure_redaction import SecretsInterceptor
from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.model.sections.provider_document import ProviderSection, RateLimitPolicy
from coterie.version import own_version
from coterie.worker.plan_policy import RunCallsOnly

_SOME_SECONDS = timedelta(seconds=10)
Update = UpdateTaskQueueConfigRequest.RateLimitUpdate


@dataclass(frozen=True, slots=True)
class ProviderQueue:
    """One queue and its limit."""

    name: str
    policy: RateLimitPolicy

    @property
    def own_queue(self) -> OwnQueue:
        """The queue as runs know it."""
        return OwnQueue(name=self.name, fair_by=self.policy.fair_by)


def provider_queues(trusted: TrustedConfig, task_queue: str) -> dict[str, ProviderQueue]:
    """Return `{provider: its queue}` for every provider with a rate limit.

    A document with its own configuration of a provider shares the limit of the others, unless it
    sets a different one.
    """
    return dict(_queues(trusted.providers | trusted.scoped, task_queue))


def _queues(
    providers: Mapping[str, ProviderSection], task_queue: str
) -> Iterator[tuple[str, ProviderQueue]]:
    for name, section in providers.items():
        policy = section.rate_limit_policy
        if policy is None:
            continue
        base = name.partition("@")[0]
        base_section = providers.get(base)
        same = base_section is not None and base_section.rate_limit_policy == policy
        yield name, ProviderQueue(f"{task_queue}.provider.{base if same else name}", policy)


async def hold(client: Client, queue: ProviderQueue) -> str | None:
    """Set the limit of a queue on the server; return the reason if that fails."""
    policy = queue.policy
    request = UpdateTaskQueueConfigRequest(
        namespace=client.namespace,
        identity=client.identity,
        task_queue=queue.name,
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        update_queue_rate_limit=_rate(policy.per_second),
        update_fairness_key_rate_limit_default=_rate(policy.per_second_per_key),
    )
    try:
        await client.workflow_service.update_task_queue_config(request, timeout=_SOME_SECONDS)
    except RPCError as error:
        return error.message
    return None


def _rate(per_second: float | None) -> Update:
    """Build the update of a limit; without one, it removes an earlier limit."""
    if per_second is None:
        return Update(reason="rate_limit_policy")
    return Update(rate_limit=RateLimit(requests_per_second=per_second), reason="rate_limit_policy")


def queue_worker(
    client: Client,
    queue: ProviderQueue,
    agents: AgentActivities,
    clean: SecretsInterceptor,
    *,
    grace: timedelta,
    maximum: int,
) -> Worker:
    """Build a worker for the model calls of one provider, beside the one that serves the runs."""
    return Worker(
        client,
        interceptors=[clean, RunCallsOnly()],
        task_queue=queue.name,
        activities=[agents.run_agent],
        build_id=own_version(),
        max_concurrent_activities=maximum,
        max_task_queue_activities_per_second=queue.policy.per_second,
        max_heartbeat_throttle_interval=MAX_HEARTBEAT_DELAY,
        graceful_shutdown_timeout=grace,
    )
