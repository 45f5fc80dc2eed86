"""The step union, with the step that has a persona.

One class per kind, identified by `kind`; the others stand in `step_kinds`. A team's tasks and a
plan's steps are the same, but a skill is called by a plan, never as a team's task.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, cast, get_args

from pydantic import Discriminator, Field, JsonValue, Tag
from typing_extensions import TypeAliasType, override

from coterie.dsl.model.personas.persona_settings import PersonaSettings
from coterie.dsl.model.plan_key import PlanKey
from coterie.dsl.model.step_kinds import (
    block_step,
    branch_step,
    loop_step,
    parallel_step,
    task_graph_step,
    try_step,
)
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING, TOOL_CALLING
from coterie.dsl.model.step_kinds.approval_step import ApprovalStep
from coterie.dsl.model.step_kinds.block_step import BlockStep
from coterie.dsl.model.step_kinds.branch_step import BranchStep
from coterie.dsl.model.step_kinds.fail_step import FailStep
from coterie.dsl.model.step_kinds.loop_step import LoopStep
from coterie.dsl.model.step_kinds.parallel_step import ParallelStep
from coterie.dsl.model.step_kinds.reply_step import ReplyStep
from coterie.dsl.model.step_kinds.return_step import ReturnStep
from coterie.dsl.model.step_kinds.set_step import SetStep
from coterie.dsl.model.step_kinds.skill_step import SkillStep
from coterie.dsl.model.step_kinds.step_base import CALL_APPROVAL_BOUND, COMMON_BOUNDS, StepBase
from coterie.dsl.model.step_kinds.task_graph_step import TaskGraphStep
from coterie.dsl.model.step_kinds.team_step import TeamStep
from coterie.dsl.model.step_kinds.tool_step import ToolStep
from coterie.dsl.model.step_kinds.try_step import TryStep
from coterie.dsl.model.step_kinds.wait_step import (
    WAIT_KEYS,
    DurationWait,
    MessageWait,
    SignalWait,
    TimeWait,
)
from coterie.dsl.model.template_bound import MAX_TURNS, BoundKey, TurnsBound
from coterie.dsl.model.terms import Approval, CallApproval, call_approval


class AgentStep(StepBase):
    """Runs one agent, built from a persona or from a legacy class."""

    implied_by: ClassVar = ("agent_type", "agent_class", "persona_key")
    filled: ClassVar = ("persona_key", "input", "conversation")
    bounds: ClassVar = (
        *COMMON_BOUNDS,
        BoundKey(("max_turns",), "count", MAX_TURNS),
        CALL_APPROVAL_BOUND,
    )
    fails_itself: ClassVar = True

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

    @property
    @override
    def contains_calls(self) -> bool:
        return self.agent_type in (ORCHESTRATING, TOOL_CALLING)

    @property
    @override
    def approval(self) -> CallApproval | None:
        return call_approval(self.requires_approval)


StepKind = Literal[
    "agent",
    "skill",
    "tool",
    "loop",
    "branch",
    "parallel",
    "task_graph",
    "set",
    "approval",
    "wait",
    "reply",
    "team",
    "try",
    "block",
    "return",
    "fail",
]
STEP_KINDS: tuple[str, ...] = get_args(StepKind)


def _step_tag(value: object) -> str | None:
    """Return the union tag of a step: unlike any field, so that error paths stay readable."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        usual = "agent" if "agent_type" in fields or "agent_class" in fields else None
        kind = fields.get("kind", usual)
    else:
        fields = vars(value) if isinstance(value, StepBase) else {}
        kind = fields.get("kind")
    if kind == "wait":  # without a key, the error names all four
        return f"step:wait:{next((key for key in WAIT_KEYS if key in fields), 'signal')}"
    return f"step:{kind}" if kind in STEP_KINDS else None


UNKNOWN_STEP = "unknown_step_kind"
"""The type of pydantic's error for it."""

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
        | Annotated[DurationWait, Tag("step:wait:duration")]
        | Annotated[TimeWait, Tag("step:wait:time")]
        | Annotated[SignalWait, Tag("step:wait:signal")]
        | Annotated[MessageWait, Tag("step:wait:message")]
        | Annotated[ReplyStep, Tag("step:reply")]
        | Annotated[TeamStep, Tag("step:team")]
        | Annotated[TryStep, Tag("step:try")]
        | Annotated[BlockStep, Tag("step:block")]
        | Annotated[ReturnStep, Tag("step:return")]
        | Annotated[FailStep, Tag("step:fail")],
        Discriminator(
            _step_tag,
            custom_error_type=UNKNOWN_STEP,
            custom_error_message="a step of no known kind",
        ),
    ],
)

for _module in (block_step, branch_step, loop_step, parallel_step, task_graph_step, try_step):
    vars(_module)["Step"] = Step  # pydantic looks it up when it builds their validators

STEP_OF_TAG: dict[str, type[StepBase]] = {
    tag.tag: model for model, tag in map(get_args, get_args(get_args(Step.__value__)[0]))
}
"""`{tag: its class}`, in the order of the union."""

STEP_MODELS: dict[str, tuple[type[StepBase], ...]] = {
    kind: tuple(model for tag, model in STEP_OF_TAG.items() if tag.split(":")[1] == kind)
    for kind in STEP_KINDS
}
"""`{kind: its classes}`: a kind has several where each has a key that only it has."""


class PersonaDocument(PersonaSettings):
    """A persona, or a task's `config` over one: every field is optional."""

    execution_plan: tuple[Step, ...] | None = None
