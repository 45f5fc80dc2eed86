"""The section `worker`: settings that only the worker's own configuration may have."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    field_validator,
    model_validator,
)

from coterie.dsl.model.capabilities import KeptLabel
from coterie.dsl.model.sections.api_document import ApiSection
from coterie.dsl.model.sections.mcp_document import McpServerSection, ServerName
from coterie.dsl.model.sections.package_names import PackageName, ToolGlob
from coterie.dsl.model.sections.safe_addresses import SLACK_API, slack_api
from coterie.dsl.model.sections.temporal_document import (
    ActivitySection,
    NexusSection,
    TemporalEntry,
    TemporalName,
    WorkflowSection,
)
from coterie.dsl.model.sections.variable_names import VariableName
from coterie.dsl.regular_expressions import pattern
from coterie.dsl.values import MAX_COMMAND_TIMEOUT, Frozen, Timeout, form_mismatch

ParameterType = Literal["text", "path", "url", "code", "command", "integer", "number", "choice"]


class ParameterSection(Frozen):
    """A typed parameter of a command."""

    type: ParameterType = "text"
    """`path`: a file or folder of the workspace; `url`: an address of the web; `code` and
    `command`: a text without dangerous parts; `choice`: one of `values`."""
    values: tuple[str, ...] = ()
    """What a `choice` allows."""
    pattern: str | None = Field(default=None, max_length=500)
    """What a text must match as a whole, in RE2 syntax."""
    max_length: int = Field(default=200, ge=1, le=100_000)
    """Characters of a text."""
    minimum: float | None = None
    """Of a number."""
    maximum: float | None = None
    """Of a number."""
    many: bool = False
    """Take a list of at most 100 values; each becomes an argument of its own."""
    default: JsonValue = None
    """The value if the caller gives none; without it the parameter is required."""

    @model_validator(mode="after")
    def _consistent(self) -> "ParameterSection":
        if (self.type == "choice") != bool(self.values):
            raise form_mismatch(
                "parameter", "a parameter of type `choice` has `values`, and only that"
            )
        try:
            pattern(self.pattern or "")
        except ValueError:
            raise form_mismatch(
                "parameter", "the `pattern` of a parameter has RE2 syntax"
            ) from None
        return self


ParameterName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,49}$")]


class CommandSection(Frozen):
    """A named command that the tool functions `CommandRunner.run` and `run_once` may run."""

    run: tuple[str, ...] = Field(
        min_length=1, json_schema_extra={"prefixItems": [{"type": "string", "pattern": r"\S"}]}
    )
    """Program and arguments; no shell. `{python}` is the project's own interpreter: that of its
    virtual environment, else the first on PATH; never Coterie's."""
    timeout: Timeout = Field(default=300.0, le=MAX_COMMAND_TIMEOUT)
    cwd: str = Field(default=".", json_schema_extra={"pattern": r"^(?!/)(?!(.*/)?\.\.(/|$))"})
    """Relative to the workspace."""
    env: tuple[VariableName, ...] = ()
    """Names of further environment variables that the command may see."""
    once: bool = False
    """Running it twice would do harm: only `CommandRunner.run_once` may run it."""
    network: bool = False
    """Whether it may use the network, including services on this machine; without a sandbox every
    command may.
    """

    parameters: dict[ParameterName, ParameterSection] = Field(
        default_factory=dict[ParameterName, ParameterSection]
    )
    """`{name: its type}`; `{name}` in an argument of `run` is where the value stands."""

    @model_validator(mode="after")
    def _every_parameter_is_used(self) -> "CommandSection":
        for name, parameter in self.parameters.items():
            placeholder = f"{{{name}}}"
            if (
                name == "python"
                or placeholder in self.run[0]
                or not any(
                    (part == placeholder if parameter.many else placeholder in part)
                    for part in self.run[1:]
                )
            ):
                raise form_mismatch(
                    "parameter",
                    "an argument of `run` has each parameter as `{placeholder}`, alone if it is "
                    "`many`; the program has none, and `python` is not a parameter",
                    placeholder=placeholder,
                )
        return self

    @field_validator("run")
    @classmethod
    def _a_program(cls, run: tuple[str, ...]) -> tuple[str, ...]:
        if not run[0].strip():
            raise form_mismatch("program", "a program and its arguments; the program is not empty")
        return run

    @field_validator("cwd")
    @classmethod
    def _within(cls, cwd: str) -> str:
        if cwd.startswith("/") or ".." in cwd.split("/"):
            raise form_mismatch("folder", "a folder within the workspace, relative to it")
        return cwd


