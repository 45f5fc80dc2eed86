"""What the worker offers, as the language sees it: agent types, functions, providers, commands.

The compiler checks a document against this; the world implements it. Pure data, so that
`validate` needs neither a worker nor an SDK.
"""

from typing import Literal, NamedTuple

from pydantic import Field, JsonValue, SerializerFunctionWrapHandler, model_serializer

from coterie.dsl.model.api_requests import ApiRequest
from coterie.dsl.model.temporal_calls import TemporalKind, TemporalTarget
from coterie.dsl.values import MAX_CALL_SECONDS, Frozen, Json

Effect = Literal["read", "idempotent", "once"]
"""What a repeated call does: nothing, the same again, or harm. `once` is never blindly repeated."""

Label = Literal["private", "untrusted", "egress"]
"""What a call does with information: its result is confidential, its result is text that others
wrote, or its input leaves the system."""

KeptLabel = Literal["private", "untrusted"]
"""The labels that a run keeps once a call has brought them."""


class FunctionContract(Frozen):
    """The contract of one tool function, `Name.method`."""

    name: str
    description: str
    effect: Effect
    input_schema: Json
    output_schema: Json
    timeout: float = 60.0
    """Seconds for one attempt."""
    retries: int = 2
    """Additional attempts after the first."""
    startup: float = 0.0
    """Seconds that an attempt may take in addition, to start a process."""
    errors: dict[str, str] = Field(default_factory=dict[str, str])
    """`{failure type: when this tool function fails with it}`."""
    labels: tuple[Label, ...] = ()
    """What its results carry, and where its input goes."""
    asks: bool = False
    """Whether its work is to ask a person: terms of an approval are those of the question."""
    local_activity: bool = False
    """Whether tools made of it run as local activities."""

    @property
    def continues_long(self) -> bool:
        """Whether a long call outlives its worker: of a command, or of Python."""
        return self.startup > 0 or self.timeout > MAX_CALL_SECONDS


class ServerTool(Frozen):
    """A tool of an MCP server as the server lists it, or one that reads a resource or prompt."""

    name: str
    description: str = ""
    input_schema: Json = Field(default_factory=dict[str, JsonValue])
    output_schema: Json | None = None
    hints: Json = Field(default_factory=dict[str, JsonValue])
    """What the server says of its effects; nothing relies on it."""
    uri: str = ""
    """Of a resource: its URI, or the template of its URI."""
    request: ApiRequest | None = None
    """Of an operation of an HTTP API: how it is called."""

    @model_serializer(mode="wrap")
    def _without_absent_parts(self, handler: SerializerFunctionWrapHandler) -> Json:
        """Leave out what only some kinds of tools have, so that digests stay the same."""
        data: Json = handler(self)
        return {key: part for key, part in data.items() if part or key not in ("uri", "request")}


class ApiSource(Frozen):
    """The OpenAPI document from which operations were recorded."""

    file: str
    """Relative to the project."""
    server: str
    """Where the operations were looked for."""
    include: tuple[str, ...] = ()
    """The globs of those that were recorded."""
    digest: str
    """SHA-256 of its text."""


class ServerListing(Frozen):
    """The tools of an MCP server, or the operations of an HTTP API, when somebody listed them."""

    configuration: str
    """Digest of where the server is; another server needs a new listing."""
    tools: tuple[ServerTool, ...] = ()
    source: ApiSource | None = None
    """Of an HTTP API."""
    changes: tuple[str, ...] = ()
    """How its document differs today; empty in the file."""

    @model_serializer(mode="wrap")
    def _without_absent_parts(self, handler: SerializerFunctionWrapHandler) -> Json:
        data: Json = handler(self)
        optional = ("source", "changes")
        return {key: part for key, part in data.items() if part or key not in optional}


ServerKind = Literal["mcp", "api"]
"""An MCP server, or an HTTP API."""


