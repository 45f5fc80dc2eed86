"""Which teams are models, and what a request puts into the context with which one starts."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pydantic import JsonValue

from coterie.documents.compilation import startable
from coterie.dsl.compile.compiler import Compiled
from coterie.dsl.errors import listed
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.traversal.step_walk import message_waits
from coterie.dsl.strict_json import read_json
from coterie.dsl.values import Json
from coterie.dsl.visible import shortened_text
from coterie.gateway.doors.openai.conversation import SentConversation
from coterie.gateway.doors.openai.openai_errors import ParameterRejection
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.named_teams import OwnTeam
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.sessions.message_inputs import (
    NoTextInput,
    input_paths,
    input_takes_text,
    text_input,
    with_input,
)

ROLES: Final = (Role.STARTER, Role.VIEWER)
"""A client starts runs, and reads their answers: it needs both."""
_MESSAGES: Final = "messages"
_INSTRUCTIONS: Final = "instructions"
_GIVE: Final = "give it in `metadata`"


@dataclass(frozen=True, slots=True)
class ExposedTeam:
    """A team of the project as a model."""

    name: str
    created: int
    """When it was deployed, or else when its file was changed last, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class ReadyTeam:
    """A team that a request may start."""

    name: str
    compiled: Compiled
    is_session: bool
    """Whether its runs take messages; else each request is a run."""


async def exposed_teams(access: RunAccess, identity: Identity) -> list[ExposedTeam]:
    """Return the teams of the project that an identity may call, in their order."""
    return [
        ExposedTeam(team.name, _change_time(team))
        for team in await access.teams.own()
        if is_callable(identity, team.name)
    ]


def is_callable(identity: Identity, team: str) -> bool:
    """Return whether an identity has all roles that this door takes."""
    return all(isinstance(may(identity, (role,), team), Allowed) for role in ROLES)


def _change_time(team: OwnTeam) -> int:
    try:
        if team.deployed_at:
            return int(datetime.fromisoformat(team.deployed_at).timestamp())
        return 0 if team.file is None else int(team.file.stat().st_mtime)
    except (OSError, ValueError):
        return 0


async def unknown_model(access: RunAccess, name: str, identity: Identity) -> Rejection:
    """Return the error for a model that the project does not have for this identity."""
    names = [team.name for team in await exposed_teams(access, identity)]
    return Rejection(
        404,
        "unknown_team",
        f"there is no team {shortened_text(name, 100)!r} for you",
        f"The teams are: {listed(names)}.",
    )


async def ready_team(access: RunAccess, name: str, identity: Identity) -> ReadyTeam:
    """Return a team as a start by its name starts it.

    Raises:
        Rejection: There is no such team.
        CommandError: It cannot be compiled here, or the server does not answer.
        InvalidDocument: It has problems.
    """
    named = await access.teams.find(name)
    if named is None:
        raise await unknown_model(access, name, identity)
    return ReadyTeam(name, named.compiled, bool(message_waits(named.compiled.plan)))


def starting_context(team: ReadyTeam, asked: SentConversation, metadata: Json) -> Json:
    """Return the context with which a run starts.

    Declared fields come from `metadata` by their names; `instructions` and `messages` from those of
    the conversation. A team that is not a session gets the user's text in the field for it.

    Raises:
        CommandError: Something is missing, or does not fit.
    """
    plan = team.compiled.plan
    context: Json = {}
    known = input_paths(plan)
    for path in known:
        if path in metadata and path != "session":
            context = with_input(context, path, _fitting(plan, path, metadata[path]))
    if _INSTRUCTIONS in known and _INSTRUCTIONS not in context and asked.instructions:
        context[_INSTRUCTIONS] = asked.instructions
    if _MESSAGES in known and _MESSAGES not in context:
        context[_MESSAGES] = [{"role": one.role, "content": one.text} for one in asked.texts]
    if not team.is_session:
        try:  # instructions are those of the developer, even if there are none
            path = text_input(plan, team.name, {_INSTRUCTIONS: "", **context})
        except NoTextInput as error:
            raise ParameterRejection(
                "messages", str(error), f"{error.fix} Send them in `metadata`."
            ) from None
        context = with_input(context, path, asked.text_after(None))
    startable(team.compiled, context, how=_GIVE)
    return context


def takes_messages(team: ReadyTeam) -> bool:
    """Return whether a run starts with the whole conversation in its context."""
    return _MESSAGES in input_paths(team.compiled.plan)


def _fitting(plan: Plan, path: str, value: JsonValue) -> JsonValue:
    """Return a value of `metadata`, which are texts, as the field takes it."""
    if not isinstance(value, str) or input_takes_text(plan, path):
        return value
    try:
        return read_json(value)
    except ValueError:
        return value  # the check of the context says what does not fit
