"""What the MCP server needs of its callers and of further tools. Knows nothing of the protocol."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import JsonValue

from coterie.dsl.model.capabilities import ServerTool
from coterie.dsl.values import Json
from coterie.failures import CommandError

CALLER = "coterie_caller"
"""The key of a `VerifiedCaller` in the state of an ASGI scope; its names count, and not the one
that a client chooses."""

CallerRole = Literal["viewer", "starter", "operator", "approver"]


class ToolSet(Protocol):
    """Tools beside those of the teams, for one caller."""

    @property
    def names(self) -> Set[str]:
        """The names of all its tools."""
        ...

    def listing(self) -> Sequence[ServerTool]:
        """Return the tools that the caller may call."""
        ...

    async def call(self, name: str, arguments: Json) -> JsonValue:
        """Call one of them, and return what it answers.

        Raises:
            CommandError: The call is refused.
            InvalidDocument: A document has problems.
        """
        ...


Permits = Callable[[Sequence[CallerRole], str], str | None]
"""Returns why a caller has none of the roles for a team: None if it has one, and an empty text if
it may not even learn that the team exists."""


class CallerLacksRole(CommandError):
    """A verified caller has none of the roles that a call needs."""


@dataclass(frozen=True, slots=True)
class VerifiedCaller:
    """Who sends a request, where the HTTP server verifies it."""

    name: str
    """Of the sender of messages."""
    approver: str
    """The name with which it decides approvals; empty: it decides none."""
    permits: Permits
    note_refusal: Callable[[], None]
    """Has the audit log know that a call was refused."""
    tool_sets: tuple[ToolSet, ...] = ()
    """Those beside the tools of the teams, as far as it may use them."""
