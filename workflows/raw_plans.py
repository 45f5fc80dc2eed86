"""Plans that came with a start, which no worker of ours compiled."""

from collections.abc import Callable, Mapping
from typing import cast

from temporalio import workflow

ACCEPTS_PLANS = "coterie_accepts_plans"
"""The function of a worker that says whether it runs them."""

REFUSED = "raw-plan-refused"
"""The marker in the history of a run that was refused: a replay refuses it too, on any worker."""

ADVICE = (
    "this worker runs no plans that it did not compile (`worker.accept_plans`): start the run by "
    "the name of a team, or with its document, as `coterie start FILE` does"
)


def is_refused() -> bool:
    """Whether this run ends because it brought a plan; the same at every replay of it.

    Only where a run begins is its worker asked. It writes an event only when it is refused, and
    later, on a worker that says otherwise, a run goes on as it began.
    """
    functions = cast(
        "Mapping[str, Callable[[], bool]]",
        workflow.extern_functions(),  # pyright: ignore[reportUnknownMemberType]
    )
    accepts = functions.get(ACCEPTS_PLANS)
    asked = workflow.unsafe.is_replaying() or (accepts is not None and not accepts())
    return asked and workflow.patched(REFUSED)
