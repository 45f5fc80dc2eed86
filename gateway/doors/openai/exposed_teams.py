"""Which teams are models, and what a request puts into the context with which one starts."""

from dataclasses import dataclass
from pathlib import Path as File
from typing import Final

from pydantic import JsonValue

from coterie.documents.catalog import Catalog
from coterie.documents.compilation import startable
from coterie.dsl.compile.compiler import Compiled
from coterie.dsl.errors import listed
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.traversal.step_walk import message_waits
from coterie.dsl.paths import parse
from coterie.dsl.strict_json import read_json
from coterie.dsl.values import Json
from coterie.dsl.visible import shortened_text
from coterie.gateway.doors.openai.conversation import SentConversation
from coterie.gateway.doors.openai.openai_errors import ParameterRejection
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.run_access import RunAccess
from coterie.settings import Settings

ROLES: Final = (Role.STARTER, Role.VIEWER)
"""A client starts runs, and reads their answers: it needs both."""
_MESSAGE: Final = "message"
_MESSAGES: Final = "messages"
_INSTRUCTIONS: Final = "instructions"
_GIVE: Final = "give it in `metadata`"


@dataclass(frozen=True, slots=True)
class ExposedTeam:
    """A team of the project as a model."""

    name: str
    created: int
    """When its file was changed last, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class ReadyTeam:
    """A team that a request may start."""

    name: str
    compiled: Compiled
    is_session: bool
    """Whether its runs take messages; else each request is a run."""


def exposed_teams(settings: Settings, identity: Identity) -> list[ExposedTeam]:
    """Return the teams of the project that an identity may call, in their order."""
    found = {located.name: located.file for located in Catalog(settings).own()}
    return [
        ExposedTeam(name, _change_time(file))
        for name, file in found.items()
        if is_callable(identity, name)
    ]


def is_callable(identity: Identity, team: str) -> bool:
    """Return whether an identity has all roles that this door takes."""
    return all(isinstance(may(identity, (role,), team), Allowed) for role in ROLES)


def _change_time(file: File) -> int:
    try:
        return int(file.stat().st_mtime)
    except OSError:
        return 0


def unknown_model(settings: Settings, name: str, identity: Identity) -> Rejection:
    """Return the error for a model that the project does not have for this identity."""
    names = [team.name for team in exposed_teams(settings, identity)]
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
        raise unknown_model(access.settings, name, identity)
    return ReadyTeam(name, named.compiled, bool(message_waits(named.compiled.plan)))


def starting_context(team: ReadyTeam, asked: SentConversation, metadata: Json) -> Json:
    """Return the context with which a run starts.

    Declared fields come from `metadata` by their names; `instructions` and `messages` from those of
    the conversation. A team that is not a session gets the user's text in `message`, else in the
    only field that is missing.

    Raises:
        CommandError: Something is missing, or does not fit.
    """
    plan = team.compiled.plan
    context: Json = {}
    for path in _paths(plan):
        if path in metadata and path != "session":
            _put(context, parse(path), _fitting(plan, path, metadata[path]))
    known = _paths(plan)
    if _INSTRUCTIONS in known and _INSTRUCTIONS not in context and asked.instructions:
        context[_INSTRUCTIONS] = asked.instructions
    if _MESSAGES in known and _MESSAGES not in context:
        context[_MESSAGES] = [{"role": one.role, "content": one.text} for one in asked.texts]
    if not team.is_session:
        _put(context, parse(_field_of_text(team, context)), asked.text_after(None))
    startable(team.compiled, context, how=_GIVE)
    return context


def takes_messages(team: ReadyTeam) -> bool:
    """Return whether a run starts with the whole conversation in its context."""
    return _MESSAGES in _paths(team.compiled.plan)


def _paths(plan: Plan) -> tuple[str, ...]:
    return tuple(plan.context) or tuple(plan.needs)


def _field_of_text(team: ReadyTeam, context: Json) -> str:
    """Return the path that takes what the user wrote."""
    plan = team.compiled.plan
    if _MESSAGE in _paths(plan):
        return _MESSAGE
    required = [
        path for path in _paths(plan) if path not in plan.context or plan.context[path].required
    ]
    missing = [path for path in required if not _has(context, parse(path))]
    texts = [path for path in missing if _takes_text(plan, path)]
    if len(texts) == 1:
        return texts[0]
    named = f"; it lacks {listed(missing)}" if missing else ""
    raise ParameterRejection(
        "messages",
        f"the team {team.name!r} has no single field of its context for the user's text{named}",
        "Declare `message: {type: string}` in its `context`; send other fields in `metadata`.",
    )


def _takes_text(plan: Plan, path: str) -> bool:
    kind = _schema(plan, path).get("type", "string")
    return kind == "string" or (isinstance(kind, list) and "string" in kind)


def _schema(plan: Plan, path: str) -> Json:
    return plan.context[path].schema_ if path in plan.context else {}


def _fitting(plan: Plan, path: str, value: JsonValue) -> JsonValue:
    """Return a value of `metadata`, which are texts, as the field takes it."""
    if not isinstance(value, str) or _takes_text(plan, path):
        return value
    try:
        return read_json(value)
    except ValueError:
        return value  # the check of the context says what does not fit


def _has(context: Json, path: tuple[str, ...]) -> bool:
    inner: JsonValue = context
    for name in path:
        if not isinstance(inner, dict) or name not in inner:
            return False
        inner = inner[name]
    return True


def _put(context: Json, path: tuple[str, ...], value: JsonValue) -> None:
    *above, last = path
    inner = context
    for name in above:
        below = inner.setdefault(name, {})
        if not isinstance(below, dict):
            return  # the check of the context says what does not fit
        inner = below
    inner[last] = value
