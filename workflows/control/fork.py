"""Forking: a run that continues from a point of another one. Pure functions over RunState.

The new run counts all that the other had done and used. Open questions, pauses and remembered
approvals stay with the other run; its decisions stay readable.
"""

from datetime import datetime

from coterie.dsl.errors import RunRefused
from coterie.dsl.model.context.declarations import Declarations
from coterie.workflows.control.pause_and_amend import amend, amend_refusal
from coterie.workflows.control.steering_refusals import refusal_text
from coterie.workflows.core.causes.message_causes import Forked
from coterie.workflows.core.messages import AmendInput, ForkInput
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import PushReceivers
from coterie.workflows.core.trail import note_control


def fork_off(
    state: RunState, asked: ForkInput, at: str, now: datetime, declared: Declarations
) -> None:
    """Adopt the other run's state, with the requested changes to the context.

    Raises:
        RunRefused: the context cannot take these changes.
    """
    state.execution = ""  # this run has its own
    state.authority, state.used_proofs = None, {}
    state.progress.requests.clear()  # this run asks anew
    state.progress.sending_calls.clear()
    state.progress.parked_turns.clear()  # their batches belong to the other run
    state.pending, state.amendments, state.skips = {}, [], {}
    state.doing, state.talking, state.remembered = {}, [], {}
    state.notifications = {}  # sent for requests of the other run
    state.push = PushReceivers()  # whose clients know the other run
    state.paused = state.redirect = state.stop_by = None
    state.decisions = {
        id: decision if decision.run is not None else decision.model_copy(update={"run": asked.run})
        for id, decision in state.decisions.items()
    }
    note_control(state, now, Forked("forked", asked.run, at, asked.by, asked.why))
    if asked.updates:
        change = AmendInput(updates=asked.updates, by=asked.by, why=asked.why)
        wrong = amend_refusal(state, change, declared)
        if wrong is not None:
            raise RunRefused(refusal_text(wrong))
        state.amendments.append(change)
        amend(state, now, declared)
