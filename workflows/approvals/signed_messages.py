"""Signed messages: what each message claims, and whether its signer may claim it. Pure functions.

A run with an authority believes no name that a message gives: the name is the signer's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeVar

from pydantic import BaseModel

from coterie.dsl.json_values import json_digest
from coterie.workflows.core.messages import (
    Answer,
    SignedInput,
)
from coterie.workflows.core.state import RunState
from coterie.workflows.signatures.statements import (
    MessageClaim,
    Proof,
    VerifiedSigner,
)
from coterie.workflows.signatures.verification import (
    MAX_CLOCK_SKEW,
    MAX_DELAY,
    ProofProblem,
    verified,
)

Message = TypeVar("Message", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class SignatureMissing:
    """The run takes only signed decisions, and the message has no proof."""

    act: str
    subject: str
    """The request, task or team that the message is about."""
    code: Literal["SignatureRequired"] = "SignatureRequired"


@dataclass(frozen=True, slots=True)
class SignatureInvalid:
    """The proof of the message does not hold."""

    act: str
    subject: str
    problem: ProofProblem | Literal["used"]
    code: Literal["SignatureRefused"] = "SignatureRefused"


SignatureRefusal = SignatureMissing | SignatureInvalid
"""Why a run does not believe a message."""

_WORDS: dict[ProofProblem | Literal["used"], str] = {
    "bad_certificate": "the certificate cannot be read; issue another with `coterie keys issue`",
    "foreign_root": "its certificate is not signed by the root key that this run has recorded; use "
    "a key that this root has certified",
    "life_too_long": "its certificate lives longer than allowed, a day for a gateway and 90 days "
    "for a person; issue another with `coterie keys issue`",
    "bad_statement": "what it signs cannot be read; sign it again",
    "bad_signature": "the key of the certificate did not sign it; sign it again",
    "other_run": "it was signed for another run; sign it again for this one",
    "other_execution": "it was signed before this run was reset, or continued with a new history; "
    "look at it and sign again",
    "other_message": "it was signed for another message: request, verdict, value or "
    "comment differ; sign what you send",
    "other_person": "its certificate is for another person, or for another method; use the key of "
    "the person who decides",
    "outside_life": "it was signed when its certificate was not valid; renew the certificate with "
    "`coterie keys issue`, and sign again",
    "from_future": "it was signed in the future; set the clock of the signer",
    "too_late": "it arrived more than a day after it was signed; look at it and sign again",
    "used": "the run has already taken it; sign another one to repeat it",
}


def signature_refusal_text(refusal: SignatureRefusal) -> str:
    """Return the refusal as a sentence."""
    match refusal:
        case SignatureMissing(act=act, subject=subject):
            return (
                f"this run takes only signed decisions, and {act} of {subject!r} has no signature; "
                "sign it: `coterie approve` and its like take your key as `--key FILE`"
            )
        case SignatureInvalid(act=act, subject=subject, problem=problem):
            return f"the signature of {act} of {subject!r} does not hold: {_WORDS[problem]}"


def authenticated(
    state: RunState, asked: Message, claims: Callable[[Message], MessageClaim], now: datetime
) -> Message | SignatureRefusal:
    """Return a message with the name of its signer, or why the run does not believe it.

    Without an authority, a run believes every name, and drops a proof that it cannot judge.
    """
    authority, proof = state.authority, _proof_of(asked)
    if authority is None:
        return asked if proof is None else asked.model_copy(update={"proof": None})
    claim = claims(asked)
    if proof is None:
        return SignatureMissing(claim.act, claim.subject_of_act)
    signer = verified(proof, claim, authority, now)
    if not isinstance(signer, VerifiedSigner):
        return SignatureInvalid(claim.act, claim.subject_of_act, signer)
    if _mark(proof) in state.used_proofs:
        return SignatureInvalid(claim.act, claim.subject_of_act, "used")
    update: dict[str, str] = {"by": signer.subject}
    if isinstance(asked, Answer):
        update["digest"] = signer.digest
    return asked.model_copy(update=update)


def use_proof(state: RunState, asked: BaseModel, claim: MessageClaim, now: datetime) -> None:
    """Remember an accepted message, so that nobody repeats it, as long as it would be believed.

    A decided request is closed, and needs no memory.
    """
    proof = _proof_of(asked)
    if proof is None or claim.subject_of_act in state.decisions:
        return
    expired = [mark for mark, until in state.used_proofs.items() if until < now.timestamp()]
    for mark in expired:
        del state.used_proofs[mark]
    state.used_proofs[_mark(proof)] = (now + MAX_DELAY + MAX_CLOCK_SKEW).timestamp()


def _proof_of(asked: BaseModel) -> Proof | None:
    return asked.proof if isinstance(asked, SignedInput) else None


def _mark(proof: Proof) -> str:
    return json_digest(proof.statement.body)[:32]
