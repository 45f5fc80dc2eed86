"""Which run a request of AG-UI is about: one that exists, or a new one.

A thread with a session is one run, whose id is that of the thread; each message is a run of AG-UI.
With another team each message starts a run, whose id is that of the run of AG-UI. A message to a
run at work is for its agent.
"""

from dataclasses import dataclass, replace
from functools import partial

from pydantic import JsonValue, ValidationError

from coterie.audit.sent_records import audit_record
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.traversal.step_walk import message_waits
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.gateway.doors.agui.agui_inputs import AguiInput
from coterie.gateway.doors.agui.agui_interrupts import Answers, InterruptPick
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.error_reports import (
    Rejection,
    failed_request,
    invalid_input,
    problems_of,
)
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform, permitted_run
from coterie.gateway.operations.permissions import may
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.operations.run_permissions import require
from coterie.gateway.operations.run_starts import StartAsked
from coterie.gateway.operations.run_steering import SayAsked
from coterie.gateway.sessions.message_inputs import (
    message_schemas,
    session_message,
    text_input,
    with_input,
)
from coterie.gateway.sessions.session_runs import plan_for, start_once


@dataclass(frozen=True, slots=True)
class ThreadRun:
    """The run that a client talks to."""

    run: str
    is_new: bool = False
    """Whether this request has started it, so that the client gets all its events."""
    is_session: bool = False
    message: JsonValue = None
    """To a session."""
    message_id: str | None = None
    """None: the client sends no message."""


class AguiThreads:
    """Finds or starts the runs of a team for one identity."""

    def __init__(self, access: RunAccess, team: str, identity: Identity) -> None:
        """Take the runs, the name of the team, and who asks."""
        self._access = access
        self._team = team
        self._identity = identity

    async def open(self, asked: AguiInput, *, resumes: bool = False) -> ThreadRun:
        """Return the run that a request is about, with its requests decided, or started.

        Args:
            asked: The request.
            resumes: Whether the client has events of an earlier request that was the same.

        Raises:
            CommandError: The identity may not, or the request does not fit the team.
            InvalidDocument: The team has problems.
        """
        self._require((Role.VIEWER,))
        if asked.answers:
            return await self._answer(asked)
        found = await self._find(asked.run) or await self._find(asked.thread)
        if found is None:
            return await self._start(asked)
        plan = await self._plan(found)
        thread = ThreadRun(found.run.id, is_session=bool(message_waits(plan)))
        if thread.is_session:
            return self._with_message(thread, plan, asked)
        if asked.text is not None and found.run.id != asked.run and not resumes:
            await self._say(found, asked.text, asked.run)
        return thread

    async def _say(self, found: FoundRun, text: str, message_id: str) -> None:
        """Tell the agent of a run at work what the user writes."""
        if not found.is_open:
            raise Rejection(
                409,
                "no_session",
                f"the run {found.run.id!r} of this thread has ended, and is no session",
                "Use another `threadId`: each message of this team starts a run.",
            )
        try:
            said = SayAsked(run=found.run.id, text=text, message_id=message_id)
        except ValidationError as error:
            report = invalid_input(problems_of(error), "").report
            raise Rejection(422, report.code, report.message, report.fix) from None
        await perform(self._access, operation_named("say"), said, self._identity)

    async def _answer(self, asked: AguiInput) -> ThreadRun:
        picks = [InterruptPick.parse(entry.interrupt_id) for entry in asked.answers]
        runs = {pick.run for pick in picks}
        found = await self._find(picks[0].run)
        if len(runs) > 1 or found is None:
            raise Rejection(
                422,
                "invalid",
                "`resume` names interrupts of another team, or of several runs",
                "Answer the interrupts of one run, at the address of its team.",
            )
        await Answers(self._access, self._identity).decide(asked.answers)
        plan = await self._plan(found)
        return ThreadRun(found.run.id, is_session=bool(message_waits(plan)))

    async def _plan(self, found: FoundRun | None) -> Plan:
        return await plan_for(self._access, self._team, self._identity, found)

    async def _find(self, run: str) -> FoundRun | None:
        """Return a run of the team; None if there is none that the identity may see."""
        try:
            found = await permitted_run(
                self._access, run, (Role.VIEWER,), self._identity, "AG-UI run"
            )
        except CommandError as error:
            if failed_request(error).report.code != "unknown_run":
                raise
            return None
        return found if found.team == self._team else None

    async def _start(self, asked: AguiInput) -> ThreadRun:
        self._require((Role.STARTER,))
        plan = await self._plan(None)
        is_session = bool(message_waits(plan))
        context = asked.context
        if asked.text is not None and not is_session:
            context = context_with(plan, self._team, context, asked.text)
        run = asked.thread if is_session else asked.run
        thread = ThreadRun(run, is_new=True, is_session=is_session)
        if is_session:  # before the start: a refused message leaves no empty session
            thread = self._with_message(thread, plan, asked)
        start = StartAsked(team=self._team, context=context, id=run)
        if not await start_once(self._access, self._identity, start, partial(self._is_there, run)):
            return await self.open(asked)  # the same request came twice at once
        return thread

    async def _is_there(self, run: str) -> bool:
        return await self._find(run) is not None

    def _with_message(self, thread: ThreadRun, plan: Plan, asked: AguiInput) -> ThreadRun:
        if asked.text is None:
            return thread
        self._require((Role.STARTER, Role.OPERATOR))
        return replace(
            thread, message=session_message(message_schemas(plan), asked.text), message_id=asked.run
        )

    def _require(self, roles: tuple[Role, ...]) -> None:
        try:
            require(may(self._identity, roles, self._team))
        except Rejection as error:
            self._access.audit.note(audit_record("refused", "AG-UI run", error.code))
            raise


def context_with(plan: Plan, team: str, state: Json, text: str) -> Json:
    """Return the context with which a text starts a run.

    Clients send back the state that they have, so what stands there is older than the text.

    Raises:
        Rejection: No input takes it, or several do.
    """
    return with_input(state, text_input(plan, team, {}), text)
