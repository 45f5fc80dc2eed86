"""The step union, and the kinds of steps that hold other steps or a persona.

One class per kind, identified by `kind`; the kinds that hold nothing stand in `step_kinds`. A
team's tasks and a plan's steps are the same, but a skill is called by a plan, never as a team's
task.
"""

from typing import Annotated, Literal, get_args

from pydantic import Discriminator, Field, JsonValue, Tag
from typing_extensions import TypeAliasType

from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.personas.persona_settings import PersonaSettings
from coterie.dsl.model.plan_key import PlanKey
from coterie.dsl.model.step_kinds.call_steps import SkillStep, TeamStep, ToolStep
from coterie.dsl.model.step_kinds.join_policies import JoinWord, MergePolicy
from coterie.dsl.model.step_kinds.plain_steps import FailStep, ReturnStep, SetStep
from coterie.dsl.model.step_kinds.step_base import StepBase
from coterie.dsl.model.step_kinds.step_tags import UNKNOWN_STEP, branch_tag, step_tag
from coterie.dsl.model.step_kinds.waiting_steps import ApprovalStep, ReplyStep, WaitStep
from coterie.dsl.model.template_bound import (
    Bound,
    ConcurrencyBound,
    RetriesBound,
    TasksBound,
    TurnsBound,
)
from coterie.dsl.model.terms import Approval
from coterie.dsl.values import Frozen


class AgentStep(StepBase):
    """Runs one agent, built from a persona or from a legacy class."""

    kind: Literal["agent"] = "agent"
    """The default kind does not travel, so no plan contains it."""
    agent_type: str | None = None
    """`generic_single_shot`, `generic_orchestrating`, or a type that the worker adds."""
    persona_key: str | None = None
    """The persona; or a template for one of those in `personas`."""
    personas: tuple[str, ...] = ()
    """The personas that the template in `persona_key` may choose."""
    agent_class: str | None = None
    """Legacy: the import path of an agent class, with its `llm_config.agents` section."""
    config: "PersonaDocument | None" = None
    """Merged recursively over the persona, for this task only."""
    input: JsonValue = None
    """What the prompts read as `input`."""
    prompt: str | None = None
    """The persona's prompt to send; required if it has several."""
    conversation: str | None = Field(default=None, min_length=1)
    """The name of the agent's conversation; may be a template."""
    conversation_turns: int | None = Field(default=None, ge=1)
    """The maximum number of latest turns to send. Default: all."""
    conversation_characters: int | None = Field(default=None, ge=1)
    """The maximum characters of earlier turns to send: the latest whole turns that fit. Default:
    no limit."""
    max_turns: TurnsBound | None = None
    """Model turns with tools, for this task, instead of the persona's `max_turns`. A number,
    `{value: template, maximum}`, or a context path with a maximum."""
    requires_approval: Approval = False
    """`true` and `before`: a person allows the call; `after`: a person accepts its answer; or a
    mapping with `when` and the terms of an approval."""

    @property
    def choices(self) -> tuple["AgentStep", ...]:
        """The step with each persona that its template may choose; else the step itself."""
        if not self.personas:
            return (self,)
        return tuple(
            self.model_copy(update={"persona_key": key, "personas": ()}) for key in self.personas
        )

    @property
    def persona_names(self) -> tuple[str, ...]:
        """The personas that it may run, as the document names them."""
        return tuple(one.persona_name for one in self.choices)

    @property
    def persona_name(self) -> str:
        """The persona, as the document names it: a plan adds a task's `config` to its key."""
        return PlanKey(self.persona_key or "").persona


TaskOrder = Literal["written", "critical_path"]
"""Which available task of a task graph comes first."""


class LoopStep(StepBase):
    """Repeats its body over a list, or while or until a condition holds."""

    kind: Literal["loop"]
    iterate_on: JsonValue = None
    """A list, or a template for one."""
    while_: Condition | None = Field(default=None, alias="while")
    """A condition, evaluated before each round."""
    until: Condition | None = None
    """A condition, evaluated after each round."""
    loop_variable: str | None = None
    """The name of the current item in the body."""
    max_iterations: Bound | None = None
    """Maximum rounds; required with `while` and `until`. A number, `{value: template, maximum}`,
    or a context path with a maximum."""
    break_when: Condition | None = None
    """Ends the loop after the round in which this holds."""
    concurrency: ConcurrencyBound = 1
    """The number of concurrent rounds of a list; each then has its own variables."""
    repeated_calls: Literal["stop", "allow"] | None = None
    """Repeated calls with the same arguments and the same result: `stop` fails the fifth one;
    `allow` accepts them."""
    body: tuple["Step", ...] = Field(min_length=1)

    @property
    def is_concurrent(self) -> bool:
        """Whether each round has its own variables; also where a template decides how many."""
        return self.iterate_on is not None and self.concurrency != 1


class Branch(Frozen):
    """One branch of a branch step."""

    condition: Condition
    steps: tuple["Step", ...] = Field(min_length=1)


class BranchStep(StepBase):
    """Runs the first branch whose condition holds, or `otherwise`."""

    kind: Literal["branch"]
    branches: tuple[Branch, ...] = Field(min_length=1)
    otherwise: tuple["Step", ...] = ()


class ParallelBranch(Frozen):
    """One branch of a parallel step: its steps, and what ranks it under `join: best`."""

    steps: tuple["Step", ...]
    priority: int = 0
    """Under `join: best`: of the branches that succeeded, the higher wins."""
    score: JsonValue = None
    """Under `join: best`: a number, or a template for one; with equal priority, the higher wins."""


