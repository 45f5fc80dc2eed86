"""A tool as a document declares it: what it is made of, and the keys that such a tool has."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, cast, get_args

from pydantic import Discriminator, Field, JsonValue, Tag
from typing_extensions import TypeAliasType

from coterie.dsl.errors import closest
from coterie.dsl.model.capabilities import KeptLabel, Label
from coterie.dsl.model.decision_terms import Approval
from coterie.dsl.model.memory_terms import MemorySection
from coterie.dsl.values import Frozen, Json, Timeout

ToolKind = Literal["skill", "agent", "team", "mcp", "api", "activity", "workflow", "nexus"]
"""What a tool can be made of; the key that says so has the same name."""
TOOL_KINDS: tuple[ToolKind, ...] = get_args(ToolKind)

OnToolError = Literal["surface", "retry"]
"""What a failed call of an agent or a team becomes: a result for the model at once, or a new
attempt first."""

_SERVER = r"^[a-zA-Z0-9_-]{1,40}$"
_TOOL = r"^[a-zA-Z0-9_-]{1,40}/\S+$"
_OF_SERVERS: tuple[ToolKind, ...] = ("mcp", "api")

MaxResult = Annotated[int, Field(ge=100, le=100_000_000)]
"""Characters of a result that a model gets."""


class MemoryRead(Frozen):
    """An edge of the memory graph: what a tool reads of another tool's work."""

    source: str = Field(alias="from")
    """The tool whose work is read; it must be made of an agent."""
    publish: Literal["final", "tool_result"] = "final"
    """`final`: its accepted answers; `tool_result`: also the results of its own tools."""


class ToolBase(Frozen):
    """What every tool has, in a document and in a plan."""

    kind: ClassVar[ToolKind]
    description: str = ""
    """What it does, for models and people."""
    fixed: Json = Field(default_factory=dict[str, JsonValue])
    """Merged over the arguments; a caller cannot change it."""
    max_result: MaxResult | None = None
    """Characters of a result that a model gets: the rest is cut off with a mark. Default: a quarter
    of the model's context window, at 4 characters a token; less if a turn makes many calls."""
    labels: tuple[Label, ...] = ()
    """`private`, `untrusted`, `egress`; a tool function's own labels stay."""
    grants: tuple[KeptLabel, ...] = ()
    """Of a tool with `egress`: its calls need no approval for what the run has met, because their
    destination may get `private` data, or because `untrusted` text may decide them. Of an agent or
    a team also: the tools called within it may use these grants of theirs."""
    requires_approval: Approval = False
    """`true` and `before`: a person allows each call; `after`: a person accepts each result; or a
    mapping with `when` and the terms of an approval."""

    @property
    def made_of(self) -> str:
        """The tool function, the agent, the team, the server's tool or the API's operation."""
        return getattr(self, self.kind)


class ToolSectionBase(ToolBase):
    """The keys that a document may write of every tool."""

    timeout: Timeout | None = None
    """Time limit: of one attempt of a tool function, or of a whole call of an agent or a team."""
    retries: int | None = Field(default=None, ge=0, le=100)
    """Additional attempts of a call."""


class OneCallSection(ToolSectionBase):
    """A tool whose call is one activity."""

    cache: Literal["run"] | None = None
    """`run`: a call with the same arguments gets the first result again, until a call with an
    effect; only for a tool function whose effect is `read`."""


class OwnCallSection(OneCallSection):
    """A tool whose call is one activity of a worker of Coterie."""

    local_activity: bool | None = None
    """`true`: a call writes one event to the history instead of three, and is repeated if the
    worker crashes before the next workflow task; only for short reads without retries and
    approvals. Default: that of the tool function."""


class FunctionToolSection(OwnCallSection):
    """A tool that is a tool function."""

    kind = "skill"
    skill: str
    """`Name.method`."""
    memory: MemorySection | None = None
    """Of `Memory.store` and `Memory.search`: whose memory the calls use. Default: the project's."""


class ServerToolSection(OwnCallSection):
    """A tool that is one of a server's: the key of its kind reads `server/tool`."""


class ServerGroupSection(OwnCallSection):
    """All tools of a server, or those that match: the key of its kind reads `server`."""

    include: tuple[str, ...] = ()
    """The globs of the tools to take, such as `search_*`; empty for all."""


class McpToolSection(ServerToolSection):
    """A tool of an MCP server."""

    kind = "mcp"
    mcp: str = Field(pattern=_TOOL)
    """`server/tool` of an MCP server that the worker configures."""


class McpGroupSection(ServerGroupSection):
    """All tools of an MCP server, or those that match."""

    kind = "mcp"
    mcp: str = Field(pattern=_SERVER)
    """The server, which the worker configures: each of its tools is a tool `NAME_tool`."""


