"""Types that cross between the interpreter and the world: requests, results, names, retry rules.

One frozen type per arrow. Nothing here imports an SDK or anything else of `activities`, so the
workflow may import it. Histories contain these models: only ever add optional fields.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, NamedTuple

from pydantic import Field, JsonValue
from temporalio.common import RetryPolicy

from dsl.model.capabilities import Effect
from dsl.model.plan import Persona, Plan
from dsl.model.tools.asked_input import GivenInput
from dsl.tool_loop.exchange import ToolCallRequest, ToolResult, ToolTurn
from dsl.values import Frozen, Json

RUN_AGENT = "run_agent"
CALL_SKILL = "call_skill"
COMPILE_TEAM = "compile_team"
FORK_RUN = "fork_run"
NOTIFY = "notify"

HEARTBEAT_TIMEOUT = timedelta(seconds=10)
"""Silence after which Temporal gives a call to another worker."""

WORKER_STOPPED = "WorkerShutdown"
"""Temporal's own failure type for a call that was interrupted by the end of its worker."""

HEARTBEAT_EVERY = timedelta(seconds=2)
"""Interval of heartbeats; the server's reply reports a cancellation."""

MAX_HEARTBEAT_DELAY = timedelta(seconds=0.2)
"""How long a worker may hold a heartbeat back; by default the SDK holds back for seconds, which
delays the news of a cancellation and the text of a turn in progress."""


class FailureType:
    """The `type` strings of ApplicationErrors: raiser and catcher use the same constant."""

    PROVIDER_UNAVAILABLE = "ProviderUnavailable"  # 5xx, 529, no connection: retried
    RATE_LIMITED = "RateLimited"  # 429: retried after Retry-After
    PROVIDER_REFUSED = "ProviderRefused"  # 4xx: never retried
    MISSING_SECRET = "MissingSecret"  # an API key that the worker does not have
    ANSWER_TRUNCATED = "AnswerTruncated"  # the model stopped at max_tokens
    ANSWER_REFUSED = "AnswerRefused"  # the model declined
    ANSWER_UNUSABLE = "AnswerUnusable"  # does not match the output schema, after all re-asks
    TURNS_EXHAUSTED = "TurnsExhausted"  # no turns are left, and the model still calls tools
    ANSWER_TOO_LARGE = "AnswerTooLarge"  # more than fits in a run's history
    CONTEXT_WINDOW_EXCEEDED = "ContextWindowExceeded"  # larger than the model takes: never sent
    REQUEST_TOO_LARGE = "RequestTooLarge"  # too large or not JSON: never sent
    AGENT_REFUSED = "AgentRefused"  # agent_class or agent_type outside what the worker allows
    AGENT_FAILED = "AgentFailed"  # a legacy agent raised
    SKILL_REFUSED = "SkillRefused"  # input violates the contract, or a path outside the workspace
    SKILL_FAILED = "SkillFailed"  # the skill ran and failed
    TOOL_CHANGED = "ToolChanged"  # a tool of an MCP server is not the one of the plan
    INPUT_REQUIRED = "InputRequired"  # a tool of an MCP server asks: its second detail is what
    STORAGE_UNUSABLE = "StorageUnusable"  # a conversation cannot be read or stored
    TIMEOUT = "Timeout"  # Temporal's own type; also for a legacy agent that was stopped
    STALE_ATTEMPT = "StaleAttempt"  # superseded: Temporal gave the call to another attempt
    OUTCOME_UNKNOWN = "OutcomeUnknown"  # a `once` skill whose first attempt was lost
    OWN_QUEUE = "OwnQueue"  # never started: its provider has a queue of its own
    NOT_LOCAL = "NotLocal"  # never started: it must be an activity, since its process does not run


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens that one model call used; `input_tokens` includes the cached ones."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    """Input that the provider kept for later calls, where it counts that; also in the input."""

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        """Add two usages."""
        return TokenUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )


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
    agent_type: str | None = "generic_single_shot"
    """None for a legacy agent. Defaults are not sent, so the common value is the default."""
    agent_class: str | None = None
    persona_key: str = ""
    """Not sent: the plan already says which persona a task has, and `persona` carries its content.
    """
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
    in_progress: StartedBatch | None = None
    """Set while the provider works on the turn as a batch; there is no answer yet."""


class OpenModelCall(Frozen):
    """A model call in progress, and what it costs at least if nobody gets its answer."""

    input_tokens: int = 0
    """An estimate."""
    cost: float | None = None
    """US dollars of the input; None while no price is known."""


class Spent(Frozen):
    """Usage of a call's attempts, as recorded in heartbeats and failure details."""

    usage: TokenUsage | None = None
    cost: float | None = None
    unpriced: bool = False
    seconds: float = 0.0
    cut_off: int = 0
    """Model calls whose answer nobody got, counted with an estimate of their input."""
    open: tuple[OpenModelCall, ...] = ()
    """The model calls in progress."""

    def closed(self) -> "Spent":
        """Return the usage of an attempt that was lost: its open model calls are paid, too."""
        if not self.open:
            return self
        usage = TokenUsage(input_tokens=sum(one.input_tokens for one in self.open))
        costs = [one.cost for one in self.open if one.cost is not None]
        return Spent(
            usage=usage if self.usage is None else self.usage + usage,
            cost=sum(costs, self.cost or 0.0) if costs else self.cost,
            unpriced=self.unpriced or len(costs) < len(self.open),
            seconds=self.seconds,
            cut_off=self.cut_off + len(self.open),
        )


