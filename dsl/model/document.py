"""The document as a person writes it, after every written form was brought into one shape.

The sections of seed c4h 3.2 to 3.4, and `worker`: what only the worker's own configuration
may say. Field descriptions become the editor's help.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    field_validator,
    model_validator,
)

from dsl.model.budgets import Budgets
from dsl.model.conditions import Condition
from dsl.model.model_defaults import ModelDefaults
from dsl.model.plan import DEFAULT_CONCURRENT_BRANCHES, MAX_CONCURRENT_BRANCHES, Collect
from dsl.model.price import Price
from dsl.model.steps import MergePolicy, PersonaDocument, Step
from dsl.model.terms import Approval, ApprovalTerms, Channels, NoProgress
from dsl.values import MAX_COMMAND_TIMEOUT, Frozen, Json, Timeout, misfit


class RateLimitPolicy(Frozen):
    """How fast all workers together may call a provider, and how runs share that."""

    requests_per_second: float | None = Field(default=None, gt=0, le=100_000, allow_inf_nan=False)
    requests_per_minute: float | None = Field(default=None, gt=0, le=6_000_000, allow_inf_nan=False)
    """One of the two; attempts after a failure count like first ones."""
    requests_per_minute_per_key: float | None = Field(
        default=None, gt=0, le=6_000_000, allow_inf_nan=False
    )
    """For each run, or each value of `fair_by`, alone."""
    fair_by: str = "run"
    """Who takes turns: `run`, each run; or a dotted path of the context, like `tenant`."""

    @field_validator("fair_by")
    @classmethod
    def _is_a_path(cls, value: str) -> str:
        if not all(part.isidentifier() for part in value.split(".")):
            raise misfit("fair_by", "`run`, or a dotted path of the context like `tenant`")
        return value

    @model_validator(mode="after")
    def _one_rate(self) -> Self:
        if (self.requests_per_second is None) == (self.requests_per_minute is None):
            raise misfit("rate", "exactly one of requests_per_second and requests_per_minute")
        return self

    @property
    def per_second(self) -> float:
        """The rate, however it is written."""
        return self.requests_per_second or (self.requests_per_minute or 0) / 60

    @property
    def per_second_per_key(self) -> float | None:
        """The rate of each run, or each value of `fair_by`."""
        rate = self.requests_per_minute_per_key
        return None if rate is None else rate / 60


class ProviderSection(Frozen):
    """How a model provider is reached; the worker's own configuration only."""

    kind: Literal["anthropic", "openai", "scripted"] | None = None
    """The adapter; the provider's own name when that is one of these. Anything OpenAI-compatible
    is `openai` with an `api_base`."""
    api_base: str | None = None
    api_key_env: str | None = Field(
        default=None, validation_alias=AliasChoices("api_key_env", "env_var")
    )
    """The NAME of the environment variable that holds the key; never the key."""
    default_model: str | None = None
    valid_models: tuple[str, ...] = ()
    """When given, personas may name no other model."""
    rate_limit_policy: RateLimitPolicy | None = None
    """How fast all workers together may call it. Default: as fast as they can."""
    answers: str | None = None
    """Scripted only: the file of answers, relative to this file."""
    log: str | None = None
    """Scripted only: a file that gets one line per call."""
    prices: dict[str, Price] = Field(default_factory=dict[str, Price])
    """`{model: price}`, for budgets and `coterie cost`; stronger than the public prices."""


class LlmConfig(Frozen):
    """Providers, personas and the legacy agents' sections."""

    providers: dict[str, ProviderSection] = Field(default_factory=dict[str, ProviderSection])
    default_provider: str | None = None
    default_model: str | None = None
    personas: dict[str, PersonaDocument] = Field(default_factory=dict[str, PersonaDocument])
    agents: Json = Field(default_factory=dict[str, JsonValue])
    """Legacy: read by the legacy agent classes themselves, in whatever shape they know."""

    @property
    def defaults(self) -> ModelDefaults:
        """The provider and the models of personas that name none."""
        named = {name: one.default_model for name, one in self.providers.items()}
        own = {name: model for name, model in named.items() if model is not None}
        return ModelDefaults(self.default_provider, self.default_model, own)


class RuleDocument(Frozen):
    """One rule: the first whose condition holds decides."""

    condition: Condition | None = None
    next_team: str | tuple[str, ...] | None
    """A team; null ends the run; a list fans out to several at once."""
    context_updates: Json = Field(default_factory=dict[str, JsonValue])
    merge: dict[str, MergePolicy] = Field(default_factory=dict[str, MergePolicy])
    """With a list: `{context path: replace | append | merge}` where branches set the same."""
    concentrator: str | None = None
    """With a list: where the branches meet, when more than one concentrator is reachable."""


