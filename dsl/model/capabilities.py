"""What the worker offers, as the language sees it: agent types, skills, providers, commands.

The compiler checks a document against this; the world implements it. Pure data, so that
`validate` needs neither a worker nor an SDK.
"""

from typing import Literal

from pydantic import Field, JsonValue, SerializerFunctionWrapHandler, model_serializer

from coterie.dsl.values import MAX_CALL_SECONDS, Frozen, Json

Effect = Literal["read", "idempotent", "once"]
"""What a repeated call does: nothing, the same again, or harm. `once` is never blindly repeated."""

Label = Literal["private", "untrusted", "egress"]
"""What a call does with information: its result is confidential, its result is text that others
wrote, or its input leaves the system."""

KeptLabel = Literal["private", "untrusted"]
"""The labels that a run keeps once a call has brought them."""


class SkillContract(Frozen):
    """The contract of one skill, `Name.method`."""

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
    """`{failure type: when this skill fails with it}`."""
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

    @model_serializer(mode="wrap")
    def _without_absent_uri(self, handler: SerializerFunctionWrapHandler) -> Json:
        """Leave out an empty URI, so that the digests of tools stay the same."""
        data: Json = handler(self)
        return data if self.uri else {key: data[key] for key in data if key != "uri"}


class ServerListing(Frozen):
    """The tools of an MCP server when somebody last listed them."""

    configuration: str
    """Digest of where the server is; another server needs a new listing."""
    tools: tuple[ServerTool, ...] = ()


class McpContract(SkillContract):
    """The contract of a tool of an MCP server, `server/tool`."""

    listing: str
    """Digest of the tool as its server lists it; another digest is another tool."""


ServerState = Literal["listed", "unlisted", "moved"]
"""Whether the tools of a configured MCP server are known: its listing is there, is missing, or is
of another command or address."""


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
    skills: dict[str, SkillContract] = Field(default_factory=dict[str, SkillContract])
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
    mcp_listings: dict[str, ServerListing] = Field(default_factory=dict[str, ServerListing])
    """`{MCP server: its tools}`, as recorded."""
    mcp_servers: dict[str, ServerState] = Field(default_factory=dict[str, ServerState])
    """The MCP servers that the worker configures."""
    mcp_tools: dict[str, McpContract] = Field(default_factory=dict[str, McpContract])
    """Their tools: `{server/tool: contract}`."""
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

    def contract_of(self, kind: str, name: str) -> SkillContract | None:
        """Return the contract of a skill or an MCP tool."""
        match kind:
            case "skill":
                return self.skills.get(name)
            case "mcp":
                return self.mcp_tools.get(name)
            case _:
                return None
