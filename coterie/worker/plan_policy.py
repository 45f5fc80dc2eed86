"""Decide whether a worker runs plans that it did not compile, by its own configuration.

A start may carry any plan. Where strangers can start runs, a worker should only run what it
compiles itself: a named team, or a document.
"""

from collections.abc import Callable
from typing import cast

from temporalio.worker import Interceptor, WorkflowInboundInterceptor, WorkflowInterceptorClassInput

from workflows.plan_source import ACCEPTS_PLANS


class PlanPolicy(Interceptor):
    """Tells the runs of one worker whether it accepts plans."""

    def __init__(self, *, accept_plans: bool) -> None:
        self._accept_plans = accept_plans

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor] | None:
        """Pass the answer into the sandbox; intercept nothing."""
        functions = cast(
            "dict[str, Callable[[], bool]]",
            input.unsafe_extern_functions,  # pyright: ignore[reportUnknownMemberType]
        )
        functions[ACCEPTS_PLANS] = lambda: self._accept_plans
        return None
