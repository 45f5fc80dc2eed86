"""How Temporal runs the activities: their names, heartbeats, types of failure and retries."""

from datetime import timedelta
from typing import NamedTuple

from temporalio.common import RetryPolicy

from coterie.dsl.model.capabilities import Effect

RUN_AGENT = "run_agent"


CALL_FUNCTION = "call_function"


CHECK_TARGETS = "check_targets"


COMPILE_TEAM = "compile_team"


FORK_RUN = "fork_run"


NOTIFY = "notify"


HEARTBEAT_TIMEOUT = timedelta(seconds=10)
"""Silence after which Temporal gives a call to another worker."""


WORKER_STOPPED = "WorkerShutdown"
"""Temporal's own failure type for a call that was interrupted by the end of its worker."""


HEARTBEAT_EVERY = timedelta(seconds=2)
"""Interval of heartbeats; the server's reply reports a cancellation."""


END_MARGIN = timedelta(seconds=5)
"""Between the time limit at which an activity ends itself, and Temporal's start-to-close timeout.

After that timeout Temporal may begin the next attempt, or tell the run that the call is over, and
the SDK ends the old attempt only seconds later."""


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
    ANSWER_UNREADABLE = "AnswerUnreadable"  # its form is not that of the API: never retried
    ANSWER_UNUSABLE = "AnswerUnusable"  # does not match the output schema, after all re-asks
    TURNS_EXHAUSTED = "TurnsExhausted"  # no turns are left, and the model still calls tools
    ANSWER_TOO_LARGE = "AnswerTooLarge"  # more than fits in a run's history
    CONTEXT_WINDOW_EXCEEDED = "ContextWindowExceeded"  # larger than the model takes: never sent
    REQUEST_TOO_LARGE = "RequestTooLarge"  # too large or not JSON: never sent
    AGENT_REFUSED = "AgentRefused"  # agent_class or agent_type outside what the worker allows
    AGENT_FAILED = "AgentFailed"  # a legacy agent raised
    FUNCTION_REFUSED = (
        "FunctionRefused"  # input violates the contract, or a path outside the workspace
    )
    FUNCTION_FAILED = "FunctionFailed"  # the tool function ran and failed
    TOOL_CHANGED = "ToolChanged"  # a tool of a server is not the one of the plan
    INPUT_REQUIRED = "InputRequired"  # a tool of an MCP server asks: its second detail is what
    STORAGE_UNUSABLE = "StorageUnusable"  # a conversation cannot be read or stored
    TIMEOUT = "Timeout"  # Temporal's own type; also for a legacy agent that was stopped
    STALE_ATTEMPT = "StaleAttempt"  # superseded: Temporal gave the call to another attempt
    OUTCOME_UNKNOWN = (
        "OutcomeUnknown"  # a `once` tool function failed after its effect may have begun
    )
    OWN_QUEUE = "OwnQueue"  # never started: its provider has a queue of its own
    NOT_LOCAL = "NotLocal"  # never started: it must be an activity, since its process does not run


class CallOptions(NamedTuple):
    """How Temporal runs one call."""

    timeout: float
    """Seconds after which an attempt ends itself."""
    retries: int
    """Additional attempts."""
    effect: Effect = "read"
    interval: float = 1.0
    """Seconds before the first retry; doubles up to a minute."""
    local_timeout: float | None = None
    """Seconds for the one attempt of a local activity; None: it is an activity."""

    @property
    def start_to_close(self) -> timedelta:
        """Temporal's own time limit for an attempt, before which it has ended itself."""
        return timedelta(seconds=self.timeout) + END_MARGIN

    def retry_policy(self) -> RetryPolicy:
        """Return the retry policy. A `once` call gets one attempt: its outcome may be unknown."""
        attempts = 1 if self.effect == "once" else self.retries + 1
        return RetryPolicy(
            initial_interval=timedelta(seconds=self.interval),
            maximum_interval=timedelta(minutes=1),
            maximum_attempts=attempts,
        )