class ApiToolSection(ServerToolSection):
    """An operation of an HTTP API."""

    kind = "api"
    api: str = Field(pattern=_TOOL)
    """`api/operation` of an HTTP API that the worker configures."""


class ApiGroupSection(ServerGroupSection):
    """All operations of an HTTP API, or those that match."""

    kind = "api"
    api: str = Field(pattern=_SERVER)
    """The API, which the worker configures: each of its operations is a tool `NAME_operation`."""


class TemporalToolSection(OneCallSection):
    """A tool that already runs on Temporal, as the worker's configuration names it."""


class ActivityToolSection(TemporalToolSection):
    """An activity of another worker."""

    kind = "activity"
    activity: str
    """One of the activities that the worker configures (`worker.activities`)."""


class WorkflowToolSection(TemporalToolSection):
    """A workflow that a call starts, or to which it sends a signal."""

    kind = "workflow"
    workflow: str
    """One of the workflows that the worker configures (`worker.workflows`)."""


class NexusToolSection(TemporalToolSection):
    """An operation of a Nexus service."""

    kind = "nexus"
    nexus: str
    """One of the operations that the worker configures (`worker.nexus`)."""


class NestedToolSection(ToolSectionBase):
    """A tool whose call is the work of others."""

    input_schema: Json | None = None
    """The arguments of an agent or a team: `{name: JSON Schema}` of optional ones besides `query`,
    or a whole JSON Schema of an object."""
    output_schema: Json | None = None
    """JSON Schema that the result of an agent or a team must match."""
    on_error: OnToolError | None = None
    """A failed call of an agent or a team: `surface` gives the model the failure, `retry` makes
    the additional attempts of `retries` first."""


class AgentToolSection(NestedToolSection):
    """A tool that is an agent."""

    kind = "agent"
    agent: str
    """A persona: each call is the work of an agent."""
    stateful: bool = False
    """An agent with one conversation in the whole run, and one call at a time."""
    reads: tuple[MemoryRead, ...] = ()
    """Whose work each call of the agent sees: `{from: TOOL, publish: final | tool_result}`."""


class TeamToolSection(NestedToolSection):
    """A tool that is a team."""

    kind = "team"
    team: str
    """A team: each call runs it to its end, with the arguments in its copy of the context."""


UNKNOWN_TOOL = "unknown_tool_kind"
"""The type of pydantic's error for a tool that is made of nothing, or of several things."""


def written_kinds(keys: Mapping[str, object]) -> tuple[ToolKind, ...]:
    """Return what the keys of a tool say that it is made of."""
    return tuple(kind for kind in TOOL_KINDS if keys.get(kind) is not None)


def tool_tag(value: object) -> str | None:
    """Return the union tag of a tool, in a document or a plan; None unless it is of one kind.

    A misspelled key counts, so that it alone is reported.
    """
    if isinstance(value, ToolBase):
        return _tag(value.kind, value.made_of)
    if not isinstance(value, Mapping):
        return f"tool:{TOOL_KINDS[0]}"
    keys = cast("Mapping[str, object]", value)
    kinds = written_kinds(keys) or tuple(filter(None, (closest(key, TOOL_KINDS) for key in keys)))
    return _tag(kinds[0], keys.get(kinds[0])) if len(kinds) == 1 else None


def _tag(kind: str, made_of: object) -> str:
    is_group = kind in _OF_SERVERS and "/" not in str(made_of)
    return f"tool:{kind}:group" if is_group else f"tool:{kind}"


OF_ONE_KIND = Discriminator(
    tool_tag,
    custom_error_type=UNKNOWN_TOOL,
    custom_error_message=f"a tool is made of exactly one of {', '.join(TOOL_KINDS)}",
)

# An alias of its own: pydantic then builds the union once.
ToolSection = TypeAliasType(
    "ToolSection",
    Annotated[
        Annotated[FunctionToolSection, Tag("tool:skill")]
        | Annotated[AgentToolSection, Tag("tool:agent")]
        | Annotated[TeamToolSection, Tag("tool:team")]
        | Annotated[McpToolSection, Tag("tool:mcp")]
        | Annotated[McpGroupSection, Tag("tool:mcp:group")]
        | Annotated[ApiToolSection, Tag("tool:api")]
        | Annotated[ApiGroupSection, Tag("tool:api:group")]
        | Annotated[ActivityToolSection, Tag("tool:activity")]
        | Annotated[WorkflowToolSection, Tag("tool:workflow")]
        | Annotated[NexusToolSection, Tag("tool:nexus")],
        OF_ONE_KIND,
    ],
)

TOOL_SECTION_OF_TAG: dict[str, type[ToolSectionBase]] = {
    tag.tag: model for model, tag in map(get_args, get_args(get_args(ToolSection.__value__)[0]))
}
"""`{tag: its class}`, in the order of the union."""
