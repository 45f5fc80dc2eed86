"""The step union.

One class per kind, identified by `kind`; the others stand in `step_kinds`. A team's tasks and a
plan's steps are the same, but a tool function is called by a plan, never as a team's task.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, cast, get_args

from pydantic import Discriminator, Field, Tag
from typing_extensions import TypeAliasType

from coterie.dsl.model.agent_skills import SkillFolders
from coterie.dsl.model.budgets import Budgets
from coterie.dsl.model.compaction import Compaction
from coterie.dsl.model.hooks import HookSection
from coterie.dsl.model.model_options import Effort, PromptCache, Reasoning, Thinking
from coterie.dsl.model.step_kinds import (
    agent_step,
    block_step,
    branch_step,
    loop_step,
    parallel_step,
    task_graph_step,
    try_step,
)
from coterie.dsl.model.step_kinds.agent_step import LegacyAgentStep, PersonaStep
from coterie.dsl.model.step_kinds.approval_step import ApprovalStep
from coterie.dsl.model.step_kinds.block_step import BlockStep
from coterie.dsl.model.step_kinds.branch_step import BranchStep
from coterie.dsl.model.step_kinds.fail_step import FailStep
from coterie.dsl.model.step_kinds.function_step import FunctionStep
from coterie.dsl.model.step_kinds.loop_step import LoopStep
from coterie.dsl.model.step_kinds.parallel_step import ParallelStep
from coterie.dsl.model.step_kinds.reply_step import ReplyStep
from coterie.dsl.model.step_kinds.return_step import ReturnStep
from coterie.dsl.model.step_kinds.set_step import SetStep
from coterie.dsl.model.step_kinds.step_base import StepBase
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
from coterie.dsl.model.template_bound import MAX_TURNS
from coterie.dsl.model.tools.tool_use import (
    CodeModeTools,
    ToolCalls,
    ToolChoice,
    ToolPolicy,
    ToolSearch,
)
from coterie.dsl.values import Frozen, Json, Timeout

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
    if kind == "agent" and fields.get("agent_class") is not None:
        return "step:agent:class"
    return f"step:{kind}" if kind in STEP_KINDS else None


UNKNOWN_STEP = "unknown_step_kind"
"""The type of pydantic's error for it."""

# An alias of its own: pydantic then builds the union once, not for each field that has it.
Step = TypeAliasType(
    "Step",
    Annotated[
        Annotated[PersonaStep, Tag("step:agent")]
        | Annotated[LegacyAgentStep, Tag("step:agent:class")]
        | Annotated[FunctionStep, Tag("step:skill")]
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


class PersonaDocument(Frozen):
    """A persona, or a task's `config` over one: every field is optional."""

    provider: str | None = None
    model: str | None = None
    description: str | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    context_window: int | None = Field(default=None, ge=1)
    """Tokens that the model takes with its answer; a larger request is refused before it is sent.
    Default: the provider's, else the public figure of the model."""
    compaction: Compaction | None = None
    """When a conversation that has become long continues as a new one with a summary."""
    prompts: dict[str, str | None] | None = None
    prompt: str | None = None
    prompt_syntax: Literal["template", "braces"] | None = None
    output_schema: Json | None = None
    max_reasks: int | None = Field(default=None, ge=0, le=10)
    effort: Effort | None = None
    thinking: Thinking | None = None
    reasoning: Reasoning | None = None
    prompt_cache: PromptCache | None = None
    timeout: Timeout | None = None
    retries: int | None = Field(default=None, ge=0, le=100)
    fallback: tuple[str, ...] | None = Field(default=None, max_length=10)
    """`provider/model` of the models that take over, in order, when the retries of the one before
    have ended."""
    stream: bool | None = None
    batch: bool | None = None
    """Submit each model turn to the provider's batch API, and collect the answer later."""
    flags: Json | None = None
    budgets: Budgets | None = None
    """Limits on what its calls use, in all tasks; in a task's `config`, in that task only."""
    tools: tuple[str, ...] | None = None
    """Tools of the document that the model may call."""
    subagents: tuple[str, ...] | None = None
    """Personas that the model may call as tools of the same names."""
    exclude_tools: tuple[str, ...] | None = None
    """Tools of `tools` and `subagents` that are not offered after all."""
    handoffs: tuple[str, ...] | None = None
    """Teams to which the model may hand the work over; the agent then ends, and so does its
    team."""
    agent_skills: SkillFolders | None = None
    """Folders of agent skills, relative to this file: each a folder with a SKILL.md, or a folder of
    such folders. The model knows their names and descriptions, and reads one when it needs it."""
    max_turns: int | None = Field(default=None, ge=1, le=MAX_TURNS)
    """Model turns with tools; then one more without them gives the answer."""
    tool_choice: ToolChoice | None = None
    """`auto`: the model decides; `required`: at least one call, then the model decides; `none`: no
    call; `{tool: NAME}`: a call of this tool first."""
    tool_calls: ToolCalls | None = None
    """`execute`: the run executes the calls; `return`: the calls of the first turn are the agent's
    data, and nothing is executed."""
    tool_policy: tuple[ToolPolicy, ...] | None = None
    """What the run demands of the calls of single tools."""
    tool_search: ToolSearch | None = None
    """When the model finds its tools by search. `auto`: if they take more than a tenth of its
    context window."""
    always_sent: tuple[str, ...] | None = None
    """Tools that the model sees from the start, whatever `tool_search` says."""
    parallel_tool_calls: bool | None = None
    """Whether a turn may have several calls; they then run concurrently."""
    code_mode: CodeModeTools | None = None
    """The model calls tools by Python code: all of `tools`, or those that are named here. They are
    functions in the code of the tool made of `Python.run`, which must be in `tools`."""
    hooks: tuple[HookSection, ...] | None = None
    """Conditions and functions that check, change or stop its turns, model calls and tool calls."""
    execution_plan: tuple[Step, ...] | None = None


agent_step.__dict__["PersonaDocument"] = PersonaDocument