class ChannelSection(Frozen):
    """A channel to people: a webhook, or a command."""

    url: str | None = Field(default=None, pattern=r"^https?://[^\s/]")
    """A webhook: receives a POST with JSON."""
    url_env: str | None = None
    """The NAME of the environment variable that holds the webhook's address, if that is a
    secret.
    """
    secret_env: str | None = None
    """The NAME of the environment variable that holds the secret which signs notifications."""
    run: tuple[str, ...] = Field(default=())
    """A command instead: program and arguments, no shell; it reads JSON from standard input."""
    slack: Annotated[str, Field(pattern=r"^[CGDU][A-Z0-9]{1,30}$")] | None = None
    """A Slack channel instead, by its id: its messages have buttons to decide."""
    token_env: VariableName | None = None
    """Of Slack: the NAME of the environment variable with the token of the app."""
    api: Annotated[str, AfterValidator(slack_api)] = SLACK_API
    """Of Slack: the address of its API."""
    env: tuple[VariableName, ...] = ()
    """Names of further environment variables that the command may see."""
    timeout: Timeout = Field(default=10.0, le=50)
    """Time limit of one attempt."""
    grants: tuple[KeptLabel, ...] = ()
    """The channel may carry what a run asks, also after the run has met private data and text that
    others wrote; else such a notification only names the request."""

    @model_validator(mode="after")
    def _check_transport(self) -> "ChannelSection":
        transports = [self.url, self.url_env, self.run or None, self.slack]
        if sum(transport is not None for transport in transports) != 1:
            raise form_mismatch(
                "channel", "a channel has one of `url`, `url_env`, `run` and `slack`"
            )
        if (self.slack is None) != (self.token_env is None):
            raise form_mismatch("channel", "`slack` and `token_env` belong together")
        if (self.run or self.slack) and self.secret_env is not None:
            raise form_mismatch(
                "channel", "`secret_env` signs what is sent to a webhook; a command gets `env`"
            )
        if not self.run and self.env:
            raise form_mismatch("channel", "`env` is for a command, and this is none")
        return self


SandboxMode = Literal["auto", "bubblewrap", "none"]


class SandboxSection(Frozen):
    """How commands are isolated from the worker, and what each may use."""

    mode: SandboxMode = "auto"
    """`bubblewrap`: never without it; `auto`: with it where it works; `none`: as the worker."""
    read: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Files and folders that commands may read besides the system, their program and the
    workspace; relative to this file, or `~/...`."""
    max_cpu: Timeout = 3600.0
    """Of each process."""
    max_memory_mb: int = Field(default=8192, ge=64, le=16_777_216)
    """Of all processes of a command together."""
    max_processes: int = Field(default=1000, ge=8, le=1_000_000)
    max_output_mb: int = Field(default=1024, ge=1, le=16_777_216)
    """Maximum size of a command's output, and of each file that it writes."""


def _form(value: object) -> str:
    return "literal[mapping]" if isinstance(value, Mapping | Frozen) else "literal[word]"


Sandbox = Annotated[
    Annotated[SandboxSection, Tag("literal[mapping]")]
    | Annotated[SandboxMode, Tag("literal[word]")],
    Discriminator(_form),
]
"""Accept a mode, or a mapping."""


def sandbox_mode(sandbox: SandboxSection | SandboxMode) -> SandboxMode:
    """Return the mode of either form."""
    return sandbox.mode if isinstance(sandbox, SandboxSection) else sandbox


_HOST = r"[A-Za-z0-9*?][A-Za-z0-9.*?-]{0,252}"
_PRIVATE_HOST = r"[a-z0-9][a-z0-9.-]{0,252}(:[0-9]{1,5})?"


def _host_name(text: str) -> str:
    if re.fullmatch(_HOST, text) is None:
        raise form_mismatch(
            "host", "a host or a glob of hosts, such as docs.python.org or *.python.org"
        )
    return text


def _private_host(text: str) -> str:
    if re.fullmatch(_PRIVATE_HOST, text) is None:
        raise form_mismatch(
            "host", "a host in lower case, such as wiki.intranet or wiki.intranet:8080"
        )
    return text


HostName = Annotated[
    str, AfterValidator(_host_name), Field(json_schema_extra={"pattern": f"^{_HOST}$"})
]
PrivateHost = Annotated[
    str, AfterValidator(_private_host), Field(json_schema_extra={"pattern": f"^{_PRIVATE_HOST}$"})
]
Engine = Literal["brave", "duckduckgo", "grokipedia", "mojeek", "startpage", "wikipedia", "yahoo"]


class WebSection(Frozen):
    """What tool functions may reach on the web; nothing by default."""

    fetch: bool = False
    """Whether `Web.fetch` may read pages."""
    search: bool = False
    """Whether `Web.search` may ask search engines."""
    arxiv: bool = False
    """Whether `Arxiv.search` may ask arxiv.org."""
    hosts: tuple[HostName, ...] = ()
    """The only hosts that `Web.fetch` reads, such as `docs.python.org` or `*.python.org`; empty
    for all public ones."""
    private_hosts: tuple[PrivateHost, ...] = ()
    """Hosts that `Web.fetch` may read although their addresses are private, such as
    `wiki.intranet:8080`."""
    robots: bool = True
    """Whether `Web.fetch` reads only what the `robots.txt` of a site allows."""
    engines: tuple[Engine, ...] = ()
    """The search engines of `Web.search`; empty for all."""
    push_hosts: tuple[HostName, ...] = ()
    """The only hosts to which A2A clients may have the states of their tasks sent, such as
    `*.partner.example`; none by default."""


