"""The terms of one tool loop: what its model may call, how often, and what must happen."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dsl.tool_loop.exchange import ToolChoiceWord
from dsl.values import Json

MAX_CALLS_OF_TURN = 100
"""Calls of one turn that may run; further ones get a result that says so."""

REMINDED_AT = 3
"""Equal calls with equal results after which the model is reminded."""

REFUSED_AT = 5
"""The equal call that no longer runs."""


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """What must and may happen with one tool."""

    tool: str
    min_calls: int = 0
    """Calls before the agent may end; successful ones with `require_success`."""
    max_calls: int | None = None
    require_success: bool = False
    """Calls that failed do not count; without `min_calls`, one call is enough."""
    exit_on_success: bool = False
    """Its first success ends the loop, and its result is the step's data."""

    @property
    def wanted(self) -> int:
        """How many calls must count before the agent may end."""
        return max(self.min_calls, 1) if self.require_success else self.min_calls


@dataclass(frozen=True, slots=True)
class LoopTerms:
    """How one agent uses its tools."""

    tools: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """`{tool: the schema of its arguments}`."""
    handoffs: Mapping[str, str] = field(default_factory=dict[str, str])
    """`{name that the model calls: team}`."""
    max_turns: int = 10
    choice: ToolChoiceWord = "auto"
    chosen: str | None = None
    """The tool that the first call must name; replaces `choice`."""
    returns: bool = False
    """Whether the calls are the step's data, and not executed."""
    policies: tuple[CallPolicy, ...] = ()
    max_reasks: int = 0

    def policy(self, tool: str) -> CallPolicy:
        """Return the policy of a tool."""
        return next((one for one in self.policies if one.tool == tool), CallPolicy(tool))
