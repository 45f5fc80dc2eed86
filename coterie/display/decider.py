"""Handle requests that wait for a person: by the decisions file, a question, or a hint."""

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, assert_never

from coterie.arguments import login_name
from coterie.control.deciding_names import DecidingNames
from coterie.display.following.plain_view import ProgressView
from coterie.display.keyboard import ask, ask_one_of, ask_yes_no, asked_name
from coterie.display.written_decisions import WrittenDecision, decisions_for
from coterie.dsl.person_names import is_among
from coterie.failures import CommandError
from coterie.rendering.decision_commands import decision_commands
from coterie.rendering.request_text import decision_text, shown_text
from coterie.runs.call_errors import Unanswered
from coterie.runs.run_client import Run
from coterie.terminal import note
from coterie.workflows.core.messages import (
    AmendInput,
    DecideInput,
    RedirectInput,
    RetryInput,
    SkipInput,
)
from coterie.workflows.core.requests import Decision, Pending, request_digest
from coterie.workflows.core.state_keys import StepKey

_ASK_COMMENT = "comment (may be empty): "


_LONG = 40
"""Lines of a request that is offered whole beside the question: the view may have cut it."""


class _Shown(NamedTuple):
    """What a question showed; if it changes, the person is asked again."""

    request: str
    digest: str


