"""The terms of one tool loop: what its model may call, how often, and what must happen."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from coterie.dsl.model.tools.tool_use import ToolPolicy
from coterie.dsl.model.traversal.code_mode import CodeMode
from coterie.dsl.tool_loop.exchange import ToolChoiceWord
from coterie.dsl.values import Json

MAX_CALLS_OF_TURN = 100
"""Calls of one turn that may run; further ones get a result that says so."""

MAX_CALLS_OF_CODE = 100
"""Calls that the code of one turn may make; further ones fail in the code."""

MAX_SEARCHES_OF_TURN = 10
"""Searches for tools of one turn, whose results stand in the next request."""

MAX_REFUSED_OF_CODE = 100
"""Calls by the code of one turn that may be refused; with one more, the code ends."""

REMINDED_AT = 3
"""Equal calls with equal results after which the model is reminded."""

REFUSED_AT = 5
"""The equal call that no longer runs."""


@dataclass(frozen=True, slots=True)
class LoopTerms:
    """How one agent uses its tools."""

    tools: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """`{tool: the schema of its arguments}`."""
    code: CodeMode | None = None
    """Which tools the code of the model calls; None if it calls none."""
    by_code: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """`{tool that this code calls: the schema of its arguments}`."""
    deferred: tuple[str, ...] = ()
    """Those of `tools` that the model finds by search; it may call each of them nevertheless."""
    handoffs: Mapping[str, str] = field(default_factory=dict[str, str])
    """`{name that the model calls: team}`."""
    max_turns: int = 10
    choice: ToolChoiceWord = "auto"
    chosen: str | None = None
    """The tool that the first call must name; replaces `choice`."""
    returns: bool = False
    """Whether the calls are the step's data, and not executed."""
    policies: tuple[ToolPolicy, ...] = ()
    max_reasks: int = 0

    @property
    def sent(self) -> tuple[str, ...]:
        """Those of `tools` whose schemas every request has."""
        deferred = frozenset(self.deferred)
        return tuple(name for name in self.tools if name not in deferred)

    def policy(self, tool: str) -> ToolPolicy:
        """Return the policy of a tool, which demands nothing where none is written."""
        return next(
            (policy for policy in self.policies if policy.tool == tool), ToolPolicy(tool=tool)
        )
