"""The audit run of a deployment: what gateways and commands send it that belongs to no run."""

from typing import Annotated, Final, Literal

from pydantic import Field

from coterie.dsl.sizes import MAX_BY_LENGTH
from coterie.dsl.values import Frozen
from coterie.workflows.core.senders import MAX_ADDRESS
from coterie.workflows.signatures.statements import SignedText

AUDIT_WORKFLOW: Final = "AuditLogWorkflow"
AUDIT_SIGNAL: Final = "record"
MAX_RECORDS: Final = 200
"""Of one batch."""
START_OF_CHAIN: Final = "0" * 64

AuditedAct = Literal[
    "signed in",
    "signed out",
    "refused",
    "previewed",
    "created a token",
    "revoked a token",
    "exported",
    "deployed",
    "rolled back",
    "removed",
]
"""`refused`: an operation, a sign-in or a token; equal ones within a minute are one record."""

_Text = Annotated[str, Field(max_length=1_000)]


class AuditRecord(Frozen):
    """What somebody did, or tried."""

    act: AuditedAct
    at: Annotated[str, Field(max_length=40)]
    """ISO 8601, UTC."""
    subject: Annotated[str, Field(max_length=MAX_BY_LENGTH)] = ""
    """Empty: nobody has shown who it is."""
    name: Annotated[str, Field(max_length=MAX_BY_LENGTH)] = ""
    """With which it decides requests, if that is another one."""
    method: Annotated[str, Field(max_length=40)] = ""
    address: Annotated[str, Field(max_length=MAX_ADDRESS)] = ""
    door: Annotated[str, Field(max_length=40)] = ""
    about: _Text = ""
    """The operation, the token, the run of an export."""
    code: Annotated[str, Field(max_length=100)] = ""
    """Why it was refused."""
    count: int = 1
    until: Annotated[str, Field(max_length=40)] = ""
    """Time of the last one, if there were several."""


class AuditBatch(Frozen):
    """The signal of the audit run."""

    source: Annotated[str, Field(max_length=MAX_BY_LENGTH)]
    """The host and the process that send it."""
    records: Annotated[tuple[AuditRecord, ...], Field(max_length=MAX_RECORDS)] = ()
    lost: int = 0
    """Records that had no room, while no server answered or a flood came."""
    signature: SignedText | None = None
    """Of the gateway's key, over the digest of the records."""
    certificate: SignedText | None = None


class AuditLogInput(Frozen):
    """How the audit run starts: empty, or after its earlier histories."""

    batches: int = 0
    """In all earlier histories."""
    head: str = START_OF_CHAIN
    """Hash over all earlier batches, in their order."""
