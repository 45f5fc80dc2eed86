"""Where the text of a message belongs: which input of a team, which message of a session. Pure.

Every door asks here, so that one text means the same through each of them.
"""

from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from coterie.dsl.errors import listed
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.traversal.step_walk import message_waits
from coterie.dsl.paths import MISSING, get, parse, put
from coterie.dsl.strict_json import read_json
from coterie.dsl.values import Json
from coterie.gateway.operations.error_reports import Rejection

MESSAGE: Final = "message"
"""The declared path of the context that takes a text before all others."""


class NoTextInput(Rejection):
    """The team does not say where the text of a message belongs."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(422, "no_message", message, fix)


def start_context(plan: Plan, team: str, given: Json, text: str) -> Json:
    """Return the context with which the text of a message starts a run.

    Args:
        plan: What starts.
        team: Its name.
        given: The inputs that come beside the text, which it never replaces.
        text: What was written.

    Raises:
        Rejection: No input takes it, or several do.
    """
    return with_input(given, text_input(plan, team, given), text)


def text_input(plan: Plan, team: str, given: Json) -> str:
    """Return the path of the context that takes a text.

    It is `message`; else the only text that the team requires; else, if it requires none, the only
    text that it declares. What is given already does not count.

    Raises:
        Rejection: There is none, or there are several.
    """
    open_paths = [
        path
        for path in input_paths(plan)
        if takes_text(_schema_of(plan, path)) and get(given, parse(path)) is MISSING
    ]
    if MESSAGE in open_paths:
        return MESSAGE
    required = [path for path in open_paths if _is_required(plan, path)]
    chosen = required or open_paths
    if len(chosen) == 1:
        return chosen[0]
    reason = f"{listed(chosen)} take one" if chosen else "none that is missing takes one"
    raise NoTextInput(
        f"the message has a text, and the inputs of the team {team!r} do not say where it belongs: "
        f"{reason}",
        f"Declare the input `{MESSAGE}` as a text, or give the inputs by their names.",
    )


def message_schemas(plan: Plan) -> tuple[Json, ...]:
    """Return the schemas of the messages that a run waits for; `None`: it is not a session."""
    return tuple(wait.schema_ or {} for wait in message_waits(plan))


def session_message(schemas: Sequence[Json], text: str) -> JsonValue:
    """Return what a session gets for a text: the text, or the JSON in it where it takes no text.

    Args:
        schemas: Of the messages that it waits for.
        text: What was written.

    Raises:
        Rejection: It takes no text, and there is no JSON in it.
    """
    takes = [takes_text(schema) for schema in schemas]
    if all(takes):
        return text
    try:
        return read_json(text)
    except ValueError as error:
        if any(takes):
            return text
        raise Rejection(
            422,
            "invalid",
            f"the messages of this session are JSON, and the text cannot be read as JSON: {error}",
            "Send a message that fits the schema of the step that waits for it.",
        ) from None


def input_paths(plan: Plan) -> tuple[str, ...]:
    """Return the paths of the context that a start gives: declared, or else needed."""
    return tuple(plan.context) or tuple(plan.needs)


def takes_text(schema: Json) -> bool:
    """Return whether a schema takes a text, as far as its type says."""
    kind = schema.get("type")
    if isinstance(kind, list):
        return "string" in kind
    return kind == "string" or (kind is None and "properties" not in schema)


def input_takes_text(plan: Plan, path: str) -> bool:
    """Return whether an input takes a text."""
    return takes_text(_schema_of(plan, path))


def with_input(context: Json, path: str, value: JsonValue) -> Json:
    """Return a context with a value at a path."""
    try:
        return put(context, parse(path), value)
    except ValueError as error:
        raise Rejection(422, "invalid", f"the input {path!r} has no place: {error}") from None


def _schema_of(plan: Plan, path: str) -> Json:
    return plan.context[path].schema_ if path in plan.context else {}


def _is_required(plan: Plan, path: str) -> bool:
    return path not in plan.context or plan.context[path].required
