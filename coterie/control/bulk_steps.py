"""Act on one run of a bulk action: exactly what a person chose, and once."""

from hashlib import sha256

from temporalio.client import Client, WorkflowExecutionStatus

from coterie.control.new_forks import NewFork, origin_of, retry_or_fork
from coterie.control.run_signals import send_cancel
from coterie.dsl.visible import shortened_text
from coterie.failures import CommandError
from coterie.runs.call_errors import Unanswered, UnknownRun
from coterie.runs.run_client import Run
from coterie.settings import Settings
from coterie.workflows.core.bulk_messages import BulkEffect, BulkOutcome, BulkStep

_LOOKS = 20
_MAX_BECAUSE = 1_000


async def act_on_run(
    settings: Settings, client: Client, step: BulkStep, *, is_repeated: bool
) -> BulkOutcome:
    """Act on a run, unless it has changed since somebody chose it.

    Args:
        settings: The project, which may have started the run.
        client: Of the run's server.
        step: The run, and what to do with it.
        is_repeated: Whether an earlier attempt may have had its effect.

    Raises:
        Unanswered: A repetition may help.
    """
    run = Run(client, step.item.run)
    try:
        change = await _change_since(run, step)
        if change is not None and not is_repeated:
            return _outcome(step, "skipped", change)
        match step.action:
            case "cancel":
                return await _cancel(run, step, is_repeated=is_repeated)
            case "retry":
                return await _retry(settings, client, step)
            case "decide":
                return await _decide(run, step)
    except Unanswered:
        raise
    except CommandError as error:
        return _outcome(step, "refused", str(error))


async def _change_since(run: Run, step: BulkStep) -> str | None:
    """Return what has changed since somebody chose the run; None if nothing has."""
    description = await run.describe()
    is_open = description.status == WorkflowExecutionStatus.RUNNING
    if is_open != step.item.is_open:
        return "it has ended since" if step.item.is_open else "it is open again"
    if description.run_id != step.item.run_id:
        return "another execution has begun since"
    return None


async def _cancel(run: Run, step: BulkStep, *, is_repeated: bool) -> BulkOutcome:
    if is_repeated and await run.is_being_cancelled():  # by an earlier attempt
        return _outcome(step, "done")
    await send_cancel(run, step.by, step.why)
    return _outcome(step, "done")


async def _retry(settings: Settings, client: Client, step: BulkStep) -> BulkOutcome:
    asked = step.item.retry
    if asked is None:
        raise CommandError("the bulk action does not say what to retry")
    if step.item.is_open:
        await Run(client, step.item.run).retry(asked, update_id=_once(step))
        return _outcome(step, "done")
    new = Run(client, f"{step.item.run}-{_once(step)}")
    if not await _exists(new):
        fork = await retry_or_fork(settings, client, step.item.run, asked, {}, new.id)
        new = fork.run if isinstance(fork, NewFork) else new
    await origin_of(new, _LOOKS)  # raises if it cannot start there
    return _outcome(step, "done", new_run=new.id)


async def _exists(run: Run) -> bool:
    """Return whether an earlier attempt has started a run."""
    try:
        await run.describe()
    except UnknownRun:
        return False
    return True


async def _decide(run: Run, step: BulkStep) -> BulkOutcome:
    asked = step.item.decision
    if asked is None:
        raise CommandError("the bulk action does not say what to decide")
    decision = await run.decide(asked, update_id=_once(step))
    return _outcome(step, "done", decision.verdict)


def _once(step: BulkStep) -> str:
    """Return the id of a step: what is sent again with it has its effect once."""
    return sha256(f"{step.bulk} {step.number}".encode()).hexdigest()[:8]


def _outcome(
    step: BulkStep, effect: BulkEffect, because: str = "", new_run: str | None = None
) -> BulkOutcome:
    item = step.item
    return BulkOutcome(
        run=item.run,
        team=item.team,
        request=None if item.decision is None else item.decision.id,
        effect=effect,
        because=shortened_text(because, _MAX_BECAUSE),
        new_run=new_run,
    )
