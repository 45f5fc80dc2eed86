"""Which run a request of AG-UI is about: one that exists, or a new one.

A thread with a session is one run, whose id is that of the thread; each message is a run of AG-UI.
With another team each message starts a run, whose id is that of the run of AG-UI.
"""

import json
from dataclasses import dataclass, replace
from typing import cast

from pydantic import JsonValue

from coterie.audit.sent_records import audit_record
from coterie.documents.catalog import Catalog
from coterie.dsl.errors import listed
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.traversal.step_walk import message_waits
from coterie.dsl.paths import parse
from coterie.dsl.strict_json import read_json
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.gateway.doors.agui.agui_inputs import AguiInput
from coterie.gateway.doors.agui.agui_interrupts import Answers, InterruptPick
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.error_reports import Rejection, failed_request
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform, permitted_run
from coterie.gateway.operations.permissions import may
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.operations.run_permissions import require
from coterie.gateway.operations.run_starts import StartAsked, unknown_team
from coterie.runs.histories.recorded_plans import plan_of_run

MESSAGE = "message"
"""The declared path of the context that takes what a person writes, if there is one of the name."""


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

    async def open(self, asked: AguiInput) -> ThreadRun:
        """Return the run that a request is about, with its requests decided, or started.

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
        plan = await plan_of_run(self._access.client, found.run.id, found.description.run_id)
        if plan is None:  # no worker has compiled it yet
            plan = await self._plan()
        thread = ThreadRun(found.run.id, is_session=bool(message_waits(plan)))
        if thread.is_session:
            return self._with_message(thread, plan, asked)
        if asked.text is not None and found.run.id != asked.run:
            raise Rejection(
                409,
                "no_session",
                f"the run {found.run.id!r} of this thread is no session: it takes no messages",
                "Use another `threadId`: each message of this team starts a run.",
            )
        return thread

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
        plan = await plan_of_run(self._access.client, found.run.id, found.description.run_id)
        return ThreadRun(found.run.id, is_session=plan is not None and bool(message_waits(plan)))

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
        plan = await self._plan()
        is_session = bool(message_waits(plan))
        context = asked.context
        if asked.text is not None and not is_session:
            context = with_text(context, text_path(plan, self._team), asked.text)
        run = asked.thread if is_session else asked.run
        thread = ThreadRun(run, is_new=True, is_session=is_session)
        if is_session:  # before the start: a refused message leaves no empty session
            thread = self._with_message(thread, plan, asked)
        start = StartAsked(team=self._team, context=context, id=run)
        try:
            await perform(self._access, operation_named("start"), start, self._identity)
        except CommandError as error:
            is_taken = failed_request(error).report.code == "id_taken"
            if not is_taken or await self._find(run) is None:
                raise
            return await self.open(asked)  # the same request came twice at once
        return thread

    def _with_message(self, thread: ThreadRun, plan: Plan, asked: AguiInput) -> ThreadRun:
        if asked.text is None:
            return thread
        self._require((Role.STARTER, Role.OPERATOR))
        return replace(thread, message=session_message(plan, asked.text), message_id=asked.run)

    async def _plan(self) -> Plan:
        """Return the plan that a start by the name of the team starts."""
        named = await self._access.teams.find(self._team)
        if named is None:
            raise unknown_team(Catalog(self._access.settings), self._team, self._identity)
        return named.compiled.plan

    def _require(self, roles: tuple[Role, ...]) -> None:
        try:
            require(may(self._identity, roles, self._team))
        except Rejection as error:
            self._access.audit.note(audit_record("refused", "AG-UI run", error.code))
            raise


def text_path(plan: Plan, team: str) -> str:
    """Return the path of the context that takes what a person writes.

    Raises:
        Rejection: The team declares none.
    """
    if plan.context:
        needed = [
            path
            for path, declared in plan.context.items()
            if declared.required and declared.schema_.get("type", "string") == "string"
        ]
        known = list(plan.context)
    else:
        needed = known = list(plan.needs)
    if MESSAGE in known:
        return MESSAGE
    if len(needed) == 1:
        return needed[0]
    reason = f"it needs {listed(needed)}" if needed else "it needs no text"
    raise Rejection(
        422,
        "no_message",
        f"the team {team!r} does not say where a message belongs: {reason}",
        f"Declare the context path `{MESSAGE}` as a text, or start it with `state` alone.",
    )


def with_text(context: Json, path: str, text: str) -> Json:
    """Return a context with a text at a path."""
    name, *rest = parse(path)
    if not rest:
        return {**context, name: text}
    inner = context.get(name)
    within = cast("Json", inner) if isinstance(inner, dict) else {}
    return {**context, name: with_text(within, ".".join(rest), text)}


def session_message(plan: Plan, text: str) -> JsonValue:
    """Return what a session gets: the text, or the JSON in it if it wants no text.

    Raises:
        Rejection: The session wants JSON, and the text is none.
    """
    schemas = [wait.schema_ or {} for wait in message_waits(plan)]
    kinds = {json.dumps(schema.get("type", "string")) for schema in schemas}
    if kinds == {'"string"'}:
        return text
    try:
        return read_json(text)
    except ValueError as error:
        raise Rejection(
            422,
            "invalid",
            f"the messages of this session are JSON, and the text cannot be read as JSON: {error}",
            "Send a message that fits the schema of the step that waits for it.",
        ) from None
