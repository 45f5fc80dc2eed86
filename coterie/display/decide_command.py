"""Implement `coterie approve` and `coterie reject`: one request, or several at once.

Each decision about several requests is sent for itself, with the digest of what was shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from shlex import quote

from temporalio.client import WorkflowExecutionStatus

from coterie.control.deciding_names import DecidingNames
from coterie.display.keyboard import ask_yes_no, asked_name
from coterie.display.pager import show_note
from coterie.dsl.errors import listed
from coterie.dsl.person_names import is_among
from coterie.failures import CommandError, ExitCode
from coterie.inspection.recorded_requests import only_request
from coterie.logs import quietly
from coterie.rendering.commit_diffs import CommitDiffs
from coterie.rendering.request_text import decision_text, shown_text
from coterie.runs.call_errors import Unanswered, has_ended
from coterie.runs.run_client import MessageSigner, Run
from coterie.runs.run_workspaces import workspace_of_run
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.terminal import is_interactive, note, say
from coterie.text.problems import counted
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.state_keys import StepKey


@dataclass(frozen=True, slots=True)
class WantedRequests:
    """Which requests a command decides."""

    name: str | None = None
    """The id of one, or a pattern with `*` and `?`; None for the only one that waits."""
    every: bool = False
    """All that wait."""

    @property
    def pattern(self) -> str | None:
        """The pattern, if this may be several."""
        if self.every:
            return "*"
        return self.name if self.name is not None and set(self.name) & set("*?") else None


@dataclass(frozen=True, slots=True)
class DecidedAlone:
    """A request that the pattern matches and the command does not decide."""

    request: str
    why: str


@dataclass(frozen=True, slots=True)
class DecidingPlace:
    """Where the command runs."""

    settings: Settings
    workspace: Path | None
    """Folder of the files that the run changes; None if it is elsewhere."""

    def show(self, run: Run, request: Pending) -> None:
        """Show what is decided, all of it."""
        show_note(shown_text(run.id, request, self.workspace), self.settings)


async def decide(
    settings: Settings,
    id: str,
    wanted: WantedRequests,
    asked: DecideInput,
    names: DecidingNames,
    signer: MessageSigner | None = None,
) -> ExitCode:
    """Decide one request, or all that match a pattern.

    Args:
        settings: Environment of the command.
        id: Id of the run.
        wanted: Which requests.
        asked: The decision, without request and digest, unless the person gives the digest.
        names: The names under which the person decides.
        signer: Signs the decisions.
    """
    quietly(settings)
    run = Run((await open_connection(settings)).client, id)
    description = await run.describe()
    if description.status != WorkflowExecutionStatus.RUNNING:
        raise has_ended(id)
    run.signer = signer
    folder = workspace_of_run(settings, id)
    run.complete = CommitDiffs(folder, settings.environment).complete
    pending, place = await run.pending(), DecidingPlace(settings, folder)
    if wanted.pattern is None or any(request.id == wanted.name for request in pending):
        decide_input = asked.model_copy(update={"id": wanted.name or only_request(run, pending)})
        return await _decide_one(run, pending, decide_input, names, place)
    return await _decide_several(run, wanted.pattern, pending, asked, names, place)


async def _decide_one(
    run: Run,
    pending: Sequence[Pending],
    decide_input: DecideInput,
    names: DecidingNames,
    place: DecidingPlace,
) -> ExitCode:
    request = next((candidate for candidate in pending if candidate.id == decide_input.id), None)
    if request is not None and is_interactive():
        decide_input = decide_input.model_copy(update={"by": await asked_name(request, names)})
    checked_input = (
        decide_input
        if request is None
        else await _show_and_digest(run, request, decide_input, place)
    )
    if checked_input is None:
        return ExitCode.RUN_FAILED
    say(decision_text(await run.decide(checked_input)))
    return ExitCode.DONE


async def _show_and_digest(
    run: Run, request: Pending, decide_input: DecideInput, place: DecidingPlace
) -> DecideInput | None:
    """Show what is decided, and add its digest; return None if the person declines.

    A given digest proves that the person has seen it. The run itself refuses a request that no
    longer waits.

    Raises:
        CommandError: It has changed since it opened, and no person is at the terminal.
    """
    if decide_input.digest is not None:
        return decide_input
    request = await run.whole(request)
    place.show(run, request)
    if request.edited and decide_input.decision == "approve":
        if not is_interactive():
            raise CommandError(_changed_text(run, request), ExitCode.RUN_FAILED)
        if not await ask_yes_no("it has changed since it opened; approve the current version?"):
            note("not decided")
            return None
    return decide_input.model_copy(update={"digest": request.digest})


def _changed_text(run: Run, request: Pending) -> str:
    return (
        f"{request.id!r} has changed since it opened; look at it with "
        f"`coterie show {quote(run.id)} {quote(request.id)}`, and approve what you saw "
        "with --digest"
    )


async def _decide_several(
    run: Run,
    pattern: str,
    pending: Sequence[Pending],
    decide_input: DecideInput,
    names: DecidingNames,
    place: DecidingPlace,
) -> ExitCode:
    """Show all that match, ask the person at the terminal once, and decide each for itself."""
    refuse_terms_of_one(decide_input)
    matching = [candidate for candidate in pending if fnmatchcase(candidate.id, pattern)]
    if not matching:
        waiting = listed([candidate.id for candidate in pending]) or "none"
        raise CommandError(
            f"no request that waits in run {run.id!r} matches {pattern!r}; waiting: {waiting}",
            ExitCode.RUN_FAILED,
        )
    found = [
        await shown_decision(run, candidate, decide_input, names, place, confirmed=False)
        for candidate in matching
    ]
    decisions = [decision for decision in found if decision is not None]
    if decisions and is_interactive():
        question = f"{decide_input.decision} {counted(len(decisions), 'request')} as shown?"
        if not await ask_yes_no(question):
            note("not decided")
            return ExitCode.RUN_FAILED
    outcomes = [await _is_taken(run, decision) for decision in decisions]
    complete = len(outcomes) == len(matching) and all(outcomes)
    return ExitCode.DONE if complete else ExitCode.RUN_FAILED


async def shown_decision(
    run: Run,
    candidate: Pending,
    decide_input: DecideInput,
    names: DecidingNames,
    place: DecidingPlace,
    *,
    confirmed: bool,
) -> DecideInput | None:
    """Show one of several requests, and return its decision; None, said why, to leave it out.

    Args:
        run: Its run.
        candidate: The request.
        decide_input: The decision, without request and digest.
        names: The names under which the person decides.
        place: Where the command runs.
        confirmed: Whether the person is not asked about what is shown.
    """
    by = names.allowed(candidate.approvers) or decide_input.by
    if is_interactive():
        by = await asked_name(candidate, names)
    left_out = left_out_of_several(candidate, decide_input, by)
    if left_out is not None:
        note(f"left out: {left_out.request}: {left_out.why}")
        return None
    request = await run.whole(candidate)
    place.show(run, request)
    is_unseen = confirmed or not is_interactive()
    if request.edited and decide_input.decision == "approve" and is_unseen:
        note(f"left out: {_changed_text(run, request)}")
        return None
    return decide_input.model_copy(update={"id": request.id, "by": by, "digest": request.digest})


def refuse_terms_of_one(decide_input: DecideInput) -> None:
    """Raise CommandError if the decision says what only one request can take."""
    for option, is_set in (
        ("--digest", decide_input.digest is not None),
        ("--payload", "payload" in decide_input.model_fields_set),
    ):
        if is_set:
            raise CommandError(f"{option} belongs to one request; name that request")


def left_out_of_several(request: Pending, asked: DecideInput, by: str) -> DecidedAlone | None:
    """Return why a request needs a decision of its own; None if it can be one of several."""
    if asked.decision == "approve" and request.choices:
        return DecidedAlone(request.id, f"a failed task: {', '.join(request.choices)} or reject it")
    if asked.decision == "approve" and StepKey.of_request(request.id).asks_for_input:
        return DecidedAlone(request.id, "a question of a tool: answer it by its own name")
    if asked.decision == "approve" and is_among(by, request.approved_by):
        return DecidedAlone(request.id, f"{by} has approved it already; others must too")
    return None


async def _is_taken(run: Run, decide_input: DecideInput) -> bool:
    """Send one of several decisions; return whether the run takes it."""
    try:
        say(decision_text(await run.decide(decide_input)))
    except Unanswered:
        raise
    except CommandError as error:
        note(f"{decide_input.id}: {error}")
        return False
    return True
