"""Check what the calls of a plan reach on Temporal, before its run begins.

A plan comes with a start, and anyone who may start a run may send one. So each target must be the
one of this worker's configuration, with its effect and its labels. An endpoint that does not exist
would fail the workflow task forever; a queue that nobody polls, each of its calls.
"""

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import assert_never

from temporalio import activity
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.operatorservice.v1 import ListNexusEndpointsRequest
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from coterie.activities.contracts import CHECK_TARGETS, TargetsRequest, TargetsResult, TargetUse
from coterie.dsl.compile.temporal_offers import contract_on_temporal
from coterie.dsl.errors import listed, nearest
from coterie.dsl.model.capabilities import TemporalContract
from coterie.dsl.model.sections.temporal_document import TemporalEntry
from coterie.dsl.model.temporal_calls import (
    ActivityTarget,
    ChildTarget,
    NexusTarget,
    ResultTarget,
    SignalTarget,
    TemporalTarget,
)

_SOME_SECONDS = timedelta(seconds=10)
_CANNOT_TELL = (RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.PERMISSION_DENIED)
"""A server that does not tell: the worker's configuration counts."""
_MAX_USES = 1000
_log = logging.getLogger("coterie")

_FIX = "correct the worker's configuration, or start the run when it is there"


class TargetActivities:
    """Compares plans with the configuration of this worker, and with the server."""

    def __init__(self, client: Client, sections: Mapping[str, TemporalEntry]) -> None:
        """Take the client of the worker, and what its configuration names."""
        self._client = client
        self._contracts = {
            name: contract_on_temporal(name, section) for name, section in sections.items()
        }

    @activity.defn(name=CHECK_TARGETS)
    async def check_targets(self, request: TargetsRequest) -> TargetsResult:
        """Return why the run may not begin, or that it may; raise only if a retry may help."""
        if len(request.uses) > _MAX_USES:
            return TargetsResult(refused=f"the plan has more than {_MAX_USES:,} tools on Temporal")
        for use in request.uses:
            refused = self._refusal(use)
            if refused is not None:
                return TargetsResult(refused=refused)
        checked: set[tuple[str, str]] = set()
        for use in request.uses:
            place = _place_of(use.target)
            if place is None or place in checked:
                continue
            checked.add(place)
            lacking = await self._refusal_of_server(use.target)
            if lacking is not None:
                return TargetsResult(refused=f"{use.name}: {lacking}; {_FIX}")
        return TargetsResult()

    def _refusal(self, use: TargetUse) -> str | None:
        """Return why this worker does not allow a use of a plan."""
        contract = self._contracts.get(use.name)
        if contract is None:
            hint = nearest(use.name, self._contracts)
            return (
                f"this worker allows no {use.name!r} on Temporal; its configuration has "
                f"{listed(self._contracts)}. {hint}".rstrip(". ")
            )
        if not _is_as_allowed(use, contract):
            return (
                f"{use.name!r} is not what this worker's configuration says: compile the plan "
                "anew, with the configuration of the worker"
            )
        return None

    async def _refusal_of_server(self, target: TemporalTarget) -> str | None:
        """Return what the server lacks for a target."""
        match target:
            case ActivityTarget():
                if target.may_lack_worker:
                    return None
                return await self._refusal_of_queue(
                    target.task_queue, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY
                )
            case ChildTarget():
                if target.may_lack_worker:
                    return None
                return await self._refusal_of_queue(
                    target.task_queue, TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
                )
            case NexusTarget():
                return await self._refusal_of_endpoint(target.endpoint)
            case SignalTarget() | ResultTarget():
                return None
            case _:
                assert_never(target)

    async def _refusal_of_queue(self, queue: str, kind: TaskQueueType.ValueType) -> str | None:
        request = DescribeTaskQueueRequest(
            namespace=self._client.namespace,
            task_queue=TaskQueue(name=queue),
            task_queue_type=kind,
        )
        try:
            service = self._client.workflow_service
            answer = await service.describe_task_queue(request, timeout=_SOME_SECONDS)
        except RPCError as error:
            return _accept_silence(error, f"whether a worker polls {queue!r}")
        if answer.pollers:
            return None
        return f"no worker polls the task queue {queue!r} (`may_lack_worker: true` allows that)"

    async def _refusal_of_endpoint(self, endpoint: str) -> str | None:
        request = ListNexusEndpointsRequest(name=endpoint, page_size=1)
        try:
            service = self._client.operator_service
            answer = await service.list_nexus_endpoints(request, timeout=_SOME_SECONDS)
        except RPCError as error:
            return _accept_silence(error, f"whether the Nexus endpoint {endpoint!r} exists")
        if any(found.spec.name == endpoint for found in answer.endpoints):
            return None
        return f"the server has no Nexus endpoint {endpoint!r}"


def _place_of(target: TemporalTarget) -> tuple[str, str] | None:
    """Return what of a target is looked for on the server, once for all that share it."""
    match target:
        case ActivityTarget() | ChildTarget():
            return None if target.may_lack_worker else (target.kind, target.task_queue)
        case NexusTarget():
            return target.kind, target.endpoint
        case SignalTarget() | ResultTarget():
            return None
        case _:
            assert_never(target)


def _is_as_allowed(use: TargetUse, contract: TemporalContract) -> bool:
    """Return whether a plan uses what the worker means, and relaxes nothing."""
    return (
        use.target == contract.target
        and use.effect == contract.effect
        and set(use.labels) >= set(contract.labels)
    )


def _accept_silence(error: RPCError, what: str) -> None:
    """Take the configuration's word where the server does not tell.

    Raises:
        RPCError: A retry may help.
    """
    if error.status not in _CANNOT_TELL:
        raise error
    _log.warning("the server does not tell %s (%s)", what, error.message)