class LiveTail(Frozen):
    """The end of an answer that a model is writing: the second detail of a call's heartbeats."""

    attempt: int = 1
    """Number of the attempt that writes it."""
    start: int = 0
    """Characters of the answer before `text`."""
    text: str = ""


class SkillRequest(Frozen):
    """One call of a skill."""

    skill: str
    input: JsonValue = None
    key: str
    """Identifies this call permanently by run, visit and step, so a skill can recognise a repeat.
    """
    listing: str | None = None
    """Of a tool of an MCP server: the digest of the tool that the plan was compiled with."""
    keep: bool = False
    """Store the result, if it is not small, and return its name instead: a model reads it."""
    given_input: GivenInput | None = None
    """A person's answers to what the same call has asked."""


class KeptResult(Frozen):
    """A result that the worker stored."""

    name: str
    """Of the stored value."""
    size: int
    """Bytes of JSON."""
    preview: str
    """Its beginning, for people."""


class SkillResult(Frozen):
    """What a skill returned, checked against its output schema."""

    data: JsonValue = None
    kept: KeptResult | None = None
    """Where the result is, if the request says `keep`; then there is no `data`."""
    seconds: float = 0.0
    """Working time of its attempts."""
    request: SkillRequest | None = None
    """Of a local activity: what was asked. Temporal records the arguments of activities only."""


class OwnQueue(Frozen):
    """The task queue for a provider with a rate limit, as configured on a worker."""

    name: str
    fair_by: str = "run"
    """Who takes turns there: `run` for each run, or a dotted path into the context."""


NotificationKind = Literal["request", "reminder", "escalation", "timeout"]


class Notification(Frozen):
    """A message to people about a request that waits for them, once per event."""

    id: str
    """The same for every attempt, so that receivers can drop duplicates."""
    channel: str
    """The name of a channel in the worker's configuration."""
    what: NotificationKind
    number: int = 1
    """Ordinal of the reminder or escalation, from 1."""
    text: str
    """One sentence."""
    run: str
    plan: str
    request: str
    """`team/step#visit`."""
    prompt: str
    show: JsonValue = None
    """The value to show, if it is small."""
    digest: str
    approvers: tuple[str, ...] = ()
    """Who may decide; anyone when empty."""
    quorum: int = 1
    since: str
    deadline: str | None = None
    on_timeout: str | None = None


class CompileRequest(Frozen):
    """A team to compile on the worker: the name of a document there, or inline YAML.

    With neither, the worker only returns its visibility settings.
    """

    team: str | None = None
    document: str | None = None


class VisibilitySettings(Frozen):
    """Visibility settings for a whole run, from the worker's configuration."""

    search_attributes: bool = False
    """Upsert search attributes; they are registered."""
    event_groups: bool = False


class CompileResult(Frozen):
    """The plan, or the problems that prevented it."""

    plan: Plan | None = None
    refused: str | None = None
    queues: dict[str, OwnQueue] = Field(default_factory=dict[str, OwnQueue])
    """Queues of the providers with a rate limit."""
    marks: VisibilitySettings | None = None
    """None: only what is free of charge."""


class ForkRequest(Frozen):
    """The point of another run to continue from."""

    run: str
    run_id: str | None = None
    """One part of it, or an earlier run with the same id. Default: the latest."""
    at: str | None = None
    """The start of a visit, such as `review#2`. Default: where the run failed."""
    message: int | None = None
    """Instead of a visit: the number of a session's message."""


class ForkResult(Frozen):
    """The plan and the state at that point, or the reason why there is none."""

    plan: Plan | None = None
    carried: Json | None = None
    at: str = ""
    refused: str | None = None


class CallOptions(NamedTuple):
    """How Temporal runs one call."""

    timeout: float
    """Seconds for one attempt."""
    retries: int
    """Additional attempts."""
    effect: Effect = "read"
    interval: float = 1.0
    """Seconds before the first retry; doubles up to a minute."""
    local_timeout: float | None = None
    """Seconds for the one attempt of a local activity; None: it is an activity."""

    def retry_policy(self) -> RetryPolicy:
        """Return the retry policy. A `once` call gets one attempt: its outcome may be unknown."""
        attempts = 1 if self.effect == "once" else self.retries + 1
        return RetryPolicy(
            initial_interval=timedelta(seconds=self.interval),
            maximum_interval=timedelta(minutes=1),
            maximum_attempts=attempts,
        )


StopReason = Literal["end", "tool_calls", "max_tokens", "refusal", "other"]
