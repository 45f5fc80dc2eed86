"""What the ledgers of the runs say of their payments, compared with what the bank has counted."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from temporalio.client import WorkflowHistory

from coterie.activities.contracts import FunctionRequest, FunctionResult
from coterie.replay.rebuilt_run import NotFollowed, rebuilt
from coterie.runs.effects_ledger import Certainty, LedgerEffect, effects_of
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.histories.recorded_calls import RecordedCall, in_visits, recorded_calls
from tests.chaos.effect_runs.effect_plan import SETTLED, EffectRun

_CHECK = "bank_tools:was_paid"
_SETTLED: tuple[Certainty, ...] = ("verified", "answered")


@dataclass(frozen=True, slots=True)
class SeenRun:
    """A run that has ended."""

    run: EffectRun
    rows: Sequence[LedgerEffect]
    answers: Sequence[bool]
    """Whether it was paid, as the bank or a person has answered, once for each unknown outcome."""
    completed: bool


async def seen_run(run: EffectRun, history: WorkflowHistory, end: RunEnd) -> SeenRun:
    """Read a run from its history and its result, as its page and the audit log do."""
    own = await rebuilt(history)
    assert not isinstance(own, NotFollowed), own
    calls = recorded_calls(history)
    in_visits(calls, own.trail)
    rows = effects_of(own.plan, calls, own.trail, has_ended=True)
    return SeenRun(run, rows, _answers(run, calls, end), end.completed)


def _answers(run: EffectRun, calls: Sequence[RecordedCall], end: RunEnd) -> list[bool]:
    if run.kind == "asked":
        decisions = () if end.result is None else end.result.decisions
        return [decision.verdict == "approved" for decision in decisions]
    checks = [call for call in calls if _function(call) == _CHECK]
    return [_data(check) == "done" for check in checks]


def _function(call: RecordedCall) -> str:
    return call.request.skill if isinstance(call.request, FunctionRequest) else ""


def _data(call: RecordedCall) -> object:
    return call.answer.data if isinstance(call.answer, FunctionResult) else None


def check_run(seen: SeenRun, counted: Collection[str], effects: int) -> list[str]:
    """Return where a ledger and the bank do not agree.

    Args:
        seen: The run.
        counted: The keys of all payments that the bank has counted.
        effects: How often it has counted the order of this run.
    """
    run = seen.run
    wrong = [
        f"{row.certainty}, and the bank {'has' if row.key in counted else 'lacks'} it"
        for row in seen.rows
        if not _agrees(row.certainty, is_counted=row.key in counted)
    ]
    wrong += _settled(seen, counted, effects) if run.kind in SETTLED else _left(seen, effects)
    return [f"{run.order} ({run.kind}, {', '.join(run.points)}): {one}" for one in wrong]


def _agrees(certainty: Certainty, *, is_counted: bool) -> bool:
    match certainty:
        case "done":
            return is_counted
        case "not done":
            return not is_counted
        case "unknown" | "verified" | "answered":
            return True
        case "in progress":
            return False


def _settled(seen: SeenRun, counted: Collection[str], effects: int) -> list[str]:
    """Check a run that pays once whatever happens, and whose doubts are all answered."""
    run, wrong = seen.run, list[str]()
    if not seen.completed:
        wrong.append("it has not completed")
    if effects != 1:
        wrong.append(f"it was paid {effects} times")
    doubts = [row.key in counted for row in seen.rows if row.certainty in _SETTLED]
    if list(seen.answers) != doubts:
        wrong.append(f"of {doubts}, the answers were {list(seen.answers)}")
    settled = {row.certainty for row in seen.rows} - {"done", "not done"}
    if not settled <= {"answered" if run.kind == "asked" else "verified"}:
        wrong.append(f"its ledger has {', '.join(sorted(settled))}")
    return wrong


def _left(seen: SeenRun, effects: int) -> list[str]:
    """Check a run that leaves a doubt as it is."""
    wrong: list[str] = []
    certainties = [row.certainty for row in seen.rows]
    if effects > 1:
        wrong.append(f"it was paid {effects} times")
    if certainties != (["done"] if seen.completed else ["unknown"]):
        wrong.append(f"its ledger says {certainties}")
    return wrong


def summary(runs: Sequence[SeenRun], counted: Collection[str]) -> list[str]:
    """Return the figures of all ledgers."""
    rows = [row for seen in runs for row in seen.rows]
    certain = Counter(row.certainty for row in rows)
    doubts = [row for row in rows if row.certainty in (*_SETTLED, "unknown")]
    has = sum(row.key in counted for row in doubts)
    return [
        f"{len(runs)} runs, {len(rows)} calls in their ledgers: {certain['done']} done, "
        f"{certain['not done']} not done, {certain['verified']} verified, {certain['answered']} "
        f"answered by a person, {certain['unknown']} unknown",
        f"of the {len(doubts)} whose outcome was unknown, the bank has {has} and lacks "
        f"{len(doubts) - has}",
    ]
