"""What crosses between the interpreter and the world: requests, results, names, retry rules.

One frozen type per arrow. Nothing here imports an SDK or anything else of `activities`, so
the workflow may import it. These models lie in histories: only ever add optional fields.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, NamedTuple

from pydantic import Field, JsonValue
from temporalio.common import RetryPolicy

from dsl.model.capabilities import Effect
from dsl.model.plan import Persona, Plan
from dsl.values import Frozen, Json

RUN_AGENT = "run_agent"
CALL_SKILL = "call_skill"
COMPILE_TEAM = "compile_team"
FORK_RUN = "fork_run"
NOTIFY = "notify"

HEARTBEAT_TIMEOUT = timedelta(seconds=10)
"""How long a worker may be silent about a call before Temporal gives the call to another."""

WORKER_STOPPED = "WorkerShutdown"
"""The engine's own type of failure for a call that was cut off with its worker."""

HEARTBEAT_EVERY = timedelta(seconds=2)
"""How often a worker says that it is still at a call; the answer tells it of a cancellation."""


class FailureType:
    """The `type` strings of ApplicationErrors: raiser and catcher use the same constant."""

    PROVIDER_UNAVAILABLE = "ProviderUnavailable"  # 5xx, 529, no connection: tried again
    RATE_LIMITED = "RateLimited"  # 429: tried again after Retry-After
    PROVIDER_REFUSED = "ProviderRefused"  # 4xx: never tried again
    MISSING_SECRET = "MissingSecret"  # an API key that the worker has not
    ANSWER_TRUNCATED = "AnswerTruncated"  # the model stopped at max_tokens
    ANSWER_REFUSED = "AnswerRefused"  # the model declined
    ANSWER_UNUSABLE = "AnswerUnusable"  # not what the output schema asks for, after all re-asks
    ANSWER_TOO_LARGE = "AnswerTooLarge"  # more than may travel in a run
    REQUEST_TOO_LARGE = "RequestTooLarge"  # the same, or no JSON: never sent
    AGENT_REFUSED = "AgentRefused"  # agent_class or agent_type outside what the worker allows
    AGENT_FAILED = "AgentFailed"  # a legacy agent raised
    SKILL_REFUSED = "SkillRefused"  # input against the contract, or outside the workspace
    SKILL_FAILED = "SkillFailed"  # the skill ran and could not do it
    STORAGE_UNUSABLE = "StorageUnusable"  # a conversation cannot be read or kept
    TIMEOUT = "Timeout"  # the engine's own word; of a legacy agent that was ended
    STALE_ATTEMPT = "StaleAttempt"  # not made: Temporal gave the call to another attempt
    OUTCOME_UNKNOWN = "OutcomeUnknown"  # a `once` skill whose first attempt was lost
    OWN_QUEUE = "OwnQueue"  # never made: its provider is called through a queue of its own
    COMPILE_REFUSED = "CompileRefused"  # a named or inline document that does not compile


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """What one model call used, in tokens; `input_tokens` includes the cached ones."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        """The sum of two usages."""
        return TokenUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
        )


class Reask(Frozen):
    """A turn that asks again: the unusable answer and what was wrong with it."""

    number: int
    answer: str
    problem: str


class Conversation(Frozen):
    """From where an agent goes on with its conversation."""

    head: str | None = None
    """The name of the latest turn; None begins it."""
    turns: int | None = None
    """So many of the latest turns are sent; all when None."""


class AgentRequest(Frozen):
    """One model turn. It carries the persona and the inputs that its prompts name, no more."""

    team: str
    task: str
    """The agent's unique name: the task's name."""
    visit: int = 1
    """The team's visit in this run, from 1."""
    agent_type: str | None = "generic_single_shot"
    """None for a legacy agent. What is usual is the default here: defaults are not sent."""
    agent_class: str | None = None
    persona_key: str = ""
    """Not sent: the plan tells which persona a task has, and the request carries what it says."""
    persona: Persona | None = None
    """None for a legacy agent."""
    legacy_config: Json | None = None
    """`llm_config.agents` for a legacy agent."""
    inputs: Json = Field(default_factory=dict[str, JsonValue])
    """The slice of the facts that the prompts name, nested as they name it."""
    reask: Reask | None = None
    conversation: Conversation | None = None
    notices: tuple[str, ...] = ()
    """What the model is told at the end of its prompt: that a budget is nearly used, say."""