class Decider:
    """Handles each pending request once."""

    def __init__(
        self,
        run: Run,
        view: ProgressView,
        written: Sequence[WrittenDecision],
        *,
        interactive: bool,
        workspace: Path | None = None,
    ) -> None:
        """Prepare it.

        Args:
            run: The run.
            view: What shows the run.
            written: Written decisions.
            interactive: A person can be asked.
            workspace: Folder of the files that the run changes; None if it is elsewhere.
        """
        self._run = run
        self._view = view
        self._written = written
        self._interactive = interactive
        self._workspace = workspace
        signs_for = None if run.signer is None else run.signer.subject
        self._names = DecidingNames(login_name(), signs_for)
        self._seen: set[_Shown] = set()
        self._met: set[str] = set()
        """Requests for which all written decisions were used."""
        self._asking: tuple[_Shown, asyncio.Task[None]] | None = None

    async def consider(self, pending: Sequence[Pending]) -> None:
        """Decide what can be decided, and withdraw a question that another person answered.

        Raises:
            CommandError: The run rejects a written decision.
        """
        await self._settle({_Shown(request.id, request.digest) for request in pending})
        for request in pending:
            showing = _Shown(request.id, request.digest)
            if showing in self._seen:
                continue
            if request.id not in self._met and await self._as_written(request):
                self._seen.add(showing)
            elif not self._interactive:
                self._seen.add(showing)
                with suppress(Unanswered):  # then show the partial information
                    request = await self._run.whole(request)
                self._view.show(request)
                self._view.say(self._how_to(request))
            elif self._asking is None:
                self._seen.add(showing)
                self._asking = (showing, asyncio.create_task(self._ask(request)))

    async def close(self) -> None:
        """Withdraw the open question."""
        await self._settle(set())

    async def _settle(self, still_pending: set[_Shown]) -> None:
        if self._asking is None:
            return
        showing, task = self._asking
        if task.done():
            self._asking = None
            await task
        elif showing not in still_pending:
            self._asking = None
            task.cancel()
            await asyncio.wait([task])
            is_changed = any(other.request == showing.request for other in still_pending)
            what = "changed" if is_changed else "decided"
            self._view.say(f"{showing.request} was {what} elsewhere")

    async def _as_written(self, request: Pending) -> bool:
        """Apply the written decisions; return whether they settled the request or were rejected."""
        self._met.add(request.id)
        entries = decisions_for(request.id, self._written)
        if entries:
            request = await self._run.whole(request)
        # The file knows about its own changes, but not about those by other people.
        digest = None if request.edited else request.digest
        for entry in entries:
            is_changed = "payload" in entry.model_fields_set  # null counts as a change too
            after = (
                request_digest(request.origin, request.prompt, entry.payload)
                if is_changed
                else digest
            )
            if entry.decision == "approve" and is_among(entry.by, request.approved_by):
                digest = after if after == request.digest else digest
                continue  # applied before the run was resumed
            if not await self._leaves_open(request, entry, digest):
                return True
            digest = after
        return False

    async def _leaves_open(
        self, request: Pending, entry: WrittenDecision, digest: str | None
    ) -> bool:
        """Apply an entry, and return whether its request is still open for the next entry.

        Args:
            request: The request.
            entry: The written decision.
            digest: Digest of what the entry decides.
        """
        by, comment = entry.by, entry.comment
        match entry.decision:
            case "approve" | "reject":
                decide_input = DecideInput(
                    id=request.id, decision=entry.decision, by=by, comment=comment, digest=digest
                )
                if "payload" in entry.model_fields_set:  # null counts as a payload too
                    decide_input = decide_input.model_copy(update={"payload": entry.payload})
                decision = await self._decide(decide_input)
                return decision is not None and decision.verdict == "counted"
            case "retry":
                asked_again = RetryInput(task=request.id, by=by, why=comment)
                await self._attempt(request.id, self._run.retry(asked_again))
                return False
            case "skip":
                task = request.id
                if request.choices == ():  # an approval is skipped by its own name
                    task = StepKey.of_request(request.id)
                skip_input = SkipInput(task=task, value=entry.value, by=by, why=comment)
                await self._attempt(request.id, self._run.skip(skip_input))
                return False
            case "amend":
                change = AmendInput(updates=entry.updates, by=by, why=comment)
                return await self._steer(
                    request.id, self._run.amend(change), f"{', '.join(entry.updates)} changed"
                )
            case "redirect":
                to = RedirectInput(team=entry.team, by=by, why=comment)
                return await self._steer(
                    request.id, self._run.redirect(to), f"{entry.team} comes next"
                )
            case _:
                assert_never(entry.decision)

    async def _steer(self, request: str, update: Awaitable[None], outcome: str) -> bool:
        """Change the run, and return whether it accepted the change."""
        try:
            await update
        except CommandError as error:
            self._view.say(f"{request}: {error}")
            return False
        self._view.say(f"{request}: {outcome}, by a written decision")
        return True

    async def _decide(self, decide_input: DecideInput) -> Decision | None:
        """Decide, and print the result; return None if the run rejects it."""
        return await self._attempt(decide_input.id, self._run.decide(decide_input))

    async def _attempt(self, request: str, update: Awaitable[Decision]) -> Decision | None:
        """Await a decision, and print the result; return None if the run rejects it."""
        try:
            decision = await update
        except CommandError as error:
            self._view.say(f"{request}: {error}")
            return None
        self._view.say(decision_text(decision))
        return decision

    async def _ask(self, request: Pending) -> None:
        request = await self._run.whole(request)
        with self._view.suspended():
            self._view.show(request)
            by = await asked_name(request, self._names)
            if request.choices:
                if not await self._ask_about_failure(request, by):
                    self._view.say(self._how_to(request))
                return
            whole = shown_text(self._run.id, request, self._workspace)
            long = whole.count("\n") > _LONG
            approval = await ask_yes_no("approve?", partial(note, whole) if long else None)
            comment = None if approval is None else await ask(_ASK_COMMENT)
            if approval is None or comment is None:
                self._view.say(self._how_to(request))
                return
        await self._decide(
            DecideInput(
                id=request.id,
                decision="approve" if approval else "reject",
                by=by,
                comment=comment,
                digest=request.digest or None,
            )
        )

    async def _ask_about_failure(self, request: Pending, by: str) -> bool:
        """Ask what to do with a failed task; return whether there was an answer."""
        choice = await ask_one_of("retry it, skip it, or let it fail?", request.choices)
        comment = None if choice is None else await ask(_ASK_COMMENT)
        if choice is None or comment is None:
            return False
        try:
            match choice:
                case "retry":
                    decision = await self._run.retry(
                        RetryInput(task=request.id, by=by, why=comment)
                    )
                case "skip":
                    decision = await self._run.skip(SkipInput(task=request.id, by=by, why=comment))
                case _:
                    decision = await self._run.decide(
                        DecideInput(id=request.id, decision="reject", by=by, comment=comment)
                    )
            self._view.say(decision_text(decision))
        except CommandError as error:
            self._view.say(f"{request.id}: {error}")
        return True

    def _how_to(self, request: Pending) -> str:
        commands = decision_commands(self._run.id, request, login_name())
        return f"waits for a person: {request.id}\n  decide it with {commands}"
