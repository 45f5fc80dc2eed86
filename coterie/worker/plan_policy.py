"""Whether a worker runs plans that it did not compile: its own configuration says so.

A start may bring any plan. Where strangers can start runs, a worker takes only what it compiles
itself: the team of a name, or a document.
"""

from collections.abc import Callable
from typing import cast

from temporalio.worker import Interceptor, WorkflowInboundInterceptor, WorkflowInterceptorClassInput

from workflows.raw_plans import ACCEPTS_PLANS


class PlanPolicy(Interceptor):
    """Tells the runs of one worker whether it accepts plans."""

    def __init__(self, *, accept_plans: bool) -> None:
        self._accept_plans = accept_plans

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor] | None:
        """Hand the answer into the sandbox; nothing is intercepted."""
        functions = cast(
            "dict[str, Callable[[], bool]]",
            input.unsafe_extern_functions,  # pyright: ignore[reportUnknownMemberType]
        )
        functions[ACCEPTS_PLANS] = lambda: self._accept_plans
        return None