NamedBranch = Annotated[
    Annotated[ParallelBranch, Tag("branch:ranked")]
    | Annotated[tuple["Step", ...], Tag("branch:steps")],
    Discriminator(branch_tag),
]


class ParallelStep(StepBase):
    """Runs named branches concurrently, until enough of them have ended."""

    kind: Literal["parallel"]
    branches: dict[str, NamedBranch] = Field(min_length=1)
    only: JsonValue = None
    """The branches to run: a list of names, or a template for one. Default: all."""
    join: JoinWord | Annotated[int, Field(ge=1)] | Annotated[str, Field(pattern=r"\{\{")] = "all"
    """`all`: every branch ends, one failure fails the step; `any`: one success is enough;
    a number: this many successes are enough; `fallback`: one after another, until one succeeds;
    `best`: all run, and the best result wins; or a template for one of these."""
    losers: Literal["cancel", "finish"] = "cancel"
    """What happens to branches that are no longer needed."""
    merge: dict[str, MergePolicy] = Field(default_factory=dict[str, MergePolicy])
    """`{variable: policy}`, or `{context.PATH: policy}`, for what two branches set; without a
    policy, an error."""

    def branch(self, name: str) -> ParallelBranch:
        """Return a branch in one form, whichever is written."""
        one = self.branches[name]
        if isinstance(one, ParallelBranch):
            return one
        return ParallelBranch.model_construct(steps=one)

    @property
    def ranked_branches(self) -> dict[str, ParallelBranch]:
        """All branches in one form."""
        return {name: self.branch(name) for name in self.branches}


class TaskGraphStep(StepBase):
    """Runs tasks that depend on each other: usually what a planner answered."""

    kind: Literal["task_graph"]
    tasks: JsonValue
    """A list of tasks, each a mapping with `id` and `dependencies`; or a template for one."""
    task_variable: str
    """The name of the current task in its steps."""
    concurrency: ConcurrencyBound = 1
    """The number of concurrent tasks. Like all bounds of a task graph: a number, `{value: template,
    maximum}`, or a context path with a maximum."""
    order: TaskOrder = "written"
    """Which available task comes first: `written`, or on the `critical_path`."""
    task_retries: RetriesBound = 0
    """Additional attempts of a failed task."""
    max_iterations: Bound | None = None
    """Maximum attempts of all tasks together."""
    max_tasks: TasksBound | None = None
    """Maximum tasks, with those that `add` adds."""
    select: tuple["Step", ...] = ()
    """Steps that run before `chosen` when several tasks are available."""
    chosen: str | None = None
    """The id of the task that comes next, a template; else the first available one."""
    body: tuple["Step", ...] = Field(min_length=1)
    """The steps of one task, with variables of their own."""
    add: JsonValue = None
    """A template for new tasks, filled after the body."""
    on_failed_task: Literal["block", "skip", "ask", "stop"] | tuple["Step", ...] = "block"
    """What follows when a task has failed in all its attempts; steps may save it."""


class Catch(Frozen):
    """Handles some failures."""

    error: str | tuple[str, ...] = "*"
    """Types of failure; `*` is any."""
    steps: tuple["Step", ...] = ()
    """They see the failure as `error`: type, message, step."""

    @property
    def errors(self) -> tuple[str, ...]:
        """The types of failure that it names."""
        return (self.error,) if isinstance(self.error, str) else self.error

    @property
    def takes_all(self) -> bool:
        """Whether it takes every failure."""
        return "*" in self.errors


class TryStep(StepBase):
    """Runs steps and handles their failures."""

    kind: Literal["try"]
    steps: tuple["Step", ...] = Field(min_length=1)
    catch: tuple[Catch, ...] = ()
    finally_: tuple["Step", ...] = Field(default=(), alias="finally")
    """Steps that always run, even when the run is cancelled."""


class BlockStep(StepBase):
    """Runs a group of steps under one `when`, `timeout`, `retry` and `on_failure`."""

    kind: Literal["block"]
    steps: tuple["Step", ...] = Field(min_length=1)


# An alias of its own: pydantic then builds the union once, not for each field that has it.
Step = TypeAliasType(
    "Step",
    Annotated[
        Annotated[AgentStep, Tag("step:agent")]
        | Annotated[SkillStep, Tag("step:skill")]
        | Annotated[ToolStep, Tag("step:tool")]
        | Annotated[LoopStep, Tag("step:loop")]
        | Annotated[BranchStep, Tag("step:branch")]
        | Annotated[ParallelStep, Tag("step:parallel")]
        | Annotated[TaskGraphStep, Tag("step:task_graph")]
        | Annotated[SetStep, Tag("step:set")]
        | Annotated[ApprovalStep, Tag("step:approval")]
        | Annotated[WaitStep, Tag("step:wait")]
        | Annotated[ReplyStep, Tag("step:reply")]
        | Annotated[TeamStep, Tag("step:team")]
        | Annotated[TryStep, Tag("step:try")]
        | Annotated[BlockStep, Tag("step:block")]
        | Annotated[ReturnStep, Tag("step:return")]
        | Annotated[FailStep, Tag("step:fail")],
        Discriminator(
            step_tag, custom_error_type=UNKNOWN_STEP, custom_error_message="a step of no known kind"
        ),
    ],
)

STEP_MODELS: dict[str, type[StepBase]] = {
    tag.tag.removeprefix("step:"): model
    for model, tag in map(get_args, get_args(get_args(Step.__value__)[0]))
}
"""`{kind: its class}`, in the order of the union."""


class PersonaDocument(PersonaSettings):
    """A persona, or a task's `config` over one: every field is optional."""

    execution_plan: tuple[Step, ...] | None = None
