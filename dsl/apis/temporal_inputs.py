"""What a call sends to an activity, a workflow or a Nexus operation, from its input. Pure."""

import re
from collections.abc import Sequence

from coterie.dsl.apis.placeholders import fill_placeholders
from coterie.dsl.model.sections.api_document import PLACEHOLDER
from coterie.dsl.model.temporal_calls import TargetBase
from coterie.dsl.values import Json, JsonValue

MAX_ID_LENGTH = 300
"""Characters of the id of a workflow."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class InputRefused(Exception):
    """The input of a call cannot be sent; the message says why."""


def arguments_of(target: TargetBase, given: Json) -> Sequence[JsonValue]:
    """Return the arguments of a call: one object, or what the worker's configuration arranges."""
    if target.arguments is None:
        return (given,)
    return tuple(fill_placeholders(argument, given) for argument in target.arguments)


def workflow_id(template: str, given: Json) -> str:
    """Return the id of a workflow.

    Args:
        template: Its text, where `{name}` stands for an argument.
        given: The input of the call.

    Raises:
        InputRefused: An argument cannot be part of an id.
    """

    def part(found: re.Match[str]) -> str:
        name = found[1]
        value = given.get(name)
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise InputRefused(f"{name!r} is part of an id, so it is a text or a whole number")
        return str(value)

    id = PLACEHOLDER.sub(part, template)
    if len(id) > MAX_ID_LENGTH:
        raise InputRefused(f"the id has {len(id)} characters; {MAX_ID_LENGTH} are allowed")
    if _CONTROL.search(id) is not None:
        raise InputRefused("an id has no line ends or other control characters")
    return id