class ServerContract(FunctionContract):
    """The contract of a tool of an MCP server or an operation of an HTTP API, `server/tool`."""

    kind: ServerKind = "mcp"
    listing: str
    """Digest of the tool as its server lists it; another digest is another tool."""


class TemporalContract(FunctionContract):
    """The contract of an activity, a workflow or a Nexus operation that the worker allows."""

    kind: TemporalKind
    target: TemporalTarget

    @property
    def continues_long(self) -> bool:
        """Whether a call may take long: no process of ours waits for it."""
        return True


class ServerState(NamedTuple):
    """What is known of a configured server."""

    kind: ServerKind
    is_listed: Literal["listed", "unlisted", "moved", "changed"]
    """Whether its tools are known: its listing is there, is missing, is of another command or
    address, or is of another version of its document."""
    changes: tuple[str, ...] = ()
    """How its document has changed."""


class Reach(Frozen):
    """What the worker's configuration lets calls reach."""

    commands: tuple[str, ...] = ()
    """The commands that may use the network."""
    offline_tools: tuple[str, ...] = ()
    """Globs of the Python tools that send nothing out."""
    trusted_paths: tuple[str, ...] = ()
    """Globs of the files of the workspace that the worker vouches for."""


class Capabilities(Frozen):
    """Everything that a document may name but not define."""

    agent_types: tuple[str, ...] = ()
    functions: dict[str, FunctionContract] = Field(default_factory=dict[str, FunctionContract])
    providers: tuple[str, ...] = ()
    commands: tuple[str, ...] | None = None
    """The worker's named commands; None when they are not known here."""
    channels: tuple[str, ...] | None = None
    """The worker's channels to people; None when they are not known here."""
    agent_packages: tuple[str, ...] | None = None
    """The packages that the worker lets agent classes come from; None when they are not known."""
    agent_paths: dict[str, str] = Field(default_factory=dict[str, str])
    """The agent types that installed packages name, allowed or not: `{name: module:function}`."""
    provider_kinds: tuple[str, ...] | None = None
    """The kinds of providers that Coterie has; None when they are not known here."""
    provider_packages: tuple[str, ...] | None = None
    """The packages that the worker lets kinds of providers come from; None when not known."""
    provider_paths: dict[str, str] = Field(default_factory=dict[str, str])
    """The kinds that installed packages name, allowed or not: `{name: module:name}`."""
    server_listings: dict[str, ServerListing] = Field(default_factory=dict[str, ServerListing])
    """`{MCP server or HTTP API: its tools}`, as recorded."""
    server_states: dict[str, ServerState] = Field(default_factory=dict[str, ServerState])
    """The MCP servers and HTTP APIs that the worker configures."""
    server_tools: dict[str, ServerContract] = Field(default_factory=dict[str, ServerContract])
    """Their tools: `{server/tool: contract}`."""
    temporal_calls: dict[str, TemporalContract] = Field(default_factory=dict[str, TemporalContract])
    """The activities, workflows and Nexus operations that the worker allows."""
    now: float | None = None
    """When the document is compiled, in seconds of Unix time; None where no time is known."""
    decides: bool = True
    """Whether a worker with these capabilities would run the document. Where it is only shown, no
    command or channel of a worker has to exist."""
    once_commands: tuple[str, ...] = ()
    """The commands that must not run twice."""
    reach: Reach = Reach()
    sandboxed: bool = True
    """Whether commands run in a sandbox where the configuration leaves it open
    (`sandbox: auto`)."""

    def contract_of(self, kind: str, name: str) -> FunctionContract | None:
        """Return the contract of a tool function, an MCP tool or an operation of an HTTP API."""
        match kind:
            case "skill":
                return self.functions.get(name)
            case "mcp" | "api":
                return self.server_tools.get(name)
            case "activity" | "workflow" | "nexus":
                return self.temporal_calls.get(name)
            case _:
                return None