class RoutingDocument(Frozen):
    """Where to go after the team."""

    rules: tuple[RuleDocument, ...] = ()
    default: str | None = None
    context_updates: Json = Field(default_factory=dict[str, JsonValue])


class LoopSection(Frozen):
    """What a team of type `loop` goes over; its tasks are the body."""

    iterate_on: JsonValue = None
    while_: Condition | None = Field(default=None, alias="while")
    until: Condition | None = None
    loop_variable: str | None = None
    max_iterations: int | None = Field(default=None, ge=1, le=1_000_000)
    break_when: Condition | None = None
    concurrency: int = Field(default=1, ge=1, le=1000)
    repeated_calls: Literal["stop", "allow"] | None = None


class ApprovalSection(ApprovalTerms):
    """What a team of type `approval` asks, after its tasks; routing sees a task `approval`."""

    prompt: str
    show: JsonValue = None


class TeamDocument(Frozen):
    """A named list of tasks, and where to go from there."""

    name: str | None = None
    description: str | None = None
    type: Literal["standard", "loop", "approval", "concentrator"] = "standard"
    tasks: tuple[Step, ...] = ()
    loop: LoopSection | None = None
    approval: ApprovalSection | None = None
    collect: Collect | None = None
    routing: RoutingDocument | None = None
    max_recursion_depth: int | None = Field(default=None, ge=1)
    budgets: Budgets | None = None
    """What its agents may use together, over all its visits."""
    stop_on_failure: bool = True
    on_failure: Literal["stop", "ask"] | None = None
    """For the team's own tasks that say nothing of it themselves."""
    on_cancel: str | None = None
    """The team that cleans up when the run is cancelled here, instead of the run's own."""


class Orchestration(Frozen):
    """The teams, where to begin, and how far a run may go."""

    enabled: bool = True
    entry_team: str
    max_total_teams: int = Field(default=30, ge=1)
    max_recursion_depth: int = Field(default=5, ge=1)
    no_progress: NoProgress = "ignore"
    """A team is entered again and nothing that it reads has changed: `fail`, `ask` a person,
    `ignore`, or `{ask: terms}`: who is asked, and how."""
    budgets: Budgets | None = None
    """What the whole run may use."""
    on_failure: Literal["stop", "ask"] = "stop"
    """For the tasks of all teams that say nothing of it themselves: `ask` lets a person say
    whether a failed one is tried again, skipped or left failed."""
    groups: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    """`{group: people}`; an approval may name a group instead of each of them."""
    notify: Channels | None = None
    """The channels of the worker that tell people what waits for them, unless an approval says
    others."""
    max_concurrent_branches: int = Field(
        default=DEFAULT_CONCURRENT_BRANCHES, ge=1, le=MAX_CONCURRENT_BRANCHES
    )
    """Branches at the same time, over all loops with `concurrency`, parallel steps and fan-outs."""
    on_cancel: str | None = None
    """The team that cleans up when the run is cancelled."""
    cancel_timeout: Timeout = 60.0
    """For all that is still done once the run is cancelled: `finally` and `on_cancel`."""
    teams: dict[str, TeamDocument] = Field(min_length=1)


def _variable_name(text: str) -> str:
    if not text.isidentifier() or not text.isascii():
        raise misfit(
            "environment_variable", "the name of an environment variable: letters, digits and _"
        )
    return text


VariableName = Annotated[
    str, AfterValidator(_variable_name), Field(json_schema_extra={"pattern": "^[A-Za-z_]\\w*$"})
]


RESERVED_PACKAGES = ("activities", "config", "coterie", "dsl", "workflows")
"""Coterie's own packages: it never imports others of these names."""


def _package_name(text: str) -> str:
    """Refuses a package that Coterie's own of the same name would hide."""
    top = text.partition(".")[0]
    if top in RESERVED_PACKAGES:
        raise misfit(
            "package",
            "a package of another name: Coterie has its own package '{package}' and imports only "
            "that one; rename yours",
            package=top,
        )
    return text


PackageName = Annotated[
    str,
    AfterValidator(_package_name),
    Field(json_schema_extra={"not": {"pattern": f"^({'|'.join(RESERVED_PACKAGES)})(\\.|$)"}}),
]


