"""Senders: who sent a message to a run, how we know, and from where.

Nobody's rights depend on it; a memory of the scope `user` does.

It travels beside the message, in a header of the same event, so that no message needs a field for
it. Anyone who may write to the server may claim any name: only a signed decision proves one.
"""

from typing import Annotated, Final, Literal

from pydantic import Field

from coterie.dsl.sizes import MAX_BY_LENGTH
from coterie.dsl.values import Frozen

SENDER: Final = "coterie-sender"
"""The header of a start, a signal or an update that holds its `Sender`."""

Door = Literal[
    "a2a", "agui", "api", "console", "host", "mcp", "openai", "schedule", "slack", "webhook"
]
"""Through which a message came; `host`: a command or a program on a machine; `schedule`: a
schedule, for the one who deployed it."""

SenderMethod = (
    Literal["local", "oidc", "client", "token", "slack", "login"]
    | Literal["standard-webhooks", "github", "stripe", "hmac"]
)
"""How a sender was verified: as the gateway verifies identities; by the login name on the host,
which proves nothing; or by the signature of a webhook."""

MAX_ADDRESS: Final = 100

LOCAL_USER: Final = "local user "
"""Before the login name, in the name of the person to whom a gateway on one machine belongs."""


class Sender(Frozen):
    """Who sent a message."""

    subject: Annotated[str, Field(max_length=MAX_BY_LENGTH)]
    name: Annotated[str, Field(max_length=MAX_BY_LENGTH)] = ""
    """The verified name with which it decides requests, if that is another one."""
    method: SenderMethod
    address: Annotated[str, Field(max_length=MAX_ADDRESS)] = ""
    """Of the client; of a host, its name."""
    door: Door

    @property
    def text(self) -> str:
        """The sender for people: `ann@example.com (oidc) from 10.0.0.7 by console`."""
        place = f" from {self.address}" if self.address else ""
        return f"{self.name or self.subject} ({self.method}){place} by {self.door}"
