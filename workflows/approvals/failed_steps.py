"""Failed steps: a person retries a failed step, skips it, or lets it fail."""

from collections.abc import Awaitable, Callable

from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.retryability import DECIDED
from coterie.dsl.visible import shortened_text
from coterie.workflows.approvals.approval_wait import PersonRequest, ask
from coterie.workflows.control.retry_and_skip import CHOICES
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state_keys import FAILED

_MAX_MESSAGE_LENGTH = 2000


async def accepted(
    what: str, location: Location, scope: Scope, work: Callable[[], Awaitable[Outcome]]
) -> Outcome:
    """Return the outcome of the work; a failure only if a person lets it fail.

    The state keeps the failure while the run waits: on resume, the work does not repeat.
    """
    failures, key = scope.state.progress.failures_to_decide, location.key
    while True:
        failure = failures.get(key)
        outcome = await work() if failure is None else failure
        error = outcome.error
        if error is None or error.type in DECIDED:
            break
        failures[key] = outcome
        error_text = shortened_text(f"{error.type}: {error.message}", _MAX_MESSAGE_LENGTH)
        request = PersonRequest(f"{what} failed. {error_text}", choices=CHOICES)
        decision = await ask(scope, location.at(FAILED), request)
        if decision is None or decision.verdict == "failed":
            break
        if decision.verdict == "skipped":
            outcome = Outcome("skipped", decision.payload)
            break
        del failures[key]
        await scope.checkpoint()  # an amendment made meanwhile applies
    failures.pop(key, None)
    return outcome
