"""Tell A2A clients where the run is: it waits for a person or a message, works again, has ended.

A message holds the state alone. Who wants to know more gets the task, with its own rights. Without
a push configuration nothing happens here.
"""

from coterie.activities.contracts import Notification, PushTarget, TaskStanding
from coterie.dsl.json_values import json_digest
from coterie.dsl.model.outcomes import End
from coterie.workflows.control.steering_refusals import MessageUnusable
from coterie.workflows.core.messages import PushInput
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import PendingNotification

MAX_RECEIVERS = 5
"""Of one run."""


def push_refusal(state: RunState, asked: PushInput) -> MessageUnusable | None:
    """Return why the run does not take a push configuration, or None."""
    known = state.push.by_id
    if asked.removed or asked.id in known or len(known) < MAX_RECEIVERS:
        return None
    return MessageUnusable(
        "TooManyReceivers", f"a run has at most {MAX_RECEIVERS} push configurations; remove one"
    )


def change_receivers(state: RunState, asked: PushInput) -> int:
    """Add, replace or remove a push configuration; return how many there are."""
    if asked.removed:
        state.push.by_id.pop(asked.id, None)
    else:
        state.push.by_id[asked.id] = asked
    return len(state.push.by_id)


def push_state(scope: Scope, awaited: str = "") -> None:
    """Send where the run is, if that is new.

    Args:
        scope: The run.
        awaited: The step that waits for a message of the session; empty if none begins to.
    """
    state = scope.state
    if not state.push.by_id:
        return
    if state.pending or awaited:
        about = json_digest(awaited, state.session.received, *sorted(state.pending))
        _send(scope, "input_required", about)
    else:
        _send(scope, "working", "")


def push_end(scope: Scope, end: End) -> None:
    """Send how the run ended."""
    if not scope.state.push.by_id:
        return
    match end:
        case "completed":
            _send(scope, "completed", "")
        case "cancelled":
            _send(scope, "canceled", "")
        case _:
            _send(scope, "failed", "")


def _send(scope: Scope, standing: TaskStanding, about: str) -> None:
    state = scope.state
    if state.push.latest == f"{standing} {about}":
        return
    state.push.latest = f"{standing} {about}"
    for receiver in state.push.by_id.values():
        state.push.count += 1
        number = state.push.count
        message = Notification(
            id=f"msg_{json_digest(scope.run_id, state.execution, receiver.id, number)}",
            channel=receiver.id,
            what="state",
            number=number,
            text=f"the run is {standing}",
            run=scope.run_id,
            plan=scope.plan.name,
            request="",
            prompt="",
            digest="",
            since=scope.now().isoformat(timespec="milliseconds"),
            push=PushTarget(
                url=receiver.url,
                token=receiver.token,
                context=receiver.context or scope.run_id,
                state=standing,
            ),
        )
        track = state.main
        scope.notify(
            PendingNotification(message, f"push.{number:04}", track.team or "", track.visit, None)
        )
