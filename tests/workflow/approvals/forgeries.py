"""What a red team sends that has everything but a private key."""

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from coterie.dsl.model.sections.worker_document import TEST_ROOT
from coterie.dsl.values import Json
from coterie.signing.key_files import KeyFile, generate
from coterie.signing.signers import Signer, issue, sign_text, test_signer
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Pending
from coterie.workflows.signatures.statements import Authority, Certificate, Proof
from tests.workflow.approvals.signed_fleet import HOUR, ROOT, person

ID = "only/sign#1"
DAY = timedelta(days=1)
FOREIGN = generate("root")


@dataclass(frozen=True)
class Scene:
    """What the red team knows: everything but a private key."""

    authority: Authority
    request: Pending
    now: datetime
    taken: Proof
    """The proof of a decision that the run has taken."""

    def asked(self, **changes: Any) -> DecideInput:
        return DecideInput(id=ID, decision="approve", comment="fine").model_copy(update=changes)

    def by(self, signer: Signer, **changes: Any) -> Json:
        """What this signer would send."""
        at = cast("datetime", changes.pop("at", self.now))
        authority = self.authority.model_copy(update=changes.pop("authority", {}))
        shown = cast("Pending", changes.pop("request", self.request))
        said = signer.sign(self.asked(**changes), authority, shown, now=at)
        return said.model_dump(exclude_defaults=True, exclude={"by"})

    def foreign(self, root: KeyFile) -> Json:
        signer = person("ann", root=root, now=self.now)
        return self.by(signer, authority={"root": root.public})


def forged(message: Json, **changes: str) -> Json:
    """Change what a signed statement says."""
    said = json.loads(json.dumps(message))
    statement = json.loads(said["proof"]["statement"]["body"]) | changes
    said["proof"]["statement"]["body"] = json.dumps(statement)
    return said


def with_certificate(message: Json, **changes: str) -> Json:
    """Change what a certificate says."""
    said = json.loads(json.dumps(message))
    certificate = json.loads(said["proof"]["certificate"]["body"]) | changes
    said["proof"]["certificate"]["body"] = json.dumps(certificate)
    return said


def stating(scene: Scene, signer: str = "mallory", **changes: str) -> Json:
    """A certified person who states what that certificate does not cover."""
    key = issue(ROOT, "person", signer, life=HOUR, now=scene.now)
    message = scene.by(Signer(key))
    statement = json.loads(cast("Any", message)["proof"]["statement"]["body"]) | changes
    again = sign_text(key, "decision", json.dumps(statement))
    return {**message, "proof": {**cast("Any", message)["proof"], "statement": again.model_dump()}}


def long_lived(scene: Scene) -> Json:
    """A certificate that the root signed for longer than any worker allows."""
    key = generate("person")
    body = Certificate(
        kind="person",
        key=key.public,
        subject="ann",
        not_before=scene.now.isoformat(),
        not_after=(scene.now + 400 * DAY).isoformat(),
    )
    signed_by_root = sign_text(ROOT, "certificate", body.model_dump_json())
    held = key.model_copy(update={"coterie_key": "person", "certificate": signed_by_root})
    message = scene.by(person("ann", now=scene.now))
    statement = sign_text(held, "decision", cast("Any", message)["proof"]["statement"]["body"])
    proof = Proof(statement=statement, certificate=signed_by_root)
    return {**message, "proof": proof.model_dump()}


def ann(scene: Scene) -> Signer:
    return person("ann", now=scene.now - timedelta(minutes=1))


def swapped(scene: Scene) -> Json:
    """A certificate in the place of the statement: another purpose."""
    message: Any = scene.by(ann(scene))
    return {**message, "proof": {**message["proof"], "statement": message["proof"]["certificate"]}}


FORGERIES: dict[str, tuple[str, Callable[[Scene], Json]]] = {
    "no signature": ("SignatureRequired", lambda s: s.asked().model_dump(exclude_defaults=True)),
    "a foreign root": ("foreign_root", lambda s: s.foreign(FOREIGN)),
    "the root of team tests": (
        "foreign_root",
        lambda s: s.by(test_signer("ann", s.now), authority={"root": TEST_ROOT}),
    ),
    "an altered certificate": (
        "foreign_root",
        lambda s: with_certificate(s.by(ann(s)), subject="boss"),
    ),
    "a person's certificate made one of a gateway": (
        "foreign_root",
        lambda s: with_certificate(s.by(ann(s)), kind="gateway"),
    ),
    "a certificate for years": ("life_too_long", long_lived),
    "a certificate as a statement": ("bad_signature", swapped),
    "an altered name": ("bad_signature", lambda s: forged(s.by(ann(s)), subject="boss")),
    "an altered time": ("bad_signature", lambda s: forged(s.by(ann(s)), at=s.now.isoformat())),
    "an altered digest": ("bad_signature", lambda s: forged(s.by(ann(s)), digest="0" * 64)),
    "another person's name": ("other_person", lambda s: stating(s, subject="ann")),
    "a method that only gateways have": (
        "other_person",
        lambda s: stating(s, method="oidc https://id.example"),
    ),
    "no time zone": ("bad_statement", lambda s: stating(s, at="2026-11-29T02:00:00")),
    "another digest, well signed": ("RequestChanged", lambda s: stating(s, "ben", digest="0" * 64)),
    "a key that nobody knows": ("bad_statement", lambda s: stating(s, sudo="yes")),
    "a statement after its certificate": (
        "outside_life",
        lambda s: stating(s, at=(s.now + 2 * HOUR).isoformat()),
    ),
    "a statement before its certificate": (
        "outside_life",
        lambda s: stating(s, at=(s.now - HOUR).isoformat()),
    ),
    "an old statement under an old certificate": (
        "too_late",
        lambda s: s.by(person("ann", now=s.now - 3 * DAY, life=DAY), at=s.now - 2 * DAY),
    ),
    "a statement from the future": (
        "from_future",
        lambda s: s.by(person("ann", now=s.now, life=DAY), at=s.now + HOUR),
    ),
    "a statement for another run": (
        "other_run",
        lambda s: s.by(ann(s), authority={"run": str(uuid.UUID(int=1))}),
    ),
    "a statement for another execution": (
        "other_execution",
        lambda s: s.by(ann(s), authority={"execution": "0" * 64}),
    ),
    "a rejection sent as an approval": (
        "other_message",
        lambda s: {**s.by(ann(s), decision="reject"), "decision": "approve"},
    ),
    "a decision about another request": (
        "other_message",
        lambda s: {**s.by(ann(s), id="only/again#1"), "id": ID},
    ),
    "an altered comment": ("other_message", lambda s: {**s.by(ann(s)), "comment": "no"}),
    "an added value": ("other_message", lambda s: {**s.by(ann(s)), "payload": None}),
    "another digest beside the signed one": (
        "other_message",
        lambda s: {**s.by(ann(s)), "digest": "0" * 64},
    ),
    "a decision that the run has taken": (
        "used",
        lambda s: {**s.asked().model_dump(exclude_defaults=True), "proof": s.taken.model_dump()},
    ),
}
