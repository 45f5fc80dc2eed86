"""Statements: what a person's decision signs, who may sign it, and what a run demands.

Pure types, without cryptography: `verification` checks them, `coterie.signing` makes them.

A signed text is a small JSON text with the signature over its bytes, so nobody has to agree on a
canonical form of JSON. The signed bytes begin with a prefix for each purpose: a certificate never
passes for a decision.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from coterie.dsl.sizes import MAX_BY_LENGTH, MAX_NAME_LENGTH
from coterie.dsl.values import Frozen

Purpose = Literal["certificate", "decision", "audit"]
"""`audit`: the seal of an exported audit log, or a batch of a gateway's audit records."""

Act = Literal["approve", "reject", "retry", "skip", "amend", "redirect", "say"]
"""What a message asks of a run."""

Base64 = Annotated[str, Field(max_length=100)]
"""A key of 32 bytes, or a signature of 64."""

_MAX_BODY_LENGTH = 4_000
_MAX_TIME_LENGTH = 40


class SignedText(Frozen):
    """A text and its signature."""

    body: Annotated[str, Field(max_length=_MAX_BODY_LENGTH)]
    """JSON."""
    signature: Base64
    """Ed25519, over the prefix of the purpose and the UTF-8 bytes of the body."""


class Proof(Frozen):
    """Why a run may believe a message: the signed statement, and the certificate of its signer."""

    statement: SignedText
    certificate: SignedText


class Certificate(Frozen):
    """The body of a certificate, which the root signs."""

    kind: Literal["gateway", "person"]
    """`gateway`: signs for the people that it has verified; `person`: signs for its subject."""
    key: Base64
    """The public key of the signer."""
    subject: Annotated[str, Field(min_length=1, max_length=MAX_BY_LENGTH)]
    """The person, or the name of the gateway."""
    not_before: Annotated[str, Field(max_length=_MAX_TIME_LENGTH)]
    """ISO 8601 with a zone, as all times here."""
    not_after: Annotated[str, Field(max_length=_MAX_TIME_LENGTH)]


class SignedStatement(Frozen):
    """The body of a signed message."""

    run: str
    """Temporal's id of the first execution of the run (`first_execution_run_id`)."""
    execution: str
    """The run's own mark of that execution, which a reset changes."""
    act: Act
    subject_of_act: Annotated[str, Field(max_length=MAX_NAME_LENGTH)]
    """Id of the request; the task, or the team, of a message about one."""
    digest: str = ""
    """Of what the request showed."""
    payload: str = ""
    """Digest of the value that the message brings; empty if it brings none."""
    reason: str = ""
    """Digest of the comment, or of why; empty without one."""
    subject: Annotated[str, Field(min_length=1, max_length=MAX_BY_LENGTH)]
    """The verified person."""
    method: Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH)]
    """How the signer verified the person: `key`, `oidc https://id.example`."""
    at: Annotated[str, Field(max_length=_MAX_TIME_LENGTH)]


@dataclass(frozen=True, slots=True)
class MessageClaim:
    """What the statement of a message must say, as the message itself says it."""

    act: Act
    subject_of_act: str
    payload: str
    reason: str
    digest: str | None = None
    """The digest that the message names, if it names one."""


class Authority(Frozen):
    """What a run demands of decisions; recorded as the run starts, and never changed."""

    root: str
    """The public key that signs certificates."""
    run: str
    """Temporal's id of the first execution."""
    execution: str
    """Changes when the run is reset."""


@dataclass(frozen=True, slots=True)
class VerifiedSigner:
    """Who signed, how that person was verified, and when."""

    subject: str
    method: str
    at: str
    digest: str
    """Of what the person saw."""
