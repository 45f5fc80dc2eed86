"""How a model may use tools: which one it must choose, and what its policy demands."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from coterie.dsl.model.template_bound import MAX_TURNS
from coterie.dsl.values import Frozen

DEFAULT_MAX_TURNS = 10
"""Model turns with tools; one more without them gives the answer."""


class NamedTool(Frozen):
    """The one tool that the model must call."""

    tool: str


def _choice_form(value: object) -> str:
    return "literal[mapping]" if isinstance(value, Mapping | Frozen) else "literal[word]"


ToolChoice = Annotated[
    Annotated[NamedTool, Tag("literal[mapping]")]
    | Annotated[Literal["auto", "required", "none"], Tag("literal[word]")],
    Discriminator(_choice_form),
]
"""Which call the model makes in a turn: as it likes, at least one, none, or one of this tool."""

ToolCalls = Literal["execute", "return"]
"""What happens to the calls of a turn: the run executes them, or they are the agent's answer."""


def _tools_form(value: object) -> str:
    return "literal[word]" if isinstance(value, bool) else "literal[list]"


CodeModeTools = Annotated[
    Annotated[tuple[str, ...], Tag("literal[list]")] | Annotated[bool, Tag("literal[word]")],
    Discriminator(_tools_form),
]
"""Which tools code calls: all, none, or those that are named."""

ToolSearch = Literal["auto", "always", "never"]
"""When a model finds its tools by search: if they take more than a tenth of its context window,
always, or never."""

TOOL_SEARCH = "tool_search"
"""The constant tool by which a model finds its other tools."""
CALL_FOUND = "call_found"
"""The constant tool by which it calls one of these."""
CONSTANT_TOOLS = (TOOL_SEARCH, CALL_FOUND)


class ToolPolicy(Frozen):
    """What the run demands of the calls of one tool, whatever the model decides."""

    tool: str
    min_calls: int = Field(default=0, ge=0, le=MAX_TURNS)
    """The agent's answer counts only after this many calls."""
    max_calls: int | None = Field(default=None, ge=1, le=1_000_000)
    """Calls beyond this number are refused. Default: no bound."""
    require_success: bool = False
    """Only successful calls count for `min_calls`; without `min_calls`, the last call must have
    succeeded."""
    exit_on_success: bool = False
    """The agent ends with the first successful result as its data."""