class WorkerMemorySection(Frozen):
    """Where the worker keeps what agents remember."""

    url_env: VariableName
    """The NAME of the environment variable with the address of a PostgreSQL database that has
    pgvector, such as `postgresql://user:password@host/name`."""
    project: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")] = "default"
    """Whose memories these are, if several projects share the database."""


TEST_ROOT = "MRfD6mvw7UNADQJ1rIO7f6Aiwrti4ABGTw41dfiJzqQ="
"""The public root key of `coterie test`, whose private half everybody knows."""


class DecisionsSection(Frozen):
    """What the runs of a worker demand of decisions."""

    signed: Literal["required"]
    """Every decision, and what changes the course of a run, needs a signature."""
    root: str
    """The public root key, as `coterie keys init` prints it."""

    @field_validator("root")
    @classmethod
    def _is_real(cls, root: str) -> str:
        if re.fullmatch(r"[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=", root) is None:
            raise form_mismatch(
                "root_key", "a root key is 32 bytes as base64; `coterie keys init` prints it"
            )
        if root == TEST_ROOT:
            raise form_mismatch(
                "root_key",
                "a root key of your own: everybody has this one, which is for team tests",
            )
        return root


class WorkerSection(Frozen):
    """Settings of the worker's own configuration; a run can name them, never set them."""

    workspace: str = "."
    """The folder that tool functions may touch, relative to this file."""
    trusted_paths: tuple[Annotated[str, Field(min_length=1, max_length=500)], ...] = ()
    """Globs of files of the workspace that you vouch for, such as `src/*` or `**`; what is read
    from others is text that others wrote. `*` stands for any characters, also `/`."""
    commands: dict[str, CommandSection] = Field(default_factory=dict[str, CommandSection])
    sandbox: Sandbox = "auto"
    """How commands are kept apart from the worker: `auto`, `bubblewrap`, `none`, or a mapping."""
    agent_packages: tuple[PackageName, ...] = ()
    """The packages that `agent_class`, and agent types of packages, may be imported from."""
    agent_env: tuple[VariableName, ...] = ()
    """Names of further environment variables that classes of these packages may see."""
    provider_packages: tuple[PackageName, ...] = ()
    """The packages that kinds of providers may be imported from."""
    tool_packages: tuple[PackageName, ...] = ()
    """The packages whose functions with `@tool` are tools."""
    offline_tools: tuple[ToolGlob, ...] = ()
    """Globs of Python tools, such as `acme.text:*`, that send nothing out; each other one has the
    label `egress`, because it may use the network."""
    tool_env: tuple[VariableName, ...] = ()
    """Names of the environment variables that tools may name as secrets."""
    mcp_servers: dict[ServerName, McpServerSection] = Field(
        default_factory=dict[ServerName, McpServerSection]
    )
    """`{name: an MCP server}` whose tools documents may use."""
    apis: dict[ServerName, ApiSection] = Field(default_factory=dict[ServerName, ApiSection])
    """`{name: an HTTP API}` whose operations documents may use."""
    activities: dict[TemporalName, ActivitySection] = Field(
        default_factory=dict[TemporalName, ActivitySection]
    )
    """`{name: an activity of a worker of yours}` that documents may use."""
    workflows: dict[TemporalName, WorkflowSection] = Field(
        default_factory=dict[TemporalName, WorkflowSection]
    )
    """`{name: a workflow that calls start or signal}` that documents may use."""
    nexus: dict[TemporalName, NexusSection] = Field(
        default_factory=dict[TemporalName, NexusSection]
    )
    """`{name: an operation of a Nexus service}` that documents may use."""
    notify: dict[str, ChannelSection] = Field(default_factory=dict[str, ChannelSection])
    """`{channel: how it reaches people}`; a document can only name channels."""
    web: WebSection | None = None
    """What tool functions may reach on the web; nothing by default."""
    memory: WorkerMemorySection | None = None
    """The database of `Memory.store` and `Memory.search`. Default: a file of the worker."""
    accept_plans: bool | None = None
    """Run plans that this worker did not compile. Default: only with the embedded server."""
    decisions: DecisionsSection | None = None
    """Which decisions its runs take; by default any, under any name."""
    search_attributes: bool = False
    """Runs show their plan, teams, state and what they wait for in Temporal's lists."""
    event_groups: bool = False
    """Calls of a run are grouped in the history by the visit that made them."""

    @model_validator(mode="after")
    def _names_of_servers_differ(self) -> "WorkerSection":
        for name in self.apis.keys() & self.mcp_servers.keys():
            raise form_mismatch(
                "api", "an API and an MCP server cannot both be `{name}`", name=name
            )
        return self

    @model_validator(mode="after")
    def _names_on_temporal_differ(self) -> "WorkerSection":
        names = [*self.activities, *self.workflows, *self.nexus]
        for name in dict.fromkeys(names):
            if names.count(name) > 1:
                raise form_mismatch(
                    "temporal_call",
                    "an activity, a workflow and a Nexus operation have different names, and two "
                    "are `{name}`",
                    name=name,
                )
        return self

    @property
    def on_temporal(self) -> dict[str, TemporalEntry]:
        """What documents may use of what already runs on Temporal."""
        return {**self.activities, **self.workflows, **self.nexus}
