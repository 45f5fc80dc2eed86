"""What a model and a tool loop exchange: offered tools, calls, and results. Frozen and small.

These types travel in requests and responses, so a run's history holds them: only ever add optional
fields. A result travels as a short text, or as the name of a stored value.
"""

from typing import Literal

from pydantic import Field, JsonValue

from coterie.dsl.values import Frozen, Json

ToolChoiceWord = Literal["auto", "required", "none"]
"""`auto`: the model may call tools; `required`: it must; `none`: it must not."""


class OfferedTool(Frozen):
    """A tool as a model sees it."""

    name: str
    description: str = ""
    input_schema: Json = Field(default_factory=dict[str, JsonValue])


class ToolCallRequest(Frozen):
    """A call that a model asks for."""

    tool: str
    arguments: Json = Field(default_factory=dict[str, JsonValue])
    problem: str | None = None
    """Why its arguments cannot be read; then there are none."""


class ToolResult(Frozen):
    """The result of a call, as the model gets it."""

    text: str = ""
    kept: str | None = None
    """The name of a stored value, which follows the text."""
    size: int = Field(default=0, exclude=True)
    """Bytes of the stored value, for the estimate of the next turn; it does not travel."""
    max_result: int | None = Field(default=None, exclude_if=lambda bound: bound is None)
    """Characters of it that the model gets; None for a share of its context window."""
    failed: bool = False


class ToolTurn(Frozen):
    """The part of a model turn that concerns tools."""

    offered: tuple[OfferedTool, ...] = ()
    """In the first turn of a step only; later turns read them from the conversation."""
    continues: bool = False
    """Whether this is a later turn of its step."""
    results: tuple[ToolResult, ...] = ()
    """Of the calls of the turn before, in the order of the calls."""
    choice: ToolChoiceWord = "auto"
    tool: str | None = None
    """The one tool that the model must call; replaces `choice`."""
    parallel: bool = True
    """Whether the model may ask for several calls at once."""
    planned: str | None = None
    """`provider/model` of the persona, in the first turn of a step that a fallback answers."""
