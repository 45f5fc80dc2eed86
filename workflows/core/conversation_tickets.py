"""Conversation tickets: calls take a conversation in the order in which they asked for it.

A ticket is of one call, from its request to its end. The state keeps the tickets by the location of
the call, in the order of the requests, so the order survives continue-as-new.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field


@dataclass(slots=True)
class ConversationTicket:
    """The place of one call in the queue of a conversation."""

    conversation: str
    is_back: Annotated[bool, Field(exclude=True)] = False
    """Whether its call waits or works in this history; one that has yet to come back does not."""


Tickets = Mapping[str, ConversationTicket]
"""`{location of a call: its ticket}`, in the order of the requests."""


def take_ticket(tickets: dict[str, ConversationTicket], conversation: str, key: str) -> None:
    """Put a call at the end of the queue, or where it stood before the run continued as new."""
    known = tickets.get(key)
    if known is None or known.conversation != conversation:
        tickets.pop(key, None)
        known = tickets[key] = ConversationTicket(conversation)
    known.is_back = True


def overtakes(tickets: Tickets, key: str) -> bool:
    """Return whether other calls asked for the conversation of a call before it."""
    own = tickets[key].conversation
    return next(at for at, one in tickets.items() if one.conversation == own) != key


def is_next(tickets: Tickets, key: str) -> bool:
    """Return whether it is the turn of a call: nobody asked before it, of those who are back.

    A ticket whose call does not come back, or comes back late, so never blocks the queue.
    """
    own = tickets[key].conversation
    waiting = (at for at, one in tickets.items() if one.conversation == own and one.is_back)
    return next(waiting) == key
