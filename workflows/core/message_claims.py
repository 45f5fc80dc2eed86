"""Message claims: what the signed statement of each message must say."""

from coterie.dsl.json_values import json_digest
from coterie.workflows.core.messages import (
    AmendInput,
    DecideInput,
    RedirectInput,
    RetryInput,
    SayInput,
    SignedInput,
    SkipInput,
)
from coterie.workflows.signatures.statements import MessageClaim


def claim_of(asked: SignedInput) -> MessageClaim:
    """Return what the signed statement of a message must say."""
    match asked:
        case DecideInput():
            has_payload = "payload" in asked.model_fields_set
            payload = json_digest(asked.payload) if has_payload else ""
            reason = _reason_digest(asked.comment)
            return MessageClaim(asked.decision, asked.id, payload, reason, asked.digest)
        case RetryInput():
            return MessageClaim("retry", asked.task or "", "", _reason_digest(asked.why))
        case SkipInput():
            value = json_digest(asked.value)
            return MessageClaim("skip", asked.task, value, _reason_digest(asked.why))
        case AmendInput():
            return MessageClaim("amend", "", json_digest(asked.updates), _reason_digest(asked.why))
        case SayInput():
            return MessageClaim("say", asked.step or "", json_digest(asked.text), "")
        case RedirectInput():
            return MessageClaim("redirect", asked.team, "", _reason_digest(asked.why))
        case _:
            raise TypeError(f"no message: {type(asked).__name__}")


def _reason_digest(reason: str) -> str:
    """Return the digest of a comment; nothing without one."""
    return json_digest(reason) if reason else ""
