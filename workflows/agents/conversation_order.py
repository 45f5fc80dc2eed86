"""Conversations of a run: the agents of one conversation take turns, in the order of requests.

The state holds the name of each conversation's latest turn; the worker stores its text.
"""

from collections.abc import Awaitable, Callable

from coterie.activities.contracts import AgentResponse, ContextUse, Conversation, TokenUsage
from coterie.dsl.evaluate.conversation_names import MAX_CONVERSATION_NAME, name_of_conversation
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.step_kinds.agent_step import AgentStep
from coterie.dsl.templates.template_filling import fill
from coterie.workflows.core.location import Location, Skipped
from coterie.workflows.core.progress.step_progress import is_next, overtakes, take_ticket
from coterie.workflows.core.scope import Interrupted, Scope
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import StateKey

MAX_CONVERSATIONS = 1000
"""Maximum conversations of one run: the state keeps a line for each until the run ends."""


Turns = Callable[[Conversation], Awaitable[tuple[Outcome, AgentResponse | None]]]
"""An agent's turn with its re-asks: its outcome, and the answer if there is one."""


async def converse(step: AgentStep, location: Location, scope: Scope, turns: Turns) -> Outcome:
    """Run the agent's turn in its conversation, after any other turn of that conversation."""
    name = conversation_name(step, location, scope)
    if isinstance(name, Outcome):
        return name

    async def turn() -> Outcome:
        conversations = scope.state.conversations
        head = conversations.get(name)
        window = conversation_window(step, head)
        unsent = scope.state.unsent_results.get(name)
        if unsent:
            window = window.model_copy(update={"left": tuple(unsent)})
        outcome, response = await turns(window)
        if response is None or response.conversation is None:
            return outcome
        head, context = response.conversation, response.context
        keep_conversation(scope.state, name, head, context, response.usage)
        scope.state.unsent_results.pop(name, None)  # the calls are not the latest turn any more
        return outcome

    return await hold_conversation(name, location, scope, turn)


def keep_conversation(
    state: RunState,
    name: str,
    head: str,
    context: ContextUse | None,
    usage: TokenUsage | None = None,
) -> None:
    """Keep the latest turn of a conversation, and how full it is if somebody compacts it.

    Args:
        state: of the run.
        name: of the conversation.
        head: the name of its latest turn.
        context: how full it is; None after a turn of a persona that does not compact it.
        usage: of that turn.
    """
    state.conversations[name] = head
    previous_use = state.conversation_sizes.get(name)
    if context is None and previous_use is not None:
        tokens = previous_use.tokens if usage is None else usage.input_tokens + usage.output_tokens
        context = previous_use.model_copy(
            update={"tokens": tokens, "turns": previous_use.turns + 1}
        )
    if context is not None:
        state.conversation_sizes[name] = context


def conversation_window(step: AgentStep, head: str | None) -> Conversation:
    """Return where an agent continues its conversation, and how much of it the model gets."""
    return Conversation(
        head=head, turns=step.conversation_turns, characters=step.conversation_characters
    )


async def hold_conversation(
    name: str, location: Location, scope: Scope, work: Callable[[], Awaitable[Outcome]]
) -> Outcome:
    """Do the work when it is this call's turn in the conversation, in the order of requests.

    A run that continues as new comes back here: a call that waits keeps its place, and one in the
    middle of its work continues.
    """
    state, key = scope.state, location.key
    if _holder_around(name, location, state) is not None:
        return Outcome.failed(
            "ConversationBusy",
            f"{location.name!r} cannot continue the conversation {name!r}: an agent that called it "
            "has its turn there",
        )
    tickets = state.progress.conversation_tickets
    take_ticket(tickets, name, key)
    keeps_place = False
    try:
        await _until_turn(name, location, scope)
        state.talking.append(name)
        try:
            return await work()
        finally:
            state.talking.remove(name)
    except Interrupted:
        keeps_place = not _is_in_progress(key, state)
        raise
    finally:
        if keeps_place:
            tickets[key].is_back = False
        else:
            tickets.pop(key, None)


async def _until_turn(name: str, location: Location, scope: Scope) -> None:
    """Wait until the conversation is free and no call that asked before still waits for it.

    A call that is in progress has its turn. No other one begins while the run is paused.

    Raises:
        Skipped: a person skipped the step meanwhile.
    """
    state, key = scope.state, location.key
    tickets = state.progress.conversation_tickets
    if _is_in_progress(key, state):
        while _is_held(name, location, state):
            await _until(lambda: not _is_held(name, location, state), name, location, scope)
        return
    while _is_held(name, location, state) or _is_paused(scope):
        await _until(lambda: not _is_held(name, location, state), name, location, scope)
    if not overtakes(tickets, key):
        return

    def is_turn() -> bool:
        return not _is_held(name, location, state) and is_next(tickets, key)

    await scope.settle()  # calls of the history before come back first
    while not is_turn():
        await _until(is_turn, name, location, scope)


async def _until(is_turn: Callable[[], bool], name: str, location: Location, scope: Scope) -> None:
    """Wait until it is the turn of a call and the run is not paused, unless a person skips it."""
    state, step = scope.state, location.step

    def is_over() -> bool:
        return step in state.skips or (state.paused is None and is_turn())

    await scope.wait_until(is_over, None, f"turn of {location.path} in {name}")
    if step in state.skips:
        raise Skipped(state.skips.pop(step).value)


def _is_paused(scope: Scope) -> bool:
    """Return whether a call that may begin now stands still until a person resumes the run."""
    return scope.state.paused is not None


def _is_in_progress(key: str, state: RunState) -> bool:
    """Return whether the call is between two turns, or waits for a batch: it has its turn."""
    progress = state.progress
    return key in progress.tool_loops or key in progress.parked_turns


def _is_held(name: str, location: Location, state: RunState) -> bool:
    """Return whether another agent has its turn, is between two turns, or waits for a batch."""
    if name in state.talking:
        return True
    loops, parked = state.progress.tool_loops, state.progress.parked_turns
    return any(
        holder.conversation == name and key != location.key
        for holding in (loops, parked)
        for key, holder in holding.items()
    )


def _holder_around(name: str, location: Location, state: RunState) -> str | None:
    """Return the agent of that conversation that called this one: it cannot wait for itself."""
    loops = state.progress.tool_loops
    key = location.key
    return next(
        (
            loop_key
            for loop_key, loop in loops.items()
            if loop.conversation == name and loop_key != key and StateKey(loop_key).holds(key)
        ),
        None,
    )


def conversation_name(step: AgentStep, location: Location, scope: Scope) -> str | Outcome:
    """Return the name of the step's conversation, or the failure of one that cannot begin."""
    filled = fill(step.conversation, location.facts(scope).names())
    name = name_of_conversation(filled)
    if name is None:
        return Outcome.failed(
            "NotAName",
            f"the conversation of {step.name!r} has no name: it is to be a text of 1 to "
            f"{MAX_CONVERSATION_NAME} characters",
        )
    conversations = scope.state.conversations
    if name not in conversations and len(conversations) >= MAX_CONVERSATIONS:
        return Outcome.failed(
            "TooManyConversations",
            f"{step.name!r} would begin conversation {len(conversations) + 1} of this run, and "
            f"{MAX_CONVERSATIONS} are allowed",
        )
    return name