class AgentError(Frozen):
    """Why an agent's answer is a failure, for routing and for people."""

    type: str
    message: str


class AgentResponse(Frozen):
    """What an agent's turn came to (seed c4h: `AgentResponse.success`, `.data`, `.error`)."""

    success: bool = True
    data: JsonValue = None
    error: AgentError | None = None
    usage: TokenUsage | None = None
    model: str | None = None
    """Which model answered; None when it is the one that the persona names."""
    answer: str | None = None
    """The raw answer, only when it was unusable and a re-ask needs it."""
    conversation: str | None = None
    """The name of this turn, from which the conversation goes on."""
    cost: float | None = None
    """In US dollars, over all attempts; None when nothing of it has a price."""
    unpriced: bool = False
    """Some of it has no price, so `cost` is not all."""
    seconds: float = 0.0
    """In which the attempts worked; not the waits between them."""


class Spent(Frozen):
    """What the attempts of a call used, as heartbeats and the details of its failure tell it."""

    usage: TokenUsage | None = None
    cost: float | None = None
    unpriced: bool = False
    seconds: float = 0.0


class SkillRequest(Frozen):
    """One call of a skill."""

    skill: str
    input: JsonValue = None
    key: str
    """Names this call for ever: run, visit and step. A skill may use it to recognise a repeat."""


class SkillResult(Frozen):
    """What a skill returned, after its output schema was checked."""

    data: JsonValue = None
    seconds: float = 0.0
    """In which its attempts worked."""


class OwnQueue(Frozen):
    """The task queue that a provider with a rate limit is called through, as a worker tells it."""

    name: str
    fair_by: str = "run"
    """Who takes turns there: `run`, each run; or a dotted path of the context."""


NoticeKind = Literal["request", "reminder", "escalation", "timeout"]


class Notice(Frozen):
    """What people are told of a request that waits for them: once for each of its moments."""

    id: str
    """The same at every attempt; receivers drop what they have seen."""
    channel: str
    """A name of the worker's configuration."""
    what: NoticeKind
    number: int = 1
    """The how-manieth reminder or escalation."""
    text: str
    """One sentence."""
    run: str
    plan: str
    request: str
    """`team/step#visit`."""
    prompt: str
    show: JsonValue = None
    """What is shown, where it is small."""
    digest: str
    approvers: tuple[str, ...] = ()
    """Everyone who may decide; anyone when empty."""
    quorum: int = 1
    since: str
    deadline: str | None = None
    on_timeout: str | None = None


class CompileRequest(Frozen):
    """A team to compile on the worker: by the name of a document it has, or inline YAML.

    With neither, the worker only tells how its runs are to be seen.
    """

    team: str | None = None
    document: str | None = None


class Marks(Frozen):
    """How a run is to be seen from outside: the worker's word, for the whole run."""

    search_attributes: bool = False
    """Upsert them: they are registered."""
    event_groups: bool = False


class CompileResult(Frozen):
    """The plan, or why there is none."""

    plan: Plan | None = None
    refused: str | None = None
    queues: dict[str, OwnQueue] = Field(default_factory=dict[str, OwnQueue])
    """Of the providers with a rate limit."""
    marks: Marks | None = None
    """None: nothing that costs anything."""


class ForkRequest(Frozen):
    """A point of another run to go on from."""

    run: str
    run_id: str | None = None
    """Of one part of it, or of an earlier run of that id. Default: the latest."""
    at: str | None = None
    """The beginning of a visit, `review#2`. Default: where the run failed."""


class ForkResult(Frozen):
    """The plan and the state at that point, or why there is none."""

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

    def retry_policy(self) -> RetryPolicy:
        """A `once` call has one attempt: its outcome may be unknown, never repeated."""
        attempts = 1 if self.effect == "once" else self.retries + 1
        return RetryPolicy(
            initial_interval=timedelta(seconds=self.interval),
            maximum_interval=timedelta(minutes=1),
            maximum_attempts=attempts,
        )


StopReason = Literal["end", "max_tokens", "refusal", "other"]
