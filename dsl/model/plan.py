"""The Plan: a compiled document, frozen and serialisable; the only thing that enters a run.

A plan names what the worker has (providers, tool functions, agent classes, commands) and cannot
define any of them, because anyone who can start a run can send any plan: it has no field for an
address, a key, a root or a command line. The defaults of fields are part of the contract with
existing histories.
"""

from hashlib import sha256
from typing import Literal

from pydantic import Field, JsonValue

from coterie.dsl.model.agent_skills import PlannedSkill
from coterie.dsl.model.budgets import Budget
from coterie.dsl.model.compaction import Compaction
from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.context.declarations import DeclaredPath
from coterie.dsl.model.decision_terms import AskTerms
from coterie.dsl.model.evaluation_budget import EvaluationBudget
from coterie.dsl.model.hooks import Hook
from coterie.dsl.model.model_options import Effort, PromptCache, Reasoning, Thinking
from coterie.dsl.model.price import Price
from coterie.dsl.model.step_kinds.join_policies import MergePolicy
from coterie.dsl.model.steps import Step
from coterie.dsl.model.template_bound import MAX_TURNS, Bound
from coterie.dsl.model.tools.tool_contract import Tool
from coterie.dsl.model.tools.tool_use import (
    DEFAULT_MAX_TURNS,
    CodeModeTools,
    ToolCalls,
    ToolChoice,
    ToolPolicy,
    ToolSearch,
)
from coterie.dsl.values import Frozen, Json, Timeout


class Persona(Frozen):
    """Who an agent is: model, prompts, the schema of its answer."""

    provider: str = ""
    """Empty if no task asks it, but only follows its plan: then it needs no provider."""
    model: str = ""
    description: str | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sent only if set: some models refuse it."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int = Field(default=8192, ge=1)
    """Maximum tokens of one answer; an answer that is cut there is a failure."""
    context_window: int | None = Field(default=None, ge=1)
    """Tokens that the model takes with its answer. Default: as the worker knows the model."""
    compaction: Compaction | None = None
    """When a conversation continues as a new one with a summary. Default: never."""
    prompts: dict[str, str] = Field(default_factory=dict[str, str])
    """`system`, and one or more prompts to ask."""
    prompt: str | None = None
    """The prompt to ask, if there are several."""
    prompt_syntax: Literal["template", "braces"] = "template"
    """`braces`: prompts of older files, where `{name}` is an input or a context field."""
    output_schema: Json | None = None
    """JSON Schema of the answer; without it the data is `{"text": ...}`."""
    max_reasks: int = Field(default=2, ge=0, le=10)
    """How many times the agent is asked again, with the error, after an answer that does not
    match.
    """
    effort: Effort | None = None
    """How much the model works on an answer. Default: the model's own."""
    thinking: Thinking | None = None
    """Whether the model thinks first. Default: the model's own."""
    reasoning: Reasoning = "auto"
    """What people see of the model's thinking: no model and no template gets it."""
    prompt_cache: PromptCache = "auto"
    timeout: Timeout = 600.0
    """Time limit of one model turn."""
    retries: int = Field(default=5, ge=0, le=100)
    """Additional attempts when the provider is overloaded or cannot be reached."""
    fallback: tuple[str, ...] = ()
    """`provider/model` of those that take over, in order, when the one before is not available."""
    stream: bool = False
    """Show the answer while the model writes it."""
    batch: bool = False
    """Let the provider answer when it has time, for less money."""
    flags: Json | None = None
    """Flags that the agent's own code or prompts read."""
    execution_plan: tuple[Step, ...] | None = None
    """The steps of an orchestrating agent."""
    tools: tuple[str, ...] = ()
    """The tools that the model may call, in the order in which it sees them."""
    agent_skills: tuple[str, ...] = ()
    """The agent skills that the model may read."""
    skill_list: str = ""
    """What the system prompt says of them; never a template."""
    max_turns: int = Field(default=DEFAULT_MAX_TURNS, ge=1, le=MAX_TURNS)
    """Model turns with tools, before one without them gives the answer."""
    tool_choice: ToolChoice = "auto"
    tool_calls: ToolCalls = "execute"
    tool_policy: tuple[ToolPolicy, ...] = ()
    """At most one entry for each tool."""
    parallel_tool_calls: bool = True
    """Whether a turn may have several calls, which then run concurrently."""
    code_mode: CodeModeTools = False
    """The tools that the code of its tool made of `Python.run` calls; `True`: all others."""
    tool_search: ToolSearch = "auto"
    """When the model finds its tools by search."""
    always_sent: tuple[str, ...] = ()
    """The tools that every request has, whatever `tool_search` says."""
    deferred_tools: tuple[str, ...] = ()
    """Those of `tools` that the model finds by search, as the compiler has decided."""
    handoffs: tuple[str, ...] = ()
    """The teams to which the model may hand the work over."""
    hooks: tuple[Hook, ...] = ()
    """What the run asks around the turns and calls of its agents, after the plan's own hooks."""

    @property
    def models(self) -> tuple[str, ...]:
        """`provider/model` of all that answer for it or sum up for it, if a task asks it."""
        if not self.provider:
            return ()
        policy = self.compaction
        summing = () if policy is None or policy.model is None else (policy.model,)
        return (f"{self.provider}/{self.model}", *self.fallback, *summing)


