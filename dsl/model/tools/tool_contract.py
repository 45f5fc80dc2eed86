"""A tool of a plan: what it is made of, and the contract under which it is called."""

from typing import Annotated, Literal

from pydantic import Field, Tag
from typing_extensions import TypeAliasType

from coterie.dsl.model.capabilities import Effect
from coterie.dsl.model.step_kinds.step_base import FunctionTerms
from coterie.dsl.model.temporal_calls import TemporalTarget
from coterie.dsl.model.tools.tool_section import OF_ONE_KIND, MemoryRead, OnToolError, ToolBase
from coterie.dsl.values import Json, Timeout


class PlannedTool(ToolBase):
    """A named capability with a contract, that a model may choose and a plan may call."""

    input_schema: Json | None = None
    """JSON Schema of the arguments that a caller gives, without what is `fixed`; None for a
    function that no model may call."""
    offered_schema: Json | None = None
    """What a model sees instead of `input_schema`, because some vendor refuses that; a call has the
    names of `input_schema` again before it is checked."""
    returns: str = ""
    """Its result as a Python type, for code that calls it; empty without such code."""
    contract: str = ""
    """Digest of all that a caller relies on; another digest is another tool."""

    @property
    def effect(self) -> Effect:
        """What a repeated call does; `once` where nothing says otherwise."""
        return "once"


class OneCallTool(PlannedTool):
    """A tool whose call is one activity, which checks its own input."""

    terms: FunctionTerms
    """Effect, time limit and retries of a call."""
    cache: Literal["run"] | None = None
    """`run`: a call with the same arguments gets the first result again."""

    @property
    def effect(self) -> Effect:
        """What a repeated call does."""
        return self.terms.effect


class FunctionTool(OneCallTool):
    """A tool that is a tool function."""

    kind = "skill"
    skill: str
    """`Name.method`, or `package.module:name` of a function that the worker allows."""


class ServerOffer(OneCallTool):
    """A tool of a server that the worker configures."""

    listing: str = ""
    """The digest of what its server listed when the plan was compiled."""


class McpTool(ServerOffer):
    """A tool of an MCP server."""

    kind = "mcp"
    mcp: str
    """`server/tool`."""


class ApiTool(ServerOffer):
    """An operation of an HTTP API."""

    kind = "api"
    api: str
    """`server/operation`."""


class TemporalTool(OneCallTool):
    """A tool that already runs on Temporal: the run calls it, and no worker of ours."""

    target: TemporalTarget


class ActivityTool(TemporalTool):
    """An activity of another worker."""

    kind = "activity"
    activity: str
    """Its name in the worker's configuration."""


class WorkflowTool(TemporalTool):
    """A workflow that a call starts, or to which it sends a signal."""

    kind = "workflow"
    workflow: str
    """Its name in the worker's configuration."""


class NexusTool(TemporalTool):
    """An operation of a Nexus service."""

    kind = "nexus"
    nexus: str
    """Its name in the worker's configuration."""


class NestedTool(PlannedTool):
    """A tool whose call is the work of others."""

    timeout: Timeout | None = None
    """Time limit of a whole call."""
    retries: int = Field(default=0, ge=0, le=100)
    """Additional attempts of a whole call, with `on_error: retry`."""
    on_error: OnToolError = "surface"
    """What a failed call becomes."""
    output_schema: Json | None = None
    """JSON Schema that the result must match."""


class AgentTool(NestedTool):
    """A tool that is an agent."""

    kind = "agent"
    agent: str
    """A persona of the plan; a call is a subagent."""
    stateful: bool = False
    """An agent with one conversation in the whole run, and one call at a time."""
    reads: tuple[MemoryRead, ...] = ()
    """Whose work a call of the agent sees besides its arguments."""


class TeamTool(NestedTool):
    """A tool that is a team."""

    kind = "team"
    team: str
    """A team of the plan; a call runs it to its end."""


# An alias of its own: pydantic then builds the union once.
Tool = TypeAliasType(
    "Tool",
    Annotated[
        Annotated[FunctionTool, Tag("tool:skill")]
        | Annotated[AgentTool, Tag("tool:agent")]
        | Annotated[TeamTool, Tag("tool:team")]
        | Annotated[McpTool, Tag("tool:mcp")]
        | Annotated[ApiTool, Tag("tool:api")]
        | Annotated[ActivityTool, Tag("tool:activity")]
        | Annotated[WorkflowTool, Tag("tool:workflow")]
        | Annotated[NexusTool, Tag("tool:nexus")],
        OF_ONE_KIND,
    ],
)


def is_stateful(tool: Tool) -> bool:
    """Return whether a tool works on one call at a time."""
    return isinstance(tool, AgentTool) and tool.stateful
