"""What a call of an MCP server came to: an answer, or a failure by what is known of the call."""

from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.model.capabilities import ServerTool
from coterie.dsl.model.tools.asked_input import AskedInput


class ToolAnswer(NamedTuple):
    """The result of a call."""

    data: JsonValue
    failed: bool = False
    """The tool says that it failed, and `data` is its text."""
    text: str = ""
    """What it says beside its data, for a model."""


class UnusableTool(NamedTuple):
    """A tool that cannot be offered."""

    name: str
    why: str


class FoundServerTools(NamedTuple):
    """What a server offers now."""

    tools: tuple[ServerTool, ...]
    left_out: tuple[UnusableTool, ...]


class ServerUnreachable(Exception):
    """The call was never sent; it may succeed later."""


class SignInNeeded(ServerUnreachable):
    """The server wants a person to sign in before it takes the call."""


class CallLost(Exception):
    """The call was sent, and no answer came: whether it happened is not known."""


class TaskForgotten(Exception):
    """The server does not know its task any more: whether the call happened is not known."""


class McpCallRefused(Exception):
    """The server refused the call, or answered what the protocol does not allow."""


class ResultInvalid(Exception):
    """The tool answered, and the result does not match its own schema.

    Attributes:
        said: The result.
    """

    def __init__(self, message: str, said: JsonValue) -> None:
        self.said = said
        super().__init__(message)


class ToolDrifted(Exception):
    """The server offers another tool under this name than the plan was compiled with."""


class InputAsked(Exception):
    """The tool asks a person something before it continues.

    Attributes:
        asked: The questions; None if no form can hold their answer.
        certain: Whether this call asks, and not one beside it on the same connection.
        begun: Whether the tool asks in the middle of its work.
    """

    def __init__(
        self,
        message: str,
        asked: AskedInput | None,
        *,
        certain: bool = True,
        begun: bool = False,
    ) -> None:
        self.asked = asked
        self.certain = certain
        self.begun = begun
        super().__init__(message)
