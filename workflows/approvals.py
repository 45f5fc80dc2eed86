"""Approvals: one mechanism for every wait for a person. Pure functions over RunState.

A request is bound to its visit, so an old decision can never pass a later round. Whatever is
unknown, closed or not allowed is refused, and a refusal changes nothing (design 5).
"""

from datetime import datetime, timedelta
from typing import Literal, assert_never

from pydantic import JsonValue

from dsl.errors import listed
from dsl.outcomes import Outcome
from workflows.messages import DecideInput, Decision, Pending
from workflows.place import Place
from workflows.scope import Interrupted, Scope
from workflows.state import RunState

OnTimeout = Literal["reject", "approve", "fail"]


def refusal(state: RunState, asked: DecideInput) -> str | None:
    """Why this decision cannot be taken, or None when it can."""
    earlier = state.decisions.get(asked.id)
    if earlier is not None:
        return f"{asked.id!r} is closed: {earlier.by} {earlier.verdict} it at {earlier.at}"
    request = state.pending.get(asked.id)
    if request is None:
        return f"nothing waits under {asked.id!r}; pending: {listed(state.pending)}"
    if request.approvers and asked.by not in request.approvers:
        return f"{asked.by!r} may not decide {asked.id!r}; allowed: {listed(request.approvers)}"
    return None


def record(
    state: RunState, asked: DecideInput, at: datetime, how: Literal["update", "signal", "deadline"]
) -> Decision:
    """Take a decision that is not refused: the request is closed at once."""
    decision = Decision(
        id=asked.id,
        verdict="approved" if asked.decision == "approve" else "rejected",
        by=asked.by,
        comment=asked.comment,
        at=at.isoformat(timespec="milliseconds"),
        how=how,
    )
    del state.pending[asked.id]
    state.decisions[asked.id] = decision
    return decision


async def ask(
    scope: Scope,
    place: Place,
    prompt: str,
    *,
    show: JsonValue = None,
    approvers: tuple[str, ...] = (),
    deadline: float | None = None,
    on_timeout: OnTimeout = "reject",
) -> Decision | None:
    """Wait for a person's decision; None when the deadline passed and that means failure."""
    state = scope.state
    block = place.block(scope, "ask")
    if not block.results:
        block.results.append(_request(scope, place, prompt, show, approvers, deadline, on_timeout))
    request_id = str(block.results[0])
    await scope.checkpoint()
    waiting = state.pending.get(request_id)
    began = scope.time()
    if waiting is not None:
        began = datetime.fromisoformat(waiting.since).timestamp()
        if waiting.deadline is not None:
            until = datetime.fromisoformat(waiting.deadline).timestamp()
            deadline = max(until - scope.time(), 0)
    try:
        await scope.wait_until(
            lambda: request_id not in state.pending, deadline, f"deadline of {request_id}"
        )
    except Interrupted:
        raise
    except BaseException:  # cancelled: nobody is asked any more
        state.pending.pop(request_id, None)
        raise
    place.close_block(scope, "ask")
    if request_id in state.pending and not _by_deadline(scope, request_id, on_timeout):
        place.note(scope, "approval", f"{request_id}: nobody decided in time", status="failure")
        return None
    decision = state.decisions[request_id]
    because = f"{request_id} {decision.verdict} by {decision.by}"
    if decision.comment:
        because += f": {decision.comment}"
    place.note(scope, "approval", because, status=decision.verdict, since=began)
    return decision


def _request(
    scope: Scope,
    place: Place,
    prompt: str,
    show: JsonValue,
    approvers: tuple[str, ...],
    deadline: float | None,
    on_timeout: OnTimeout,
) -> str:
    """Open a request and give its id, bound to this visit."""
    key = f"{place.team}/{place.path}"
    request_id = f"{key}#{scope.state.executed(f'?{key}')}"
    now = scope.now()
    until = None if deadline is None else now + timedelta(seconds=deadline)
    scope.state.pending[request_id] = Pending(
        id=request_id,
        prompt=prompt,
        show=show,
        approvers=approvers,
        since=now.isoformat(timespec="milliseconds"),
        deadline=None if until is None else until.isoformat(timespec="milliseconds"),
        on_timeout=None if until is None else on_timeout,
    )
    return request_id


def rejected(decision: Decision | None) -> Outcome:
    """The failure of what a person did not allow."""
    if decision is None:
        return Outcome.failed("NotDecided", "nobody decided in time")
    reason = decision.comment or "no reason given"
    return Outcome.failed("Rejected", f"{decision.by} rejected it: {reason}")


def _by_deadline(scope: Scope, request_id: str, on_timeout: OnTimeout) -> bool:
    """Decide by what the file says of silence; False when it says that silence fails."""
    match on_timeout:
        case "fail":
            del scope.state.pending[request_id]
            return False
        case "approve" | "reject":
            answer = DecideInput(
                id=request_id, decision=on_timeout, by="deadline", comment="nobody decided in time"
            )
            record(scope.state, answer, scope.now(), "deadline")
            return True
        case _:
            assert_never(on_timeout)
