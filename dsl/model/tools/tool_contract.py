"""A tool of a plan: what it is made of, and the contract under which it is called.

Defaults are those of plans in existing histories, which knew tools made of skills alone.
"""

from typing import Annotated, Literal, NamedTuple, get_args

from pydantic import Field, JsonValue, model_validator

from coterie.dsl.model.capabilities import Effect, KeptLabel, Label
from coterie.dsl.model.step_kinds.step_base import SkillTerms
from coterie.dsl.model.terms import Approval
from coterie.dsl.values import Frozen, Json, Timeout

ToolKind = Literal["skill", "agent", "team", "function", "mcp"]
"""What a tool can be made of; the key that says so has the same name."""
TOOL_KINDS: tuple[ToolKind, ...] = get_args(ToolKind)

OnToolError = Literal["surface", "retry"]
"""What a failed call of an agent or a team becomes: a result for the model at once, or a new
attempt first."""


MaxResult = Annotated[int, Field(ge=100, le=100_000_000)]
"""Characters of a result that a model gets."""


class MemoryRead(Frozen):
    """An edge of the memory graph: what a tool reads of another tool's work."""

    source: str = Field(alias="from")
    """The tool whose work is read; it must be made of an agent."""
    publish: Literal["final", "tool_result"] = "final"
    """`final`: its accepted answers; `tool_result`: also the results of its own tools."""


class ToolOrigin(NamedTuple):
    """What a tool is made of."""

    kind: ToolKind
    name: str


class Tool(Frozen):
    """A tool: a named capability with a contract, that a model may choose and a plan may call."""

    skill: str | None = None
    """`Name.method`. A tool has exactly one of this and the next four."""
    agent: str | None = None
    """A persona of the plan; a call is a subagent."""
    team: str | None = None
    """A team of the plan; a call runs it to its end."""
    function: str | None = None
    """`package.module:name` of a function that the worker allows."""
    mcp: str | None = None
    """`server/tool` of a server that the worker configures."""
    description: str = ""
    fixed: Json = Field(default_factory=dict[str, JsonValue])
    """Merged over the arguments; a caller cannot change it."""
    requires_approval: Approval = False
    terms: SkillTerms | None = None
    """Effect, time limit and retries of a call that is one activity; set by the compiler."""
    timeout: Timeout | None = None
    """Time limit of a whole call of an agent or a team."""
    retries: int = Field(default=0, ge=0, le=100)
    """Additional attempts of a whole call of an agent or a team, with `on_error: retry`."""
    on_error: OnToolError = "surface"
    """What a failed call of an agent or a team becomes."""
    input_schema: Json | None = None
    """JSON Schema of the arguments that a caller gives, without what is `fixed`; None for a skill
    that no model may call."""
    offered_schema: Json | None = None
    """What a model sees instead of `input_schema`, because some vendor refuses that; a call has the
    names of `input_schema` again before it is checked."""
    output_schema: Json | None = None
    """JSON Schema that the result of an agent or a team must match."""
    max_result: MaxResult | None = None
    """Characters of a result that a model gets; None for a share of its context window."""
    labels: tuple[Label, ...] = ()
    """What its results carry, and where its arguments go."""
    grants: tuple[KeptLabel, ...] = ()
    """Of a tool with `egress`: its calls ask nobody, because their destination may get private
    data, or because text of others may decide them. Of an agent or a team also: the tools called
    within it may use these grants of theirs."""
    cache: Literal["run"] | None = None
    """`run`: a call with the same arguments gets the first result again."""
    stateful: bool = False
    """An agent with one conversation in the whole run, and one call at a time."""
    reads: tuple[MemoryRead, ...] = ()
    """Whose work a call of the agent sees besides its arguments."""
    listing: str = ""
    """Of an MCP tool: the digest of what its server listed when the plan was compiled."""
    contract: str = ""
    """Digest of all that a caller relies on; another digest is another tool."""

    @model_validator(mode="after")
    def _of_one_kind(self) -> "Tool":
        given = [kind for kind in TOOL_KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError(f"a tool is made of exactly one of {', '.join(TOOL_KINDS)}")
        return self

    @property
    def origin(self) -> ToolOrigin:
        """What the tool is made of."""
        named: dict[ToolKind, str | None] = {
            "skill": self.skill,
            "agent": self.agent,
            "team": self.team,
            "function": self.function,
            "mcp": self.mcp,
        }
        return next(ToolOrigin(kind, name) for kind, name in named.items() if name is not None)

    @property
    def is_one_call(self) -> bool:
        """Whether a call is one activity, which checks its own input."""
        return self.skill is not None or self.mcp is not None

    @property
    def effect(self) -> Effect:
        """What a repeated call does; `once` where nothing says otherwise."""
        return "once" if self.terms is None else self.terms.effect
