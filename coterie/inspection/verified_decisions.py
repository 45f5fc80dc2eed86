"""Verified decisions: who decided what in a run, proved by its history and the root key alone.

The history is replayed, so that each message is judged again, and the decisions of the replayed run
are verified once more under a root key that the reader brings: a history that names another root,
or none, proves nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from pydantic import ValidationError
from temporalio.client import WorkflowHistory

from coterie.replay.observed_replay import ReceivedMessage, ReplayObserver, observed
from coterie.runs.histories.history_events import started
from coterie.workflows.core.requests import Decision
from coterie.workflows.core.state import RunState
from coterie.workflows.signatures.statements import Authority, Proof, SignedStatement
from coterie.workflows.signatures.verification import ProofProblem, statement_of
from coterie.workflows.team import TeamWorkflow

_VERDICTS: dict[str, tuple[str, ...]] = {
    "approve": ("approved", "counted"),
    "reject": ("rejected", "failed"),
    "retry": ("retried",),
    "skip": ("skipped",),
}
"""What each signed act makes of a request."""


@dataclass(frozen=True, slots=True)
class VerifiedAct:
    """One thing that people, or a deadline, decided."""

    what: str
    """`approved pay/sign#1`."""
    people: tuple[str, ...] = ()
    """`ann by key at 2026-11-29T02:00:00.000+00:00`."""
    note: str = ""
    """Why it needs no signature of its own."""
    problem: str = ""
    """Why it is not proved."""


@dataclass(frozen=True, slots=True)
class VerifiedRun:
    """What a history proves."""

    run: str
    acts: tuple[VerifiedAct, ...]
    problem: str = ""
    """Why it proves nothing."""

    @property
    def is_proved(self) -> bool:
        """Whether every decision is proved."""
        return not self.problem and not any(act.problem for act in self.acts)


@dataclass(slots=True)
class _CollectingState(RunState):
    """The state of a replayed run, which keeps every decision."""

    collected: list[Decision] = field(default_factory=list[Decision])

    def decide(self, decision: Decision, *, awaited: bool = True) -> None:
        self.collected.append(decision)
        RunState.decide(self, decision, awaited=awaited)


class _DecisionCollector(ReplayObserver):
    """Collects the decisions of a run, and the signed changes of its course."""

    def __init__(self) -> None:
        super().__init__()
        self.state = _CollectingState()
        self.changes: list[ReceivedMessage] = []

    def run_started(self, run: TeamWorkflow) -> None:
        values = {part.name: getattr(run.state, part.name) for part in fields(RunState)}
        run.state = self.state = _CollectingState(**values)

    def received(self, message: ReceivedMessage) -> None:
        if message.name in ("amend", "redirect", "say"):
            self.changes.append(message)


async def verify_history(history: WorkflowHistory, roots: Sequence[str]) -> VerifiedRun:
    """Return what one part of a run proves.

    Args:
        history: Of the part, with all its values.
        roots: The public root keys that the reader trusts.
    """
    collector = _DecisionCollector()
    failure = await observed(history, collector)
    run = history.workflow_id
    if failure is not None:
        return VerifiedRun(run, (), f"the history does not replay, so it may be changed: {failure}")
    state, authority = collector.state, collector.state.authority
    if authority is None:
        return VerifiedRun(run, (), "the run takes decisions without signature: it proves no name")
    if authority.root not in roots:
        return VerifiedRun(run, (), f"the run trusts another root key: {authority.root}")
    if authority.run != started(history).first:
        return VerifiedRun(run, (), "the run believes that it is another one")
    kept = [decision for decision in state.decisions.values() if decision.run is not None]
    acts = [
        *(_decision_proof(decision, roots, authority) for decision in [*kept, *state.collected]),
        *(_change_proof(message, roots, authority) for message in collector.changes),
    ]
    return VerifiedRun(run, tuple(acts))


def _decision_proof(decision: Decision, roots: Sequence[str], authority: Authority) -> VerifiedAct:
    what = f"{decision.verdict} {decision.id}"
    if decision.how == "deadline":
        return VerifiedAct(what, note=f"by its deadline at {decision.at}, which needs no signature")
    if not decision.proofs:
        return VerifiedAct(what, problem=f"{decision.by!r} is only a name: it has no signature")
    people: list[str] = []
    for proof in decision.proofs:
        statement = _statement(proof, roots)
        if not isinstance(statement, SignedStatement):
            return VerifiedAct(what, problem=f"a signature does not hold: {statement}")
        problem = _mismatch(decision, statement, authority)
        if problem:
            return VerifiedAct(what, problem=problem)
        people.append(_person(statement))
    return VerifiedAct(what, tuple(people), note=_origin(decision, decision.proofs, roots))


def _origin(decision: Decision, proofs: Sequence[Proof], roots: Sequence[str]) -> str:
    statement = _statement(proofs[0], roots)
    if decision.run is not None and isinstance(statement, SignedStatement):
        return f"in the run {decision.run} ({statement.run}), from which this one was forked"
    return decision.comment if decision.how == "remembered" else ""


def _mismatch(decision: Decision, statement: SignedStatement, authority: Authority) -> str:
    """Return why a valid statement does not prove this decision; nothing if it does."""
    if decision.verdict not in _VERDICTS.get(statement.act, ()):
        return f"{statement.subject} signed {statement.act}"
    names_request = statement.act in ("approve", "reject")
    if decision.run is None and statement.run != authority.run:
        return f"{statement.subject} signed it for another run"
    if decision.how == "remembered":
        return ""
    if names_request and statement.subject_of_act != decision.id:
        return f"{statement.subject} signed it for {statement.subject_of_act}"
    return ""


def _change_proof(
    message: ReceivedMessage, roots: Sequence[str], authority: Authority
) -> VerifiedAct:
    try:
        said = message.said if isinstance(message.said, dict) else {}
        proof = Proof.model_validate(said.get("proof"))
    except ValidationError:
        return VerifiedAct(message.name, problem="it has no signature")
    statement = _statement(proof, roots)
    if not isinstance(statement, SignedStatement):
        return VerifiedAct(message.name, problem=f"a signature does not hold: {statement}")
    if (statement.act, statement.run) != (message.name, authority.run):
        return VerifiedAct(message.name, problem=f"{statement.subject} signed something else")
    return VerifiedAct(f"{message.name} {statement.subject_of_act}".strip(), (_person(statement),))


def _statement(proof: Proof, roots: Sequence[str]) -> SignedStatement | ProofProblem:
    statement: SignedStatement | ProofProblem = "foreign_root"
    for root in roots:
        statement = statement_of(proof, root)
        if isinstance(statement, SignedStatement) or statement != "foreign_root":
            return statement
    return statement


def _person(statement: SignedStatement) -> str:
    return f"{statement.subject} by {statement.method} at {statement.at}"
