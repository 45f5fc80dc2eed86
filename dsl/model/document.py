"""The document as a person writes it, after every written form was converted into one shape.

Field docstrings are the help texts of editors.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal, Self

from pydantic import Field, JsonValue

from coterie.dsl.model.budgets import Budgets
from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.decision_terms import ApprovalTerms, AskTerms, Channels, NoProgress
from coterie.dsl.model.hooks import HookSection
from coterie.dsl.model.plan import (
    DEFAULT_CONCURRENT_BRANCHES,
    MAX_CONCURRENT_BRANCHES,
    MAX_MESSAGES,
    Collect,
    MaxVisits,
)
from coterie.dsl.model.sections.access_document import AccessSection
from coterie.dsl.model.sections.provider_document import LlmConfig
from coterie.dsl.model.sections.triggers import Trigger, TriggerName
from coterie.dsl.model.sections.worker_document import WorkerSection
from coterie.dsl.model.step_kinds.join_policies import MergePolicy
from coterie.dsl.model.step_kinds.wait_step import WhileBusy
from coterie.dsl.model.steps import PersonaStep, Step
from coterie.dsl.model.template_bound import Bound, ConcurrencyBound
from coterie.dsl.model.tools.tool_section import ToolSection
from coterie.dsl.model.traversal.step_walk import PlacedStep, walk
from coterie.dsl.values import Frozen, Json, NodePath, Seconds, Timeout


class RuleDocument(Frozen):
    """One rule; the first rule whose condition holds decides."""

    condition: Condition | None = None
    next_team: str | tuple[str, ...] | None
    """A team; null ends the run; a list fans out to several at once."""
    context_updates: Json = Field(default_factory=dict[str, JsonValue])
    merge: dict[str, MergePolicy] = Field(default_factory=dict[str, MergePolicy])
    """With a list: `{context path: replace | extend | merge}`, for paths that several branches
    set.
    """
    concentrator: str | None = None
    """With a list: the concentrator that joins the branches, if they can reach more than one."""


class RoutingDocument(Frozen):
    """Routing: where the run continues after the team."""

    rules: tuple[RuleDocument, ...] = ()
    default: str | None = None
    context_updates: Json = Field(default_factory=dict[str, JsonValue])


class LoopSection(Frozen):
    """The list of a team of type `loop`; its tasks are the body."""

    iterate_on: JsonValue = None
    while_: Condition | None = Field(default=None, alias="while")
    until: Condition | None = None
    loop_variable: str | None = None
    max_iterations: Bound | None = None
    break_when: Condition | None = None
    concurrency: ConcurrencyBound = 1
    repeated_calls: Literal["stop", "allow"] | None = None


class ApprovalSection(ApprovalTerms):
    """The question of a team of type `approval`, after its tasks; its result is task `approval`."""

    prompt: str
    show: JsonValue = None


class ChatSection(Frozen):
    """The conversation of a team of type `chat`: its tasks work on one message after the other.

    The message is task `message`, and the reply is task `reply`.
    """

    schema_: Json | None = Field(default=None, alias="schema")
    """JSON Schema of a message; a message that does not match is refused."""
    deadline: Seconds | None = None
    """How long to wait for a message; then the session ends."""
    while_busy: WhileBusy = "queue"
    """What happens to a message that comes while the run works on another one: it waits for its
    turn, or the agent at work reads it at its next turn, and both get the same reply."""
    persona_key: str | None = None
    """The persona that answers, as task `answer` after the tasks: it gets the message as its
    `input`, and remembers the earlier turns."""
    conversation_turns: int | None = Field(default=None, ge=1)
    """The maximum number of latest turns to send to this persona. Default: all."""
    conversation_characters: int | None = Field(default=None, ge=1)
    """The maximum characters of earlier turns to send to this persona. Default: no limit."""
    reply: JsonValue = None
    """The reply, or a template for it. Default: the answer of the persona."""
    until: Condition | None = None
    """A condition, evaluated after each reply, that ends the session."""


class TeamDocument(Frozen):
    """A named list of tasks, and the routes to other teams."""

    name: str | None = None
    description: str | None = None
    type: Literal["standard", "loop", "approval", "concentrator", "chat"] = "standard"
    tasks: tuple[Step, ...] = ()
    loop: LoopSection | None = None
    approval: ApprovalSection | None = None
    chat: ChatSection | None = None
    collect: Collect | None = None
    routing: RoutingDocument | None = None
    max_recursion_depth: int | None = Field(default=None, ge=1)
    event: str | None = Field(default=None, min_length=1, max_length=100)
    """The name of the event of each visit's start, for programs that follow a run."""
    max_visits: MaxVisits | None = None
    """A bound for each visit of another team, instead of the run's `max_recursion_depth`."""
    budgets: Budgets | None = None
    """Limits on what its agents use, over all its visits."""
    resets: tuple[str, ...] = ()
    """Declared context paths that each visit sets back to their defaults."""
    stop_on_failure: bool = True
    on_failure: Literal["stop", "ask"] | None = None
    """The default for the team's own tasks."""
    output: JsonValue = None
    """What a `team` step that runs this team gets as its data: a template over `tasks`, `teams`
    and `context` at the end of the call."""
    on_cancel: str | None = None
    """The team that cleans up when the run is cancelled during this team, instead of the run's."""

    @property
    def collects(self) -> Collect | None:
        """How a concentrator collects; None for every other type of team."""
        return (self.collect or Collect()) if self.type == "concentrator" else None


