"""Failing: a failed step waits for a person, who has it tried again, skips it, or lets it fail."""

from collections.abc import Awaitable, Callable

from dsl.model.outcomes import Outcome
from dsl.model.retryability import DECIDED
from dsl.model.steps import Step
from workflows.approvals.approval_wait import ask
from workflows.control.retry_and_skip import CHOICES, FAILED
from workflows.core.location import Location
from workflows.core.scope import Scope

_MAX_MESSAGE_LENGTH = 2000


async def accepted(
    step: Step, place: Location, scope: Scope, work: Callable[[], Awaitable[Outcome]]
) -> Outcome:
    """What the work comes to, in the end: its failure only when a person lets it fail.

    The failure is remembered while somebody thinks: who is resumed then does not work again.
    """
    block = place.block(scope, FAILED)
    while True:
        if block.outcome is None:
            block.outcome = await work()
        outcome = block.outcome
        scope.state.blocks[place.block_key(FAILED)] = block  # a failed attempt forgets much
        error = outcome.error
        if error is None or error.type in DECIDED:
            break
        said = f"{error.type}: {error.message}"[:_MAX_MESSAGE_LENGTH]
        decision = await ask(
            scope, place.at(FAILED), f"{step.name!r} failed. {said}", choices=CHOICES
        )
        if decision is None or decision.verdict == "failed":
            break
        if decision.verdict == "skipped":
            outcome = Outcome("skipped", decision.payload)
            break
        block.outcome = None
        await scope.checkpoint()  # what was amended meanwhile counts
    place.close_block(scope, FAILED)
    return outcome
