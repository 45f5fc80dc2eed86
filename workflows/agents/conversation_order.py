"""Conversations of a run: the agents of one conversation take turns.

The state holds the name of each conversation's latest turn; the worker stores its text.
"""

from collections.abc import Awaitable, Callable

from activities.contracts import AgentResponse, Conversation
from dsl.model.outcomes import Outcome
from dsl.model.steps import AgentStep
from dsl.templates.template_filling import fill
from workflows.core.location import Location
from workflows.core.scope import Scope

MAX_CONVERSATIONS = 1000
"""Maximum conversations of one run: the state keeps a line for each until the run ends."""

_MAX_NAME_LENGTH = 200

Turns = Callable[[Conversation], Awaitable[tuple[Outcome, AgentResponse | None]]]
"""An agent's turn with its re-asks: its outcome, and the answer if there is one."""


async def converse(step: AgentStep, place: Location, scope: Scope, turns: Turns) -> Outcome:
    """Run the agent's turn in its conversation, after any other turn of that conversation."""
    name = _name(step, place, scope)
    if isinstance(name, Outcome):
        return name
    state = scope.state
    while name in state.talking:
        await scope.wait_until(
            lambda: name not in state.talking, None, f"turn of {place.path} in {name}"
        )
    state.talking.append(name)
    try:
        head = state.conversations.get(name)
        window = Conversation(
            head=head, turns=step.conversation_turns, characters=step.conversation_characters
        )
        outcome, response = await turns(window)
        if outcome.success and response is not None and response.conversation is not None:
            state.conversations[name] = response.conversation
    finally:
        state.talking.remove(name)
    return outcome


def _name(step: AgentStep, place: Location, scope: Scope) -> str | Outcome:
    filled = fill(step.conversation, place.facts(scope).names())
    name = str(filled) if isinstance(filled, str | int) else ""
    if not name or len(name) > _MAX_NAME_LENGTH:
        return Outcome.failed(
            "NotAName",
            f"the conversation of {step.name!r} has no name: it is to be a text of 1 to "
            f"{_MAX_NAME_LENGTH} characters",
        )
    known = scope.state.conversations
    if name not in known and len(known) >= MAX_CONVERSATIONS:
        return Outcome.failed(
            "TooManyConversations",
            f"{step.name!r} would begin conversation {len(known) + 1} of this run, and "
            f"{MAX_CONVERSATIONS} are allowed",
        )
    return name