class Orchestration(Frozen):
    """The teams, the entry team, and the limits of a run."""

    enabled: bool = True
    entry_team: str
    context: dict[str, Json] | None = Field(default=None, min_length=1)
    """`{path: JSON Schema of its value}`, with `default` and `keep_last`: the inputs and the shared
    state of a run. A path without a default must come with the start."""
    max_total_teams: int = Field(default=30, ge=1)
    max_recursion_depth: int = Field(default=5, ge=1)
    no_progress: NoProgress = "ignore"
    """When a team is entered again and nothing that it reads has changed: `fail`, `ask` a person,
    `ignore`, or `{ask: terms}` for who is asked, and how.
    """
    max_messages: int | None = Field(default=None, ge=1, le=MAX_MESSAGES)
    """Maximum messages of a session; `max_total_teams`, `max_recursion_depth` and `no_progress`
    count from the latest message. Default: 1000."""
    budgets: Budgets | None = None
    """Limits on what the whole run uses."""
    on_failure: Literal["stop", "ask"] = "stop"
    """The default for the tasks of all teams: `ask` lets a person retry, skip or reject a failed
    one."""
    groups: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    """`{group: people}`; an approval may name a group instead of its members."""
    notify: Channels | None = None
    """The channels that notify people of what waits for them; an approval may name others."""
    egress_approval: AskTerms | None = None
    """Who decides about a call that could send out private data at the word of others, and until
    when. Default: anyone, without a deadline."""
    max_concurrent_branches: int = Field(
        default=DEFAULT_CONCURRENT_BRANCHES, ge=1, le=MAX_CONCURRENT_BRANCHES
    )
    """Maximum concurrent branches of loops with `concurrency`, parallel steps and fan-outs."""
    on_cancel: str | None = None
    """The team that cleans up when the run is cancelled."""
    cancel_timeout: Timeout = 60.0
    """The time limit of all work after the cancellation: `finally` and `on_cancel`."""
    user: str | None = Field(default=None, max_length=500)
    """Whose run it is, for memories of the scope `user`: `starter`, who started it as the gateway
    verified it, or a path of the context as the run starts, such as `{{ context.customer }}`."""
    output: JsonValue = None
    """What a run returns: a template over `context` and `teams` at its end. Default: `{task: data}`
    of the last team."""
    hooks: tuple[HookSection, ...] = ()
    """Conditions and functions that check, change or stop the run, and all turns, model calls and
    tool calls in it."""
    settings: Json = Field(default_factory=dict[str, JsonValue])
    """Constants that templates and conditions read as `settings`."""
    teams: dict[str, TeamDocument] = Field(min_length=1)


class SystemDocument(Frozen):
    """A whole document."""

    name: str | None = None
    description: str | None = None
    include: tuple[str, ...] = ()
    """Files whose personas, teams, tools and settings belong to this document: paths and globs,
    relative to this file and below its folder."""
    llm_config: LlmConfig = Field(default_factory=LlmConfig)
    orchestration: Orchestration | None = None
    worker: WorkerSection | None = None
    access: AccessSection | None = None
    """Who may use `coterie serve`, and for what; only in `coterie.yml`."""
    tools: dict[str, ToolSection] = Field(default_factory=dict[str, ToolSection])
    triggers: dict[TriggerName, Trigger] = Field(default_factory=dict[TriggerName, Trigger])
    """What starts or signals runs of this document from outside."""

    @cached_property
    def steps(self) -> tuple[PlacedStep, ...]:
        """Every step as written, with its place: of teams, of plans, and of plans in a `config`."""
        teams = {} if self.orchestration is None else self.orchestration.teams
        lists: list[tuple[Sequence[Step], NodePath]] = [
            (team.tasks, ("orchestration", "teams", key, "tasks")) for key, team in teams.items()
        ]
        for key, persona in self.llm_config.personas.items():
            path = ("llm_config", "personas", key, "execution_plan")
            lists.append((persona.execution_plan or (), path))
        return tuple(placed for steps, path in lists for placed in _with_configs(steps, path))

    def __copy__(self) -> Self:
        """Return a copy that finds its own steps."""
        copied = super().__copy__()
        vars(copied).pop("steps", None)
        return copied


def _with_configs(steps: Sequence[Step], path: NodePath) -> Iterator[PlacedStep]:
    for step, inner_path in walk(steps, path):
        yield step, inner_path
        if isinstance(step, PersonaStep) and step.config is not None:
            below = (*inner_path, "config", "execution_plan")
            yield from _with_configs(step.config.execution_plan or (), below)
