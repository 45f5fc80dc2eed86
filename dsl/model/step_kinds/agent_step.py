"""An agent: a persona, or a legacy class."""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, JsonValue
from typing_extensions import override

from coterie.dsl.model.decision_terms import Approval, CallApproval, call_approval
from coterie.dsl.model.plan_key import PlanKey
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING, TOOL_CALLING
from coterie.dsl.model.step_kinds.step_base import CALL_APPROVAL_BOUND, COMMON_BOUNDS, StepBase
from coterie.dsl.model.template_bound import MAX_TURNS, BoundKey, TurnsBound

if TYPE_CHECKING:  # `steps` adds it when all kinds are known
    from coterie.dsl.model.steps import PersonaDocument


class AgentStep(StepBase):
    """Runs one agent."""

    filled: ClassVar = ("input", "conversation")
    bounds: ClassVar = (
        *COMMON_BOUNDS,
        BoundKey(("max_turns",), "count", MAX_TURNS),
        CALL_APPROVAL_BOUND,
    )
    fails_itself: ClassVar = True

    kind: Literal["agent"] = "agent"
    """The default kind does not travel, so no plan contains it."""
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
    @override
    def approval(self) -> CallApproval | None:
        return call_approval(self.requires_approval)


class PersonaStep(AgentStep):
    """An agent with a persona."""

    implied_by: ClassVar = ("agent_type", "persona_key")
    filled: ClassVar = ("persona_key", "input", "conversation")

    agent_type: str | None = None
    """`generic_single_shot`, `generic_orchestrating`, or a type that the worker adds."""
    persona_key: str
    """The persona; or a template for one of those in `personas`."""
    personas: tuple[str, ...] = ()
    """The personas that the template in `persona_key` may choose."""
    config: "PersonaDocument | None" = None
    """Merged recursively over the persona, for this task only."""

    @property
    def choices(self) -> tuple["PersonaStep", ...]:
        """The step with each persona that its template may choose; else the step itself."""
        if not self.personas:
            return (self,)
        return tuple(
            self.model_copy(update={"persona_key": key, "personas": ()}) for key in self.personas
        )

    @property
    def persona_names(self) -> tuple[str, ...]:
        """The personas that it may run, as the document names them."""
        return tuple(step.persona_name for step in self.choices)

    @property
    def persona_name(self) -> str:
        """The persona, as the document names it: a plan adds a task's `config` to its key."""
        return PlanKey(self.persona_key).persona

    @property
    @override
    def contains_calls(self) -> bool:
        return self.agent_type in (ORCHESTRATING, TOOL_CALLING)


class LegacyAgentStep(AgentStep):
    """An agent of a legacy class, with its `llm_config.agents` section."""

    implied_by: ClassVar = ("agent_class",)

    agent_class: str
    """Legacy: the import path of an agent class, with its `llm_config.agents` section."""


AnyAgent = PersonaStep | LegacyAgentStep
