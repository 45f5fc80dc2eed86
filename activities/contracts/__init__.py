"""Types that cross between the interpreter and the world: requests, results, names, retry rules.

One frozen type per arrow, and one door: import them from here. Nothing here imports an SDK or
anything else of `activities`, so the workflow may import it. Histories contain these models: only
ever add optional fields.
"""

from coterie.activities.contracts.activity_options import (
    CALL_FUNCTION,
    COMPILE_TEAM,
    END_MARGIN,
    FORK_RUN,
    HEARTBEAT_EVERY,
    HEARTBEAT_TIMEOUT,
    MAX_HEARTBEAT_DELAY,
    NOTIFY,
    RUN_AGENT,
    WORKER_STOPPED,
    CallOptions,
    FailureType,
)
from coterie.activities.contracts.call_suffixes import (
    NamedTurn,
    TurnSuffix,
    first_id,
    function_step,
    function_summary,
    id_after_detour,
    id_after_loss,
    id_of_look,
    id_of_unwanted,
    named_turn,
)
from coterie.activities.contracts.call_usage import (
    InnerCall,
    LiveTail,
    OpenModelCall,
    Spent,
    TokenUsage,
)
from coterie.activities.contracts.function_call import FunctionRequest, FunctionResult, KeptResult
from coterie.activities.contracts.model_turn import (
    AgentError,
    AgentRequest,
    AgentResponse,
    CompactionTurn,
    ContextUse,
    Conversation,
    Reask,
    StartedBatch,
    StopReason,
)
from coterie.activities.contracts.notification import (
    Notification,
    NotificationKind,
    PushTarget,
    TaskStanding,
)
from coterie.activities.contracts.run_start import (
    CompileRequest,
    CompileResult,
    ForkRequest,
    ForkResult,
    OwnQueue,
    VisibilitySettings,
)

__all__ = [
    "CALL_FUNCTION",
    "COMPILE_TEAM",
    "END_MARGIN",
    "FORK_RUN",
    "HEARTBEAT_EVERY",
    "HEARTBEAT_TIMEOUT",
    "MAX_HEARTBEAT_DELAY",
    "NOTIFY",
    "RUN_AGENT",
    "WORKER_STOPPED",
    "AgentError",
    "AgentRequest",
    "AgentResponse",
    "CallOptions",
    "CompactionTurn",
    "CompileRequest",
    "CompileResult",
    "ContextUse",
    "Conversation",
    "FailureType",
    "ForkRequest",
    "ForkResult",
    "FunctionRequest",
    "FunctionResult",
    "InnerCall",
    "KeptResult",
    "LiveTail",
    "NamedTurn",
    "Notification",
    "NotificationKind",
    "OpenModelCall",
    "OwnQueue",
    "PushTarget",
    "Reask",
    "Spent",
    "StartedBatch",
    "StopReason",
    "TaskStanding",
    "TokenUsage",
    "TurnSuffix",
    "VisibilitySettings",
    "first_id",
    "function_step",
    "function_summary",
    "id_after_detour",
    "id_after_loss",
    "id_of_look",
    "id_of_unwanted",
    "named_turn",
]
