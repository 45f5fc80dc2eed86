"""Requests for a person's decision: while they wait, and how they were decided."""

from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field, JsonValue

from coterie.dsl.egress.met_labels import MetLabel
from coterie.dsl.json_values import json_digest
from coterie.dsl.model.capabilities import Effect
from coterie.dsl.values import Frozen, Json
from coterie.workflows.core.causes.people_causes import ApprovalAsked
from coterie.workflows.signatures.statements import Proof

Verdict = Literal["approved", "rejected", "counted", "retried", "skipped", "failed"]

How = Literal["update", "signal", "deadline", "remembered"]


class PlannedCall(Frozen):
    """A call that a request is about, before it is made."""

    name: str
    """`Name.method` of a tool function, or the function or the server's tool."""
    effect: Effect
    input: JsonValue = None
    """Its input, if it may change files, and the request shows something else."""


class Pending(Frozen):
    """A request that waits for a person."""

    id: str
    prompt: str
    show: JsonValue = None
    digest: str = ""
    """SHA-256 of the origin, the prompt and what is shown, as JSON; also of the input of the call,
    if something else is shown.
    """
    digest_required: bool = False
    """Whether every decision must name the digest."""
    edited: bool = False
    """Whether the value shown has changed since the request opened; a decision then names its
    digest.
    """
    approvers: tuple[str, ...] = ()
    """Everyone who may decide; anyone when empty."""
    quorum: int = 1
    """How many people must approve."""
    choices: tuple[str, ...] = ()
    """The decisions allowed about a failed task; empty for an approval."""
    call: PlannedCall | None = None
    """The call that would run, if it may change something, or sends data out."""
    commit: tuple[str, ...] = Field(default=(), exclude=True)
    """The diff of what the call would commit; read where the files are, never by the run."""
    asked: ApprovalAsked | None = None
    """What the condition of the approval found; None if it has none."""
    asked_because: str = ""
    """The same in words: `context.amount is 120 (context.amount > 100)`."""
    met: tuple[MetLabel, ...] = ()
    """Why a call that sends data out asks: what the run has met, and the calls that brought it."""
    approved_by: tuple[str, ...] = ()
    """Who has approved so far, where one is not enough."""
    proofs: tuple[Proof, ...] = ()
    """Of these approvals, if the run takes only signed decisions."""
    editable: bool = False
    payload_schema: Json | None = None
    """JSON Schema that an edited value must meet."""
    changes: tuple[str, ...] = ()
    """What was changed so far, and by whom: `pages: 3 -> 4 (ann)`."""
    since: str
    """ISO 8601, UTC."""
    origin: str = ""
    """Digest of the run, the execution in which the request opened, and the id, so that the digest
    of this request fits no other. The run carries it along when it continues as new."""
    deadline: str | None = None
    """ISO 8601, UTC."""
    on_timeout: str | None = None
    reminders: int = 0
    escalations: int = 0
    notified: bool = False
    """Whether the run has sent the first notification, if the plan names a channel."""
    stood_still: float = 0.0
    """Seconds of pauses since then; they do not count."""
    remembered_as: str | None = None
    """The key under which an approval answers equal requests of this run."""
    via: Literal["mcp"] | None = None
    """Where else a person may decide: at an MCP client."""
    is_question: bool = False
    """Whether it only asks for an answer, and approves nothing."""
    sign_in: str | None = None
    """The MCP server at which a person must sign in; then an approval makes the call again."""
    cut: bool = False
    """Whether this copy is cut: the query `request` returns the whole request."""
    signed: bool = False
    """Whether a decision needs a signature; of a copy for readers, as its run demands."""

    @property
    def given(self) -> JsonValue:
        """The input of the call, whatever the request shows."""
        behind = None if self.call is None else self.call.input
        return self.show if behind is None else behind

    @property
    def changing_call(self) -> str:
        """The function, function or server's tool that would run, if it may change something."""
        return "" if self.call is None or self.call.effect == "read" else self.call.name

    @property
    def at_deadline(self) -> str | None:
        """What happens when nobody decides in time: no deadline approves a changed value."""
        return "fail" if self.edited and self.on_timeout == "approve" else self.on_timeout


def origin_digest(run: str, execution: str, request: str) -> str:
    """Return the digest of the run, its execution and the id of a request."""
    return json_digest(run, execution, request)


def request_digest(
    origin: str, prompt: str, show: JsonValue, call: PlannedCall | None = None
) -> str:
    """Return the digest of one request and what it shows, which a decision may name.

    It covers the execution and the request, so a decision that somebody copies fits nowhere else.
    """
    behind = () if call is None or call.input is None else (call.input,)
    return json_digest(origin, prompt, show, *behind)


class Decision(Frozen):
    """A decided request, as the state keeps it."""

    id: str
    verdict: Verdict
    """`counted`: an approval, but more people must approve; `retried`, `skipped` and `failed`: the
    decision about a failed task, or about one that a person skipped.
    """
    by: str
    """Who decided; everyone who approved, if several had to."""
    comment: str = ""
    at: str
    """ISO 8601, UTC."""
    how: How
    payload: JsonValue = None
    """The value as approved, with all changes, if the request was editable."""
    changes: tuple[str, ...] = ()
    """What changed, and who changed it: `pages: 3 -> 4 (ann)`."""
    digest: str = ""
    """Digest of what was decided: the prompt and the value shown, with all changes."""
    run: str | None = None
    """The run that got the decision, if this run was forked from it later."""
    proofs: tuple[Proof, ...] = ()
    """The signed statements of those who decided, if the run takes only signed decisions."""

    @property
    def brief(self) -> "Decision":
        """The decision without its proofs, which its sender knows."""
        return self.model_copy(update={"proofs": ()}) if self.proofs else self


class RequestView(Frozen):
    """One request in full: waiting or decided."""

    pending: Pending | None = None
    decision: Decision | None = None


MALFORMED: Final = "Malformed"
"""The code of a refused message that is malformed."""
NOT_YET: Final = "NotYet"
"""The code of `RunNotReady`."""


@dataclass(frozen=True, slots=True)
class RunNotReady:
    """The run has not begun, or is moving to its next wait: the same message may be valid then."""

    message: str = "the run does not read messages yet; send this again"
    code: Literal["NotYet"] = NOT_YET
