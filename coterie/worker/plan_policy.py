"""Decide which starts and calls a worker takes, by its own configuration.

A start may carry any plan. Where strangers can start runs, a worker should only run what it
compiles itself: a named team, or a document. A client can also start an activity by itself, without
a run and so without its plan, limits and approvals: no worker takes that.
"""

from collections.abc import Callable, Container
from typing import Any, cast

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    Interceptor,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
)

from workflows.plan_source import ACCEPTS_PLANS


class PlanPolicy(Interceptor):
    """Tells the runs of one worker whether it accepts their plans."""

    def __init__(self, *, accept_plans: bool, own_runs: Container[str] = ()) -> None:
        """Store the policy.

        Args:
            accept_plans: Accept every plan.
            own_runs: The ids of runs whose plans it accepts in any case.
        """
        self._accept_plans = accept_plans
        self._own_runs = own_runs

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor] | None:
        """Pass the answer into the sandbox; intercept nothing."""
        functions = cast(
            "dict[str, Callable[[str], bool]]",
            input.unsafe_extern_functions,  # pyright: ignore[reportUnknownMemberType]
        )
        functions[ACCEPTS_PLANS] = lambda run: self._accept_plans or run in self._own_runs
        return None


class RunCallsOnly(Interceptor):
    """Refuses activities that no run has called."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Wrap the activity."""
        return _RunCall(next)


class _RunCall(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        if not activity.info().in_workflow:
            raise ApplicationError(
                "this worker makes calls for runs only; start a run",
                type="RunRefused",
                non_retryable=True,
            )
        return await super().execute_activity(input)