class CommandSection(Frozen):
    """A named command that the skills `CommandRunner.run` and `run_once` may run."""

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
    """To run it twice would do harm: only `CommandRunner.run_once` may run it."""
    network: bool = False
    """It may use the network, this machine's own services too; without a sandbox every command
    may."""

    @field_validator("run")
    @classmethod
    def _a_program(cls, run: tuple[str, ...]) -> tuple[str, ...]:
        if not run[0].strip():
            raise misfit("program", "a program and its arguments; the program is not empty")
        return run

    @field_validator("cwd")
    @classmethod
    def _within(cls, cwd: str) -> str:
        if cwd.startswith("/") or ".." in cwd.split("/"):
            raise misfit("folder", "a folder within the workspace, relative to it")
        return cwd


class ChannelSection(Frozen):
    """A channel that tells people: a webhook, or a command."""

    url: str | None = Field(default=None, pattern=r"^https?://[^\s/]")
    """A webhook: gets a POST with JSON."""
    url_env: str | None = None
    """The NAME of the environment variable that holds the webhook's address, where that is a
    secret."""
    secret_env: str | None = None
    """The NAME of the environment variable that holds the secret which signs what is sent."""
    run: tuple[str, ...] = Field(default=())
    """A command instead: program and arguments, no shell; it reads JSON from its standard input."""
    env: tuple[VariableName, ...] = ()
    """Names of further environment variables that the command may see."""
    timeout: Timeout = Field(default=10.0, le=50)
    """For one attempt."""

    @model_validator(mode="after")
    def _one_way(self) -> "ChannelSection":
        ways = [self.url is not None, self.url_env is not None, bool(self.run)]
        if sum(ways) != 1:
            raise misfit("channel", "a channel has one of `url`, `url_env` and `run`")
        if self.run and self.secret_env is not None:
            raise misfit(
                "channel", "`secret_env` signs what is sent to a webhook; a command gets `env`"
            )
        if not self.run and self.env:
            raise misfit("channel", "`env` is for a command, and this is a webhook")
        return self


SandboxMode = Literal["auto", "bubblewrap", "none"]


class SandboxSection(Frozen):
    """How commands are kept apart from the worker, and what each may use."""

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
    """What a command may print, and how large each file may be that it writes."""


def _form(value: object) -> str:
    return "literal[mapping]" if isinstance(value, Mapping | Frozen) else "literal[word]"


Sandbox = Annotated[
    Annotated[SandboxSection, Tag("literal[mapping]")]
    | Annotated[SandboxMode, Tag("literal[word]")],
    Discriminator(_form),
]
"""A mode, or a mapping."""


class WorkerSection(Frozen):
    """What only the worker's own configuration decides; a run can name it, never set it."""

    workspace: str = "."
    """The folder that skills may touch, relative to this file."""
    commands: dict[str, CommandSection] = Field(default_factory=dict[str, CommandSection])
    sandbox: Sandbox = "auto"
    """How commands are kept apart from the worker: `auto`, `bubblewrap`, `none`, or a mapping."""
    agent_packages: tuple[PackageName, ...] = ()
    """The packages that `agent_class` may be imported from."""
    agent_env: tuple[VariableName, ...] = ()
    """Names of further environment variables that classes of these packages may see."""
    notify: dict[str, ChannelSection] = Field(default_factory=dict[str, ChannelSection])
    """`{channel: how it reaches people}`; a document names a channel, and nothing else."""
    accept_plans: bool | None = None
    """Run plans that this worker did not compile; by default only with the embedded server."""
    search_attributes: bool = False
    """Runs tell Temporal's lists their plan, teams, state and what they wait for."""
    event_groups: bool = False
    """What runs call is grouped by the visit of the team that called it."""


class ToolSection(Frozen):
    """A tool: a skill by another name, with some of its input fixed."""

    skill: str
    description: str = ""
    fixed: Json = Field(default_factory=dict[str, JsonValue])
    """Laid over the arguments; a caller cannot change it."""
    requires_approval: Approval = False
    """`true` and `before`: a person allows each call; `after`: a person accepts each result; or a
    mapping with `when` and the terms of an approval."""


class SystemDocument(Frozen):
    """A whole document."""

    name: str | None = None
    description: str | None = None
    llm_config: LlmConfig = LlmConfig()
    orchestration: Orchestration | None = None
    worker: WorkerSection | None = None
    tools: dict[str, ToolSection] = Field(default_factory=dict[str, ToolSection])
