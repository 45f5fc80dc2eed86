"""The document as a person writes it, after every written form was brought into one shape.

The sections of seed c4h 3.2 to 3.4, and `worker`: what only the worker's own configuration
may say. Field descriptions become the editor's help.
"""

from typing import Literal

from pydantic import Field, JsonValue

from dsl.model.budgets import Budgets
from dsl.model.conditions import Condition
from dsl.model.plan import DEFAULT_CONCURRENT_BRANCHES, MAX_CONCURRENT_BRANCHES, Collect
from dsl.model.sections.provider_document import LlmConfig
from dsl.model.sections.worker_document import WorkerSection
from dsl.model.steps import MergePolicy, Step
from dsl.model.terms import Approval, ApprovalTerms, Channels, NoProgress
from dsl.values import Frozen, Json, Timeout


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
    """Limits on what its agents use, over all its visits."""
    stop_on_failure: bool = True
    on_failure: Literal["stop", "ask"] | None = None
    """The default for the team's own tasks."""
    on_cancel: str | None = None
    """The team that cleans up when the run is cancelled during this team, instead of the run's."""


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
    """Limits on what the whole run uses."""
    on_failure: Literal["stop", "ask"] = "stop"
    """The default for the tasks of all teams: `ask` lets a person retry, skip or reject a failed
    one."""
    groups: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    """`{group: people}`; an approval may name a group instead of each of them."""
    notify: Channels | None = None
    """The channels of the worker that tell people what waits for them, unless an approval says
    others."""
    max_concurrent_branches: int = Field(
        default=DEFAULT_CONCURRENT_BRANCHES, ge=1, le=MAX_CONCURRENT_BRANCHES
    )
    """Maximum concurrent branches of loops with `concurrency`, parallel steps and fan-outs."""
    on_cancel: str | None = None
    """The team that cleans up when the run is cancelled."""
    cancel_timeout: Timeout = 60.0
    """For all work after the cancellation: `finally` and `on_cancel`."""
    settings: Json = Field(default_factory=dict[str, JsonValue])
    """Constants that templates and conditions read as `settings`."""
    teams: dict[str, TeamDocument] = Field(min_length=1)


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
