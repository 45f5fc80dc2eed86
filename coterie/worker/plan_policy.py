"""Decide which starts and calls a worker takes, by its own configuration.

A start may carry any plan. Where strangers can start runs, a worker should only run what it
compiles itself: a named team, or a document. A client can also start an activity by itself, without
a run and so without its plan, limits and approvals: no worker takes that.
"""

from collections.abc import Callable
from typing import Any, Protocol, cast

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    Interceptor,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
)

from coterie.dsl.model.plan import Plan
from coterie.workflows.plan_source import ACCEPTS_PLANS, SIGNS_DECISIONS


class OwnRuns(Protocol):
    """The runs whose plans a worker accepts in any case."""

    def bring(self, id: str, plan: Plan) -> bool:
        """Return whether one of them has this id and brings this plan."""
        ...


class NoRuns:
    """A worker for the runs of others."""

    def bring(self, id: str, plan: Plan) -> bool:
        """Return False."""
        return False


class PlanPolicy(Interceptor):
    """Tells the runs of one worker which plans it accepts, and whether they sign decisions."""

    def __init__(
        self,
        *,
        accept_plans: bool,
        own_runs: OwnRuns | None = None,
        decisions_root: str | None = None,
    ) -> None:
        """Store the policy.

        Args:
            accept_plans: Accept every plan.
            own_runs: The runs whose plans it accepts in any case.
            decisions_root: The root key of signed decisions; None: they need no signature.
        """
        self.decisions_root = decisions_root
        self._accept_plans = accept_plans
        self._own_runs = own_runs or NoRuns()

    def accepts(self, run: str, plan: Plan) -> bool:
        """Return whether the worker runs a plan that a run brings."""
        return self._accept_plans or self._own_runs.bring(run, plan)

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor] | None:
        """Pass the answer into the sandbox; intercept nothing."""
        functions = cast(
            "dict[str, Callable[..., bool]]",
            input.unsafe_extern_functions,  # pyright: ignore[reportUnknownMemberType]
        )
        functions[ACCEPTS_PLANS] = self.accepts
        functions[SIGNS_DECISIONS] = lambda: self.decisions_root is not None
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
