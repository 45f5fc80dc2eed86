"""The user of a run: whose memories the calls of its document use. Settled as the run starts."""

from typing import Final

from pydantic import JsonValue, ValidationError

from coterie.dsl.errors import InvalidPlan, RunRefused
from coterie.dsl.model.memory_terms import MAX_USER_LENGTH, STARTER
from coterie.dsl.paths import MISSING, Missing, get
from coterie.dsl.templates.template import plain_path
from coterie.dsl.values import Json
from coterie.workflows.core.senders import LOCAL_USER, Sender, SenderMethod

_PEOPLE: Final[tuple[SenderMethod, ...]] = ("oidc", "client", "token", "slack")
"""How the gateway verifies people and programs; webhooks and schedules start runs for nobody."""


def starter_of(header: bytes | None) -> str | None:
    """Return who started a run, by the header of its start; None if nobody says.

    A login name proves nothing, so it never equals the name of somebody whom the gateway verified.
    """
    if header is None:
        return None
    try:
        sender = Sender.model_validate_json(header)
    except ValidationError:
        return None
    name = sender.name or sender.subject
    if sender.method in _PEOPLE:
        return name
    if sender.method == "local":  # the same person as by a command
        return f"login:{name.removeprefix(LOCAL_USER)}"
    return f"login:{name}" if sender.method == "login" and sender.door != "schedule" else None


def user_of_run(source: str | None, context: Json, starter: str | None) -> str | None:
    """Return whose run it is; None if the plan does not say, or nobody verified who started it.

    Args:
        source: What the plan says: `starter`, or the template of a path of the context.
        context: As the run starts.
        starter: Who started it.

    Raises:
        InvalidPlan: It says something else.
        RunRefused: The context does not name a user.
    """
    if source is None:
        return None
    if source == STARTER:
        return None if starter is None else _check_user(starter, source)
    path = plain_path(source)
    if path is None or path[0] != "context" or len(path) < 2:
        raise InvalidPlan("the user of the plan is neither `starter` nor a path of the context")
    return _check_user(get(context, path[1:]), ".".join(path))


def _check_user(value: JsonValue | Missing, source: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        wanted = "is missing" if value is MISSING else "is not a text or a whole number"
        raise RunRefused(f"{source} names the user of the run, and {wanted}")
    if len(value) > MAX_USER_LENGTH or not value.isprintable():
        raise RunRefused(
            f"{source} names the user of the run: at most {MAX_USER_LENGTH} characters, and no "
            "control characters"
        )
    return value
