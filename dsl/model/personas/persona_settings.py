"""What a persona says besides its steps: its model, its prompts, its tools and their limits."""

from typing import Literal

from pydantic import Field

from coterie.dsl.model.budgets import Budgets
from coterie.dsl.model.hooks import HookSection
from coterie.dsl.model.model_options import Effort, PromptCache, Thinking
from coterie.dsl.model.personas.compaction_policy import Compaction
from coterie.dsl.model.template_bound import MAX_TURNS
from coterie.dsl.model.tools.tool_use import ToolCalls, ToolChoice, ToolPolicy
from coterie.dsl.values import Frozen, Json, Timeout


class PersonaSettings(Frozen):
    """The settings of a persona: every field is optional."""

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
    parallel_tool_calls: bool | None = None
    """Whether a turn may have several calls; they then run concurrently."""
    hooks: tuple[HookSection, ...] | None = None
    """Conditions and skills that check, change or stop its turns, model calls and tool calls."""
