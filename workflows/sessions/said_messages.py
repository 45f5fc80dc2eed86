"""What people tell agents at work: which agent takes it, and what its next turn reads. Pure.

A message waits at the location of its agent until a turn that has it is stored. So a turn that is
repeated, or a run that continues as new, neither loses nor doubles it.
"""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from coterie.dsl.errors import closest
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.traversal.step_walk import message_waits
from coterie.dsl.sizes import MAX_SAID_LENGTH, json_size
from coterie.dsl.tool_loop.tool_loop_progress import ModelAnswered
from coterie.dsl.visible import shortened_text
from coterie.workflows.control.steering_refusals import (
    AgentAmbiguous,
    AgentUnknown,
    MessageUnusable,
    NoAgentAtWork,
    SteeringRefusal,
    TooMuchSaid,
)
from coterie.workflows.core.causes.people_causes import MessagesRead, PersonSaid
from coterie.workflows.core.messages import SayInput, SessionInput
from coterie.workflows.core.progress.agent_progress import SaidMessage
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import StateKey
from coterie.workflows.core.state_parts import SessionMessage
from coterie.workflows.core.trail import note_control
from coterie.workflows.sessions.message_queue import unfit_message

MAX_UNREAD = 20
"""Messages that wait for the next turn of one agent."""

MAX_SAID_SIZE = 200_000
"""Bytes of JSON of all messages to the agents at work, also of those that they have read."""

_SHOWN = 200


def agents_at_work(state: RunState) -> tuple[StateKey, ...]:
    """Return the agents whose next turn would read a message: they use tools, and continue."""
    return tuple(
        StateKey(key)
        for key, progress in state.progress.tool_loops.items()
        if progress.loop.end is None or isinstance(progress.loop.end, ModelAnswered)
    )


def main_agent(state: RunState) -> StateKey | None:
    """Return the agent at work that no other one has called as a tool; None if there is no one."""
    working = agents_at_work(state)
    outermost = [
        key for key in working if not any(key != other and other.holds(key) for other in working)
    ]
    return outermost[0] if len(outermost) == 1 else None


def say_refusal(state: RunState, asked: SayInput) -> SteeringRefusal | None:
    """Return why no agent takes this message, or None."""
    if not asked.text.strip():
        return MessageUnusable("BadMessage", "the text is empty")
    agent = _agent_of(state, asked)
    return room_refusal(state, agent, asked.text) if isinstance(agent, StateKey) else agent


def say(state: RunState, asked: SayInput, now: datetime) -> str:
    """Keep a message for the next turn of its agent; return the step of the agent."""
    agent = _agent_of(state, asked)
    assert isinstance(agent, StateKey), "a message that is refused is not kept"
    keep_said(state, agent, SaidMessage(asked.text, asked.by), now)
    return agent.step


def room_refusal(state: RunState, agent: StateKey, text: str) -> TooMuchSaid | None:
    """Return why there is no room for one more message to an agent, or None."""
    said = state.progress.said
    size = sum(json_size(one.text) for messages in said.values() for one in messages)
    if sum(not one.is_read for one in said.get(agent, ())) >= MAX_UNREAD:
        return TooMuchSaid("TooMuchSaid", agent.step, MAX_UNREAD)
    if size + json_size(text) > MAX_SAID_SIZE:
        return TooMuchSaid("TooMuchSaid", agent.step, MAX_SAID_SIZE, is_size=True)
    return None


def joined_agent(state: RunState, asked: SessionInput, plan: Plan) -> StateKey | None:
    """Return the agent that reads a message to a session at its next turn; None: it waits.

    It never overtakes a message that waits. No step takes it, so it fits all that wait for
    messages. A run that takes only signed steering lets its own steps say that messages steer.
    """
    session = state.session
    if session.open is None or session.queue:
        return None
    may_steer = session.steers or (asked.while_busy == "steer" and state.authority is None)
    if asked.while_busy == "queue" or not may_steer:
        return None
    if any(unfit_message(asked.message, wait.schema_) for wait in message_waits(plan)):
        return None
    agent, text = main_agent(state), _session_text(asked)
    if agent is None or not text.strip() or len(text) > MAX_SAID_LENGTH:
        return None
    return agent if room_refusal(state, agent, text) is None else None


