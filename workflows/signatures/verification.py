"""Verification: whether a signed message comes from a person whom the root vouches for.

Pure functions: Ed25519 needs no chance, and the time is the run's own. So a replay verifies again,
with the same answer.
"""

from base64 import b64decode
from binascii import Error as Base64Error
from datetime import datetime, timedelta
from typing import Literal, TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import ValidationError

from coterie.dsl.values import Frozen
from coterie.workflows.signatures.statements import (
    Authority,
    Certificate,
    MessageClaim,
    Proof,
    Purpose,
    SignedStatement,
    SignedText,
    VerifiedSigner,
)

MAX_GATEWAY_LIFE = timedelta(days=1)
"""The longest life of a certificate for a gateway."""

MAX_PERSON_LIFE = timedelta(days=90)
"""The same for a person's own key."""

MAX_DELAY = timedelta(days=1)
"""How long after it was signed a message may arrive: the worker may have been down."""

MAX_CLOCK_SKEW = timedelta(minutes=2)
"""How far the clock of a signer may be ahead of the server's."""

_PREFIXES: dict[Purpose, bytes] = {
    "certificate": b"coterie certificate 1\0",
    "decision": b"coterie decision 1\0",
    "audit": b"coterie audit 1\0",
}

ProofProblem = Literal[
    "bad_certificate",
    "foreign_root",
    "life_too_long",
    "bad_statement",
    "bad_signature",
    "other_run",
    "other_execution",
    "other_message",
    "other_person",
    "outside_life",
    "from_future",
    "too_late",
]
"""Why a proof does not hold."""

Body = TypeVar("Body", bound=Frozen)


def signed_bytes(purpose: Purpose, body: str) -> bytes:
    """Return the bytes that a signature covers."""
    return _PREFIXES[purpose] + body.encode()


def is_signed(text: SignedText, purpose: Purpose, key: str) -> bool:
    """Return whether the holder of a public key has signed a text for this purpose."""
    try:
        public = Ed25519PublicKey.from_public_bytes(b64decode(key, validate=True))
        public.verify(b64decode(text.signature, validate=True), signed_bytes(purpose, text.body))
    except (InvalidSignature, Base64Error, ValueError):
        return False
    return True


def is_public_key(text: str) -> bool:
    """Return whether a text is a public key as we write it."""
    try:
        return len(b64decode(text, validate=True)) == 32
    except (Base64Error, ValueError):
        return False


def certificate_of(text: SignedText, root: str) -> Certificate | ProofProblem:
    """Return the certificate that the root signed, or why it is none."""
    if not is_signed(text, "certificate", root):
        return "foreign_root"
    certificate = _body(text, Certificate)
    if certificate is None:
        return "bad_certificate"
    begin, end = _time(certificate.not_before), _time(certificate.not_after)
    if begin is None or end is None:
        return "bad_certificate"
    longest = MAX_GATEWAY_LIFE if certificate.kind == "gateway" else MAX_PERSON_LIFE
    return certificate if end - begin <= longest else "life_too_long"


def statement_of(proof: Proof, root: str) -> SignedStatement | ProofProblem:
    """Return what a proof states, if its signer may state it; whatever run it is about."""
    certificate = certificate_of(proof.certificate, root)
    if not isinstance(certificate, Certificate):
        return certificate
    if not is_signed(proof.statement, "decision", certificate.key):
        return "bad_signature"
    statement = _body(proof.statement, SignedStatement)
    signed_at = None if statement is None else _time(statement.at)
    if statement is None or signed_at is None:
        return "bad_statement"
    if (certificate.kind == "person") != (statement.method == "key"):
        return "other_person"
    if certificate.kind == "person" and certificate.subject != statement.subject:
        return "other_person"
    if not is_within(signed_at, certificate):
        return "outside_life"
    return statement


def is_within(moment: datetime, certificate: Certificate) -> bool:
    """Return whether a certificate is valid at a moment."""
    begin, end = _time(certificate.not_before), _time(certificate.not_after)
    return begin is not None and end is not None and begin <= moment <= end


def verified(
    proof: Proof, claim: MessageClaim, authority: Authority, now: datetime
) -> VerifiedSigner | ProofProblem:
    """Return who signed a message to a run, or why the run does not believe it.

    Args:
        proof: As it came with the message.
        claim: What the message says.
        authority: What the run demands.
        now: When the message arrived.
    """
    statement = statement_of(proof, authority.root)
    if not isinstance(statement, SignedStatement):
        return statement
    if statement.run != authority.run:
        return "other_run"
    if statement.execution != authority.execution:
        return "other_execution"
    if not _says(statement, claim):
        return "other_message"
    signed_at = datetime.fromisoformat(statement.at)
    if signed_at > now + MAX_CLOCK_SKEW:
        return "from_future"
    if now > signed_at + MAX_DELAY:
        return "too_late"
    return VerifiedSigner(statement.subject, statement.method, statement.at, statement.digest)


def _says(statement: SignedStatement, claim: MessageClaim) -> bool:
    said = (statement.act, statement.subject_of_act, statement.payload, statement.reason)
    claimed = (claim.act, claim.subject_of_act, claim.payload, claim.reason)
    return said == claimed and claim.digest in (None, statement.digest)


def _body(text: SignedText, model: type[Body]) -> Body | None:
    try:
        return model.model_validate_json(text.body, strict=True)
    except ValidationError:
        return None


def _time(text: str) -> datetime | None:
    """Return a moment with its zone; None for another text."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment
