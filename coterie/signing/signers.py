"""Signers: certificates by the root key, and signed statements by the keys that it certifies."""

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Literal, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from coterie.dsl.model.sections.worker_document import TEST_ROOT
from coterie.failures import CommandError
from coterie.signing.key_files import KeyFile, generate, key_file
from coterie.workflows.core.message_claims import claim_of
from coterie.workflows.core.messages import SignedInput
from coterie.workflows.core.requests import Pending, request_digest
from coterie.workflows.signatures.statements import (
    Authority,
    Certificate,
    Proof,
    Purpose,
    SignedStatement,
    SignedText,
)
from coterie.workflows.signatures.verification import (
    MAX_GATEWAY_LIFE,
    MAX_PERSON_LIFE,
    certificate_of,
    signed_bytes,
)

Message = TypeVar("Message", bound=SignedInput)

OWN_KEY = "key"
"""The method of a person who signs with a key of their own."""


def sign_text(key: KeyFile, purpose: Purpose, body: str) -> SignedText:
    """Return a text with its signature."""
    signature = key.signing_key.sign(signed_bytes(purpose, body))
    return SignedText(body=body, signature=b64encode(signature).decode())


def issue(
    root: KeyFile,
    kind: Literal["gateway", "person"],
    subject: str,
    *,
    life: timedelta,
    now: datetime,
    key: KeyFile | None = None,
) -> KeyFile:
    """Return a key with a certificate of the root.

    Args:
        root: Signs the certificate.
        kind: What the key may sign for.
        subject: The person, or the name of the gateway.
        life: From now on.
        now: The time.
        key: The key to certify again; None for a new one.

    Raises:
        CommandError: The life is too long.
    """
    longest = MAX_GATEWAY_LIFE if kind == "gateway" else MAX_PERSON_LIFE
    if not timedelta() < life <= longest:
        hours = longest // timedelta(hours=1)
        raise CommandError(f"the certificate of a {kind} lives at most {hours} hours")
    held = key or generate(kind)
    certificate = Certificate(
        kind=kind,
        key=held.public,
        subject=subject,
        not_before=_moment(now),
        not_after=_moment(now + life),
    )
    signed = sign_text(root, "certificate", certificate.model_dump_json())
    return held.model_copy(update={"coterie_key": kind, "certificate": signed})


class Signer:
    """Signs messages to runs for one person, with the key of that person or of a gateway."""

    def __init__(self, key: KeyFile, *, subject: str | None = None, method: str = OWN_KEY) -> None:
        """Take the key.

        Args:
            key: Of the person, or of a gateway.
            subject: Whom a gateway has verified; a person's key names its own.
            method: How the gateway verified that person.

        Raises:
            CommandError: The key cannot sign for this subject.
        """
        certificate = key.certified
        is_own = certificate.kind == "person"
        if is_own and (subject not in (None, certificate.subject) or method != OWN_KEY):
            raise CommandError(f"this key signs for {certificate.subject!r} only")
        if not is_own and (subject is None or method == OWN_KEY):
            raise CommandError(
                "a gateway signs for a person whom it has verified by its own method"
            )
        self._key = key
        self.subject = subject or certificate.subject
        self._method = method
        self._not_after = certificate.not_after

    def sign(
        self,
        asked: Message,
        authority: Authority,
        request: Pending | None,
        *,
        now: datetime | None = None,
    ) -> Message:
        """Return a message with its proof.

        Args:
            asked: The message; `by` becomes the signer's subject.
            authority: What the run demands.
            request: What the person saw, of a message about a request.
            now: The time; default: the machine's.

        Raises:
            CommandError: The run would not believe the signature, or the request was forged.
        """
        moment = now or datetime.now(UTC)
        if request is not None and not _is_digest_of_shown(request):
            raise CommandError(
                f"the digest of {request.id!r} is not that of what it shows; do not sign it"
            )
        if self._key.certificate is None or not isinstance(
            certificate_of(self._key.certificate, authority.root), Certificate
        ):
            raise CommandError(
                f"the run wants keys that the root {authority.root} has certified, and another "
                "root has certified this key"
            )
        if moment > datetime.fromisoformat(self._not_after):
            raise CommandError(
                f"the certificate of this key ended at {self._not_after}; renew it with "
                "`coterie keys issue`"
            )
        claim = claim_of(asked)
        statement = SignedStatement(
            run=authority.run,
            execution=authority.execution,
            act=claim.act,
            subject_of_act=claim.subject_of_act,
            digest=claim.digest or ("" if request is None else request.digest),
            payload=claim.payload,
            reason=claim.reason,
            subject=self.subject,
            method=self._method,
            at=_moment(moment),
        )
        signed = sign_text(self._key, "decision", statement.model_dump_json())
        proof = Proof(statement=signed, certificate=self._key.certificate)
        return asked.model_copy(update={"by": self.subject, "proof": proof})


def _is_digest_of_shown(request: Pending) -> bool:
    """Return whether the digest of a request is that of what it shows: a signature covers both."""
    shown = (request.origin, request.prompt, request.show)
    return request.digest in (request_digest(*shown), request_digest(*shown, request.call))


def test_signer(subject: str, now: datetime) -> Signer:
    """Return a signer of team tests, whose root everybody knows and no worker accepts."""
    root = key_file("root", Ed25519PrivateKey.from_private_bytes(_TEST_SEED))
    assert root.public == TEST_ROOT
    begin = now - timedelta(minutes=1)
    return Signer(
        issue(root, "gateway", "coterie test", life=timedelta(hours=1), now=begin, key=_TEST_KEY),
        subject=subject,
        method="coterie test",
    )


_TEST_SEED = sha256(b"coterie test root").digest()
_TEST_KEY = key_file("gateway", Ed25519PrivateKey.from_private_bytes(_TEST_SEED))


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds")
