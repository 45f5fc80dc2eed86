"""Whether a retry can end differently after a failure of a type.

Types that are not listed can: an outage, an answer that the model words otherwise, the named
failure of a `fail` step.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from coterie.dsl.model.capabilities import Effect

Retryability = Literal["never", "with_other_input"]

DECIDED = ("Rejected", "NotDecided")
"""Failures that are already decisions, of a person or by a deadline."""

NON_RETRYABLE: Mapping[str, Retryability] = {
    **dict.fromkeys(DECIDED, "never"),
    "HookFailed": "never",
    "HookRejected": "never",
    "OutcomeUnknown": "never",  # it may have happened
    "AgentRefused": "never",
    "MissingSecret": "never",  # a worker has the keys that it was started with
    "TooManyConversations": "never",
    "SessionFull": "never",
    "LimitExceeded": "never",
    "BudgetExceeded": "never",
    "TemplateFailed": "with_other_input",
    "EvaluationLimitExceeded": "with_other_input",
    "OutputFailed": "with_other_input",
    "FunctionRefused": "with_other_input",
    "ProviderRefused": "with_other_input",
    "AnswerUnreadable": "with_other_input",
    "ContextWindowExceeded": "with_other_input",
    "RequestTooLarge": "with_other_input",
    "ValueTooLarge": "with_other_input",
    "InvalidArguments": "with_other_input",
    "UnknownTool": "with_other_input",
    "UnknownPersona": "with_other_input",
    "UnknownBranch": "with_other_input",
    "NotAJoin": "with_other_input",
    "NotANumber": "with_other_input",
    "RepeatedCall": "with_other_input",
    "ConversationBusy": "with_other_input",
    "ToolChanged": "never",
    "InputRequired": "with_other_input",
    "NestedTooDeep": "never",
    "NotAName": "with_other_input",
    "InvalidBound": "with_other_input",
    "NotAList": "with_other_input",
    "NotADuration": "with_other_input",
    "NotATime": "with_other_input",
    "ContextConflict": "with_other_input",
    "ContextUpdateFailed": "with_other_input",
    "InvalidContext": "with_other_input",
    "TooManyTasks": "with_other_input",
    "NoMessage": "with_other_input",
    "ReplyTooLarge": "with_other_input",
    "NoRoute": "with_other_input",
}
"""The same call fails in the same way, always or until its step gets other data."""


NOTHING_HAPPENED = frozenset(
    {
        "FunctionFailed",
        "FunctionRefused",
        "ToolChanged",
        "InputRequired",
        "StaleAttempt",
        "RequestTooLarge",
        "NotLocal",
        "Timeout",
    }
)
"""Failures of a `once` call before its effect: with any other type it may have happened. Workers
report `Timeout` only of a call that had not begun."""


def may_have_happened(effect: Effect, error: str | None) -> bool:
    """Return whether a call that ended so may have had an effect that must not happen twice.

    Args:
        effect: What a repeated call does.
        error: The type of its failure; None if it succeeded.
    """
    return effect == "once" and error not in NOTHING_HAPPENED


def can_pass(error: str, *, data_can_differ: bool) -> bool:
    """Return whether another attempt can end other than with this type of failure.

    Args:
        error: The type of the failure.
        data_can_differ: Whether the step contains others that have made calls, whose answers may
        differ the next time.
    """
    match NON_RETRYABLE.get(error):
        case None:
            return True
        case "never":
            return False
        case "with_other_input":
            return data_can_differ


def hardest(errors: Iterable[str]) -> str:
    """Return the type that a retry has to overcome when all of these must pass; `""` for none."""
    return max(errors, key=_hardness, default="")


def easiest(errors: Iterable[str]) -> str:
    """Return the type that a retry has to overcome when one of these must pass; `""` for none."""
    return min(errors, key=_hardness, default="")


def _hardness(error: str) -> int:
    return (None, "with_other_input", "never").index(NON_RETRYABLE.get(error))
