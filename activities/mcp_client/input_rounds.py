"""Call a tool that asks: with the answers, again when the server has forgotten its question."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from coterie.activities.mcp_client.call_outcomes import InputAsked, McpCallRefused, ToolAnswer
from coterie.dsl.model.tools.asked_input import GivenInput
from coterie.dsl.values import Json

_MAX_ROUNDS = 10
"""Requests of one call: a server may want to be asked again without a question."""


class InputReply(NamedTuple):
    """What a call carries besides its arguments, once its server has asked."""

    answers: Mapping[str, Json]
    """By the key of the question."""
    state: str | None = None
    """What the server wants back."""
    within_call: bool = False
    """The server asks again within the call, and gets the answers there."""


async def call_with_input(
    call: Callable[[InputReply | None], Awaitable[ToolAnswer]],
    given: GivenInput | None,
    *,
    once: bool,
) -> ToolAnswer:
    """Make a call with a person's answers.

    A server that has forgotten the question refuses the answers. A call that may be repeated is
    then made anew, and the same question gets the same answer.

    Args:
        call: Sends it, with a reply.
        given: The answers.
        once: Whether it may happen only once.

    Raises:
        InputAsked: The tool asks something that no answer is for.
        McpCallRefused: The server refuses the call.
    """
    reply = None
    if given is not None:
        reply = InputReply(given.answers, given.asked.state, given.asked.within_call)
    forgotten = False
    for _ in range(_MAX_ROUNDS):
        try:
            return await call(reply)
        except McpCallRefused:
            if reply is None or reply.state is None or once or forgotten:
                raise
            reply, forgotten = None, True
        except InputAsked as question:
            request = question.asked
            if request is None or request.within_call or request.task is not None:
                raise
            if not request.questions:
                reply = InputReply({}, request.state)
            elif forgotten and given is not None and request.questions == given.asked.questions:
                reply, given = InputReply(given.answers, request.state), None
            else:
                raise
    raise McpCallRefused(f"the tool wants to be asked again after {_MAX_ROUNDS} requests")