DEFAULT_CONCURRENT_BRANCHES = 200
"""Two cores start this many agents within a second."""

MAX_CONCURRENT_BRANCHES = 1_000
"""Each may have a call in progress, and Temporal accepts no more than 2,000 of one run."""


DEFAULT_MESSAGES = 1_000
"""Messages that a session takes, unless the document says otherwise."""

MAX_MESSAGES = 1_000_000


class Limits(Frozen):
    """Limits of a whole run; a limit of N means exactly N executions, counted at the start.

    In a session they count from the latest message.
    """

    max_total_teams: int = Field(default=30, ge=1)
    """Team visits in one run."""
    max_recursion_depth: int = Field(default=5, ge=1)
    """Visits of any one team in one run."""
    no_progress: Literal["fail", "ask", "ignore"] = "ignore"
    """What happens when a team is entered again with an identical relevant context."""
    cancel_timeout: Timeout = 60.0
    """Time limit of all work after the cancellation: `finally` and `on_cancel`."""
    max_concurrent_branches: int = Field(
        default=DEFAULT_CONCURRENT_BRANCHES, ge=1, le=MAX_CONCURRENT_BRANCHES
    )
    """Maximum concurrent branches, over all loops, parallel steps and fan-outs of the run."""
    no_progress_terms: AskTerms | None = None
    """With `ask`: who is asked, and how."""
    max_messages: int = Field(default=DEFAULT_MESSAGES, ge=1, le=MAX_MESSAGES)
    """Messages of one session."""


class Rule(Frozen):
    """If the condition holds, this team is next, with these changes to the context."""

    condition: Condition | None = None
    """None: always holds."""
    next_team: str | tuple[str, ...] | None
    """A team's id; null ends the run with success; a list fans out."""
    context_updates: Json = Field(default_factory=dict[str, JsonValue])
    """Templates over the facts; keys are dotted paths; merged before the next team."""
    merge: dict[str, MergePolicy] = Field(default_factory=dict[str, MergePolicy])
    """`{context path: policy}` for paths that several branches of this fan-out set."""
    concentrator: str | None = None
    """The concentrator that joins this fan-out. Default: the only reachable one."""


class Collect(Frozen):
    """How a concentrator waits for the branches of a fan-out, and combines their data."""

    count: int | None = Field(default=None, ge=1)
    """How many successful branches are enough. Default: all of them."""
    timeout: Timeout | None = None
    """Time limit, after which the results so far are enough."""
    signal: str | None = None
    """Name of a signal, after which the results so far are enough."""
    aggregate: str = "list"
    """Content of the variable `aggregate`: `list`, the branches' data as a list; `merge_dict`, as
    one mapping; `Name.method`, what that tool function makes of `{branches, data}`.
    """

    @property
    def by_function(self) -> bool:
        """Whether a tool function makes `aggregate`: the team then starts with one more step."""
        return self.aggregate not in BUILT_IN_AGGREGATES


BUILT_IN_AGGREGATES = ("list", "merge_dict")

CONCENTRATOR_NAMES = ("branches", "aggregate", "data")
"""The variables that a concentrator's tasks can read."""


class MaxVisits(Frozen):
    """A bound of a team's visits between two visits of another team."""

    per: str
    """The team whose visits start the count anew."""
    limit: Bound
    """The maximum number of visits for each visit of `per`, over all branches. A number, `{value:
    template, maximum}`, or a context path with a maximum."""
    then: str
    """The team that runs instead once the limit is reached."""


class Routing(Frozen):
    """Routing after a team: its rules in order, the first match decides, else the default."""

    rules: tuple[Rule, ...] = ()
    default: str | None = None
    """The next team if no rule matches, also after a failure."""
    ends_by_default: bool = False
    """The default is written as null: without a match the run ends with success."""
    context_updates: Json = Field(default_factory=dict[str, JsonValue])
    """Applied on every way out of the team, before the rule's own updates."""


