"""A tool as a document declares it."""

from typing import Literal

from pydantic import Field, JsonValue

from coterie.dsl.model.capabilities import KeptLabel, Label
from coterie.dsl.model.terms import Approval
from coterie.dsl.model.tools.tool_contract import MaxResult, MemoryRead, OnToolError
from coterie.dsl.values import Frozen, Json, Timeout


class ToolSection(Frozen):
    """A tool: a skill, an agent, a team or a tool of an MCP server, for models and steps."""

    skill: str | None = None
    """`Name.method`; a tool has exactly one of `skill`, `agent`, `team` and `mcp`."""
    agent: str | None = None
    """A persona: each call is the work of an agent."""
    team: str | None = None
    """A team: each call runs it to its end, with the arguments in its copy of the context."""
    mcp: str | None = Field(default=None, pattern=r"^[a-zA-Z0-9_-]{1,40}(/\S+)?$")
    """`server/tool` of an MCP server that the worker configures, or `server` for all its tools,
    each as `NAME_tool`."""
    include: tuple[str, ...] = ()
    """Of a whole server: the globs of the tools to take, such as `search_*`; empty for all."""
    description: str = ""
    """What it does, for models and people."""
    fixed: Json = Field(default_factory=dict[str, JsonValue])
    """Merged over the arguments; a caller cannot change it."""
    timeout: Timeout | None = None
    """Time limit: of one attempt of a skill, or of a whole call of an agent or a team."""
    retries: int | None = Field(default=None, ge=0, le=100)
    """Additional attempts of a call."""
    max_result: MaxResult | None = None
    """Characters of a result that a model gets: the rest is cut off with a mark. Default: a quarter
    of the model's context window, at 4 characters a token; less if a turn makes many calls."""
    cache: Literal["run"] | None = None
    """`run`: a call with the same arguments gets the first result again, until a call with an
    effect; only for a skill whose effect is `read`."""
    local_activity: bool | None = None
    """`true`: a call writes one event to the history instead of three, and is repeated if the
    worker crashes before the next workflow task; only for short reads without retries and
    approvals. Default: that of the skill."""
    labels: tuple[Label, ...] = ()
    """`private`, `untrusted`, `egress`; a skill's own labels stay."""
    grants: tuple[KeptLabel, ...] = ()
    """Of a tool with `egress`: its calls need no approval for what the run has met, because their
    destination may get `private` data, or because `untrusted` text may decide them. Of an agent or
    a team also: the tools called within it may use these grants of theirs."""
    input_schema: Json | None = None
    """The arguments of an agent or a team: `{name: JSON Schema}` of optional ones besides `query`,
    or a whole JSON Schema of an object."""
    output_schema: Json | None = None
    """JSON Schema that the result of an agent or a team must match."""
    requires_approval: Approval = False
    """`true` and `before`: a person allows each call; `after`: a person accepts each result; or a
    mapping with `when` and the terms of an approval."""
    stateful: bool = False
    """An agent with one conversation in the whole run, and one call at a time."""
    reads: tuple[MemoryRead, ...] = ()
    """Whose work each call of the agent sees: `{from: TOOL, publish: final | tool_result}`."""
    on_error: OnToolError | None = None
    """A failed call of an agent or a team: `surface` gives the model the failure, `retry` makes
    the additional attempts of `retries` first."""