def join(state: RunState, agent: StateKey, id: str, asked: SessionInput, now: datetime) -> None:
    """Let a message join the one that the run works on, for its agent."""
    session = state.session
    assert session.open is not None, "it joins a message"
    session.open.joined.append(SessionMessage(id, asked.message, asked.by))
    session.joined += 1
    keep_said(state, agent, SaidMessage(_session_text(asked), asked.by, id), now)


def _session_text(asked: SessionInput) -> str:
    """Return what a model reads of a message to a session."""
    if isinstance(asked.message, str):
        return asked.message
    return json.dumps(asked.message, ensure_ascii=False)


def keep_said(state: RunState, agent: StateKey, message: SaidMessage, now: datetime) -> None:
    """Keep a message that has room for the next turn of an agent, and note who said it."""
    state.progress.said.setdefault(agent, []).append(message)
    cause = PersonSaid("said", agent.step, message.by, _short_text(message))
    note_control(state, now, cause, status="said")


def unread(state: RunState, agent: StateKey) -> list[SaidMessage]:
    """Return what the next turn of an agent reads, in the order in which it came."""
    joined = () if state.session.open is None else state.session.open.joined
    ids = {message.id for message in joined}
    return [
        message
        for message in state.progress.said.get(agent, ())
        if not message.is_read and (not message.id or message.id in ids)
    ]


def mark_read(state: RunState, agent: StateKey, count: int, turn: int) -> MessagesRead:
    """Note that a stored turn of an agent has the first messages that it had not read."""
    read = unread(state, agent)[:count]
    for message in read:
        message.is_read = True
    ids = {message.id for message in read if message.id}
    for joined in () if state.session.open is None else state.session.open.joined:
        joined.is_read = joined.is_read or joined.id in ids
    return _read_cause(turn, read)


def read_again(state: RunState, agent: StateKey) -> None:
    """Let an agent that begins anew, without its conversation, read again what it got."""
    for message in state.progress.said.get(agent, ()):
        message.is_read = False


def leave_said(state: RunState, agent: StateKey, *, may_repeat: bool) -> MessagesRead | None:
    """Return what an agent that ends has not read, or None; its step may have another attempt."""
    left = unread(state, agent)
    if not may_repeat:
        state.progress.said.pop(agent, None)
    return _read_cause(0, left) if left else None


def _read_cause(turn: int, messages: Sequence[SaidMessage]) -> MessagesRead:
    senders = tuple(dict.fromkeys(message.by for message in messages))
    texts = tuple(map(_short_text, messages))
    return MessagesRead("messages_read" if turn else "messages_unread", turn, senders, texts)


def _short_text(message: SaidMessage) -> str:
    return shortened_text(" ".join(message.text.split()), _SHOWN)


def _agent_of(
    state: RunState, asked: SayInput
) -> StateKey | NoAgentAtWork | AgentUnknown | AgentAmbiguous:
    """Return the agent that a message is for, or why it is for none."""
    working = agents_at_work(state)
    if not working:
        return NoAgentAtWork(tuple(state.doing)[:MAX_UNREAD])
    named = _names(working)
    if asked.step is None:
        agent = main_agent(state)
        return AgentAmbiguous(None, tuple(named)) if agent is None else agent
    meant = _agents_named(named, asked.step)
    if len(meant) > 1:
        return AgentAmbiguous(asked.step, tuple(_names(meant)))
    if meant:
        return meant[0]
    return AgentUnknown(asked.step, tuple(named), closest(asked.step, named))


def _names(agents: Sequence[StateKey]) -> dict[str, StateKey]:
    """Return the agents by `team/step`; with the visit, `team/step#2`, where several have one."""
    counts = Counter(str(agent.step) for agent in agents)
    return {
        agent.step if counts[agent.step] == 1 else f"{agent.step}#{agent.visit_number}": agent
        for agent in agents
    }


def _agents_named(named: dict[str, StateKey], name: str) -> list[StateKey]:
    """Return the agents of a name: a whole one first, then those that it is an end of."""
    base, _, visit = name.rpartition("#")
    agents = list(named.values())
    if base and visit.isdecimal():
        agents = [agent for agent in agents if agent.visit_number == visit]
        name = base
    exact = [agent for agent in agents if agent.step == name]
    return exact or [agent for agent in agents if agent.step.is_called(name)]
