"""Audit entries: what one line of an export tells. Texts of others are digests, never contents."""

from typing import Annotated, Literal

from pydantic import Field

from coterie.dsl.model.capabilities import Effect
from coterie.dsl.values import Frozen
from coterie.runs.effects_ledger import Certainty
from coterie.workflows.core.audit_messages import AuditBatch
from coterie.workflows.core.senders import Sender
from coterie.workflows.core.views import TrailKind


class ExportedPart(Frozen):
    """One history that an export covers."""

    run: str
    run_id: str
    events: int
    """How many events it had."""
    first: int = 1
    """The first event that counts: a reset run repeats those before."""
    superseded_by: str = ""
    """The run id of the history that a reset put in its place."""


class ExportOpened(Frozen):
    """The first line."""

    kind: Literal["export"]
    of: Literal["run", "gateway"]
    id: str
    parts: tuple[ExportedPart, ...]
    """Oldest first: the runs that this one was forked from, then its own."""
    missing: tuple[str, ...] = ()
    """Run ids of earlier histories that the server has deleted."""
    at: str
    """ISO 8601, UTC, as all times here."""
    by: Sender
    version: str


class PartStarted(Frozen):
    """A history begins."""

    kind: Literal["started"]
    at: str
    run: str
    run_id: str
    team: str = ""
    sender: Sender | None = None
    context: str = ""
    """Digest of the context that the start gives."""
    continues: str = ""
    """The run id of the history before, of a run that continued as new."""
    forked_from: str = ""
    earlier_batches: int = 0
    """Of an audit run: how many batches its earlier histories had."""
    earlier_head: str = ""
    """The hash over them, in their order."""
    point: str = ""
    """Of a fork: the visit, or the message of a session; empty: where the run failed."""
    by: str = ""
    why: str = ""


class MessageSent(Frozen):
    """Somebody decided, steered, or sent a message."""

    kind: Literal["message"]
    at: str
    event: int
    name: str
    """Of the update or the signal."""
    about: str = ""
    """The request, the task, the team or the paths of the context."""
    decision: str = ""
    by: str = ""
    why: str = ""
    sender: Sender | None = None
    digest: str
    """Of the whole message."""
    signed_by: str = ""
    """Person, method and time, where the signature holds under the root that the run records."""
    outcome: Literal["taken", "refused", "open", "sent"]
    """`sent`: a signal; a later line tells what the run made of it."""
    code: str = ""
    """Of the refusal."""


class EffectMade(Frozen):
    """A call that may have changed something."""

    kind: Literal["effect"]
    at: str
    """When it ended; of a call in progress, when it began."""
    began: str
    step: str
    skill: str
    effect: Effect
    certainty: Certainty
    why: str = ""
    input: str
    """Digest."""
    key: str


class Noted(Frozen):
    """What the run itself recorded: requests and their decisions, refusals, steering, budgets."""

    kind: Literal["noted"]
    at: str
    number: int
    """In the trail."""
    entry: TrailKind
    team: str
    visit: int
    step: str = ""
    status: str = ""
    because: str = ""


class CancelAsked(Frozen):
    """Somebody cancelled the run."""

    kind: Literal["cancel"]
    at: str
    event: int
    reason: str = ""
    sender: Sender | None = None


class PartEnded(Frozen):
    """A history ends."""

    kind: Literal["ended"]
    at: str
    state: str
    """`completed` and its like, `continued as new`, or `reset`."""
    why: str = ""


class GatewayNoted(Frozen):
    """What the audit run received from a gateway or a command."""

    kind: Literal["gateway"]
    at: str
    event: int
    batch: AuditBatch
    sender: Sender | None = None


AuditEntry = Annotated[
    ExportOpened
    | PartStarted
    | MessageSent
    | EffectMade
    | Noted
    | CancelAsked
    | PartEnded
    | GatewayNoted,
    Field(discriminator="kind"),
]