class Team(Frozen):
    """A named list of steps, and the routes to other teams."""

    id: str
    name: str = ""
    """For people; empty where it is the id."""
    steps: tuple[Step, ...]
    routing: Routing | None = None
    max_recursion_depth: int | None = Field(default=None, ge=1)
    event: str | None = None
    """The name of the event of each visit's start."""
    max_visits: MaxVisits | None = None
    """Replaces the run's `max_recursion_depth` for this team."""
    stop_on_failure: bool = True
    """Skip the tasks after a failed one."""
    collects: Collect | None = None
    """Set for a concentrator."""
    on_cancel: str | None = None
    """The team that cleans up when the run is cancelled here, instead of the run's own."""
    resets: tuple[str, ...] = ()
    """Declared context paths that are at their defaults when a visit begins."""
    output: JsonValue = None
    """The template of what a step that runs the team gets as its data; None: its outputs and
    context."""
    reads: tuple[str, ...] = ()
    """The context paths that this team reads; `("",)` is the whole context. Only where a team that
    sees nothing new makes no progress.
    """
    reads_teams: tuple[str, ...] = ()
    """The paths below `teams` that it reads: outcomes of earlier teams."""


class Plan(Frozen):
    """Teams and personas, resolved: nothing is looked up or defaulted from here on."""

    language: Literal[1] = 1
    name: str
    digest: str = ""
    """Digest of everything else in the plan: equal digests mean equal plans."""
    entry_team: str
    limits: Limits = Limits()
    budgets: tuple[Budget, ...] = ()
    """Budgets of the run, its teams, personas and tasks."""
    prices: dict[str, Price] = Field(default_factory=dict[str, Price])
    """`{provider/model: price}` of what budgets of money pay for. Calls reserve by it; what they
    have cost, the worker reports by its own prices."""
    teams: dict[str, Team]
    personas: dict[str, Persona] = Field(default_factory=dict[str, Persona])
    tools: dict[str, Tool] = Field(default_factory=dict[str, Tool])
    skills: dict[str, PlannedSkill] = Field(default_factory=dict[str, PlannedSkill])
    """The agent skills of its personas, with their texts."""
    listed_tools: list[Json] | None = None
    """`{name, description, input_schema}` of each tool, which templates read as `tools`; None where
    none does."""
    tool_events: bool = False
    """Whether `tool` steps have the events `tool_start` and `tool_end`: the plan has tools."""
    groups: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    """`{group: people}`, for approvals."""
    notify: tuple[str, ...] = ()
    """The channels that notify people of what waits for them, if an approval names no others."""
    narrow_grants: bool = False
    """Whether a grant counts within a call of an agent or a team only if that tool grants it, too:
    some tool with a grant is called so."""
    egress_approval: AskTerms | None = None
    """How a run asks before a call that could send out private data at the word of others; None if
    no call of the plan could."""
    on_cancel: str | None = None
    """The team that cleans up when the run is cancelled."""
    output: JsonValue = None
    """The template of what the run returns; None: `{task: data}` of the last team."""
    user: str | None = Field(default=None, max_length=500)
    """Whose run it is: `starter`, or the template of a path of the context at its start."""
    settings: Json = Field(default_factory=dict[str, JsonValue])
    """Constants that templates read as `settings`."""
    context: dict[str, DeclaredPath] = Field(default_factory=dict[str, DeclaredPath])
    """`{path: what it holds}`; empty where the document declares none, and then all is free."""
    needs: dict[str, str] = Field(default_factory=dict[str, str])
    """`{path of the context: the step that reads it first}`: a start must give these."""
    hooks: tuple[Hook, ...] = ()
    """What the run asks around itself, and around the turns and calls of all its agents."""
    evaluation: EvaluationBudget = EvaluationBudget()
    """What one evaluation of a template or a condition may cost. What each operation costs belongs
    to the language version: a replay decides as the run did."""
    legacy_agents: Json = Field(default_factory=dict[str, JsonValue])
    """`llm_config.agents`, for the legacy classes."""

    @property
    def providers(self) -> tuple[str, ...]:
        """The providers of its personas' models, also of `fallback` and `compaction`."""
        models = (model for persona in self.personas.values() for model in persona.models)
        return tuple(dict.fromkeys(model.partition("/")[0] for model in models))

    def with_digest(self) -> "Plan":
        """Return this plan with its digest."""
        text = self.model_dump_json(exclude={"digest"}, exclude_defaults=True, by_alias=True)
        return self.model_copy(update={"digest": sha256(text.encode()).hexdigest()[:16]})
