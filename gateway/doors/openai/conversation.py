"""A conversation as a client resends it: which message is new, and which the session has. Pure.

The protocol names neither a conversation nor a message. So a message is the digest of everything up
to it: sent again, it is the same message. A conversation is the digest of its opening.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from coterie.gateway.operations.error_reports import Rejection

ChatRole = Literal["system", "developer", "user", "assistant"]
_DIGITS = 32


@dataclass(frozen=True, slots=True)
class ChatText:
    """One message of a conversation, as a client sends it."""

    role: ChatRole
    text: str


@dataclass(frozen=True, slots=True)
class UserTurn:
    """What the user wrote, with the id of the message."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class SentConversation:
    """What a client sends, and what of it is new."""

    opening: str
    """Digest of the conversation up to its first user message; the same in each request."""
    turn: UserTurn
    """The message that is asked for."""
    answered: UserTurn | None = None
    """The message that was answered last; None: there is none, and a session begins."""
    unanswered: tuple[UserTurn, ...] = ()
    """Messages after that one, before `turn`."""
    collects: bool = False
    """Whether `turn` was sent before, and its answer waited for a decision: the newest message only
    asks for that answer."""
    instructions: str = ""
    """The texts of the system and the developer."""
    texts: tuple[ChatText, ...] = ()

    def follows(self, last: str | None) -> bool:
        """Return whether a session may take it whose newest message has this id; None: no message.

        It may also have taken it already.
        """
        if last is None:
            return self.answered is None and not self.collects
        known = (self.turn, *self.unanswered, *(() if self.answered is None else (self.answered,)))
        return last in ([self.turn.id] if self.collects else [turn.id for turn in known])

    def text_after(self, last: str | None) -> str:
        """Return what to send to a session whose newest message has this id: all that it lacks."""
        ids = [turn.id for turn in self.unanswered]
        lacking = self.unanswered[ids.index(last) + 1 :] if last in ids else self.unanswered
        return "\n\n".join(turn.text for turn in (*lacking, self.turn))

    def whole_text(self) -> str:
        """Return the conversation for a session that has nothing of it, the newest message last."""
        answers = [place for place, one in enumerate(self.texts) if one.role == "assistant"]
        before = self.texts[: answers[-1] + 1] if answers else ()
        earlier = [f"{one.role}: {one.text}" for one in before if one.role in ("user", "assistant")]
        return "\n\n".join(
            ("The conversation so far:", *earlier, "The newest message:", self.text_after(None))
        )


def digest_of(*parts: str) -> str:
    """Return the digest of some texts."""
    return sha256(json.dumps(parts).encode()).hexdigest()[:_DIGITS]


def waiting_mark(message: str) -> str:
    """Return the fragment of the link in an answer that waits; by it the next request knows."""
    return f"#waits-{message[:16]}"


def conversation_of(texts: Sequence[ChatText], scope: Iterable[str]) -> SentConversation:
    """Read a conversation from its messages.

    Args:
        texts: All that the client sends, oldest first.
        scope: Whose conversation it is: others with the same texts are other conversations.

    Raises:
        Rejection: It does not end with a message of the user.
    """
    digest = digest_of(*scope)
    opening = ""
    answered: UserTurn | None = None
    unanswered: list[UserTurn] = []
    collects = False
    for one in texts:
        digest = digest_of(digest, one.role, one.text)
        if one.role == "user":
            opening = opening or digest
            unanswered.append(UserTurn(digest, one.text))
        elif one.role == "assistant":
            if unanswered and not collects:
                answered = unanswered[-1]
            unanswered = []
            collects = answered is not None and waiting_mark(answered.id) in one.text
    if not unanswered or texts[-1].role == "assistant":
        raise Rejection(
            422, "invalid", "the last message must be one of the user", "End with `role: user`."
        )
    instructions = "\n\n".join(one.text for one in texts if one.role in ("system", "developer"))
    if collects and answered is not None:
        return SentConversation(
            opening, answered, collects=True, instructions=instructions, texts=tuple(texts)
        )
    return SentConversation(
        opening,
        unanswered[-1],
        answered,
        tuple(unanswered[:-1]),
        instructions=instructions,
        texts=tuple(texts),
    )
