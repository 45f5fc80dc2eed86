"""A model turn of an agent: what the worker is asked, and what it answers."""

from typing import Literal

from pydantic import Field, JsonValue

from coterie.activities.contracts.call_usage import InnerCall, TokenUsage
from coterie.activities.contracts.model_reasoning import ModelReasoning
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.step_kinds.agent_types import SINGLE_SHOT
from coterie.dsl.tool_loop.exchange import ToolCallRequest, ToolResult, ToolTurn
from coterie.dsl.values import Frozen, Json


class Reask(Frozen):
    """The unusable answer of the previous turn, and its problem."""

    number: int
    answer: str
    problem: str


class Conversation(Frozen):
    """Where an agent continues its conversation."""

    head: str | None = None
    """The name of the latest turn; None starts a conversation."""
    turns: int | None = None
    """How many of the latest turns to send; None for all."""
    characters: int | None = None
    """How many characters of earlier turns to send at most; None for no limit."""
    left: tuple[ToolResult, ...] = ()
    """Results of the latest turn that nobody has sent, for an agent without tools: it stores them
    for the agent whose calls these were."""


class CompactionTurn(Frozen):
    """What a turn does that compacts its conversation, instead of asking its question."""

    keep_turns: int
    """How many of the latest turns stay as they are at most."""
    limit: int
    """Tokens at which the conversation is compacted."""
    prompt: str = ""
    """What the model is asked; empty: Coterie's own words."""
    other_model: bool = False
    """Whether another model than the conversation's writes the summary."""


class ContextUse(Frozen):
    """How much of its model's context window a conversation takes."""

    tokens: int
    """Input and output of its latest turn."""
    window: int | None = None
    """Tokens of the context window; None if unknown."""
    turns: int = 1
    """Its turns so far."""


class StartedBatch(Frozen):
    """A model turn that its provider takes as a batch: submitted, and collected later."""

    id: str = Field(max_length=200, pattern=r"^[A-Za-z0-9_.:-]+$")
    """By which the provider knows it."""
    custom_id: str
    """Identifies the turn permanently, also across retries."""
    waited: float = 0.0
    """Seconds since it was submitted, by the run's clock."""
    unwanted: bool = False
    """Nobody waits for its answer any more: cancel it."""


class AgentRequest(Frozen):
    """One model turn, with the persona and only the inputs that its prompts name."""

    team: str
    task: str
    """The agent's unique name: the task's name."""
    visit: int = 1
    """The team's visit in this run, from 1."""
    agent_type: str | None = SINGLE_SHOT
    """None for a legacy agent. Defaults are not sent, so the common value is the default."""
    agent_class: str | None = None
    persona: Persona | None = None
    """None for a legacy agent."""
    legacy_config: Json | None = None
    """`llm_config.agents` for a legacy agent."""
    inputs: Json = Field(default_factory=dict[str, JsonValue])
    """The part of the facts that the prompts name, nested as they name it."""
    reask: Reask | None = None
    conversation: Conversation | None = None
    notices: tuple[str, ...] = ()
    """Notes for the model at the end of its prompt, such as a nearly exhausted budget."""
    said: tuple[str, ...] = ()
    """What people said while the agent worked, for an agent that uses tools: at the end of the
    turn's message of the user."""
    tool_turn: ToolTurn | None = None
    """Set for an agent that uses tools. Its turns after the first one have no persona and no
    inputs: the conversation holds what they need."""
    provider: str | None = None
    """The provider of such a later turn, which selects its task queue."""
    model: str | None = None
    """The model of such a later turn, if a fallback has taken over."""
    compaction: CompactionTurn | None = None
    """Set for a turn that compacts the conversation."""
    started: StartedBatch | None = None
    """Set for a turn that was submitted as a batch before: look whether it has an answer."""
    origins: tuple[str, ...] = ()
    """The runs that this one was forked from, latest first: it reads what they have stored."""
    execution: str = ""
    """Temporal's id of the execution in which the run began, for the keys of the calls that an
    agent's own code makes; not sent to an agent without such code."""
    untrusted: bool = False
    """Whether the run has met text of others, which the agent's own code may write; not sent to an
    agent without code of its own."""

    @property
    def provider_name(self) -> str:
        """The provider that the turn calls; empty for a legacy agent."""
        return self.persona.provider if self.persona is not None else self.provider or ""


class AgentError(Frozen):
    """Why an agent's turn failed, for routing and for people."""

    type: str
    message: str


class AgentResponse(Frozen):
    """The result of an agent's turn."""

    success: bool = True
    data: JsonValue = None
    error: AgentError | None = None
    usage: TokenUsage | None = None
    model: str | None = None
    """The model that answered; None when it is the one that the persona names."""
    answer: str | None = None
    """The raw answer, only when it was unusable and a re-ask needs it."""
    conversation: str | None = None
    """The name of this turn, from which the conversation continues."""
    tool_calls: tuple[ToolCallRequest, ...] = ()
    """The calls that the model asks for, in its order."""
    context: ContextUse | None = None
    """Set in a conversation of a persona with `compaction`."""
    cost: float | None = None
    """US dollars, over all attempts; None when no part has a price."""
    unpriced: bool = False
    """Part of the usage has no price, so `cost` is incomplete."""
    seconds: float = 0.0
    """Working time of the attempts, without the waits between them."""
    cut_off: int = 0
    """Model calls of lost attempts, in the usage and the cost with an estimate of their input."""
    estimated: int = 0
    """Model calls whose provider reported no usage: their tokens are estimated."""
    in_progress: StartedBatch | None = None
    """Set while the provider works on the turn as a batch; there is no answer yet."""
    reasoning: ModelReasoning | None = None
    """What its vendor shows of the model's thinking, for people only."""
    inner_calls: tuple[InnerCall, ...] = ()
    """The tool functions that the agent's own code called, in all attempts: each once."""


StopReason = Literal["end", "tool_calls", "max_tokens", "refusal", "other"]
