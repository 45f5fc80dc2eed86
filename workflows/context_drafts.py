"""Context writes in a run: straight to the context, or to the draft of a branch or an attempt."""

from collections.abc import Awaitable, Callable, Sequence

from pydantic import JsonValue

from coterie.dsl.errors import TemplateFailed, ValueTooLarge
from coterie.dsl.evaluate.context import WRITE_ERRORS, apply
from coterie.dsl.evaluate.context_writes import ContextWrite, filled_write
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import Step
from coterie.dsl.sizes import check_size
from coterie.workflows.core.location import Location
from coterie.workflows.core.progress.progress_kinds import ContextDraft, StartedStep
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state_keys import StateKey
from coterie.workflows.core.state_parts import Track


def write_to_track(plan: Plan, track: Track, writes: Sequence[ContextWrite], who: str) -> None:
    """Write to a track's context; a branch of a fan-out remembers what it wrote.

    Raises:
        ContextConflict: a path leads through a value that is not a mapping.
        ContextUpdateFailed: a value has the wrong type for its operation.
        InvalidContext: a value or a path does not fit what the plan declares.
        ValueTooLarge: a value is larger than may travel.
    """
    if not writes:
        return
    for write in writes:
        check_size(write.value, f"the context update {write.path!r} of {who}")
    track.context = apply(track.context, writes, plan.context)
    if track.branch:
        track.updates.extend(writes)


def write(location: Location, writes: Sequence[ContextWrite], scope: Scope, who: str) -> None:
    """Write from a step: to the innermost draft that it is in, or to its track.

    Raises:
        TeamError: as `write_to_track` does; then nothing is written.
    """
    if not writes:
        return
    if not location.drafts:
        write_to_track(scope.plan, scope.state.tracks[location.track], writes, who)
        return
    for update in writes:
        check_size(update.value, f"the context update {update.path!r} of {who}")
    apply(location.context(scope), writes, scope.plan.context)
    drafts = scope.state.progress.drafts
    drafts.setdefault(location.drafts[-1], ContextDraft()).writes.extend(writes)


def failed_write(writing: Callable[[], None], data: JsonValue) -> Outcome | None:
    """Write; return the failure of the step that writes, with its data, if nothing was written."""
    try:
        writing()
    except (ValueTooLarge, *WRITE_ERRORS) as error:
        return Outcome.failed(type(error).__name__, str(error), data)
    return None


def take_draft(key: StateKey, scope: Scope) -> list[ContextWrite]:
    """Remove a draft; return what was written to it."""
    draft = scope.state.progress.drafts.pop(key, None)
    return [] if draft is None else draft.writes


async def with_draft(
    step: Step, location: Location, scope: Scope, attempts: Callable[[Location], Awaitable[Outcome]]
) -> Outcome:
    """Run the attempts of a step; the writes of its nested steps are all or nothing."""
    inner = location.drafted()
    outcome = await attempts(inner)
    draft = take_draft(inner.key, scope)
    if outcome.status == "failure":
        return outcome
    amended_meanwhile = failed_write(
        lambda: write(location, draft, scope, repr(step.name)), outcome.data
    )
    return amended_meanwhile or outcome


async def with_updates(
    step: Step, location: Location, scope: Scope, started: StartedStep, ran: Awaitable[Outcome]
) -> Outcome:
    """Write the `context_updates` of a step that has succeeded; a write that fails fails it."""
    outcome = await ran
    if not outcome.success or location.step in scope.state.skips:
        return outcome
    try:
        timed = outcome.timed(scope.time() - started.at)
        names = location.facts(scope).with_result(step.name, timed).names()
        writes = tuple(
            filled_write(key, value, names) for key, value in step.context_updates.items()
        )
        write(location, writes, scope, repr(step.name))
    except (TemplateFailed, ValueTooLarge, *WRITE_ERRORS) as error:
        return Outcome.failed(type(error).__name__, str(error), outcome.data)
    started.writes = writes
    return outcome
