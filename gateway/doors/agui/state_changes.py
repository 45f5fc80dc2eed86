"""The event for a new state: the difference, where that is shorter. Pure; slow if it is large."""

from typing import NamedTuple

from ag_ui.core import BaseEvent, StateDeltaEvent, StateSnapshotEvent
from pydantic import JsonValue

from coterie.dsl.json_values import json_digest
from coterie.gateway.doors.agui.agui_events import json_text
from coterie.gateway.doors.agui.state_patches import patch_size, state_patch


class StateChange(NamedTuple):
    """A state that the client lacks."""

    digest: str
    event: BaseEvent


def state_change(before: JsonValue, known: str, after: JsonValue) -> StateChange | None:
    """Return how a client gets a state; None if it has it.

    Args:
        before: The state that was sent last on this connection; None: none was.
        known: The digest of the state that the client has.
        after: The state now.
    """
    digest = json_digest(after)[:16]
    if known == digest:
        return None
    if before is not None:
        patch = list(state_patch(before, after))
        if patch_size(patch) < len(json_text(after)):
            return StateChange(digest, StateDeltaEvent.model_validate({"delta": patch}))
    return StateChange(digest, StateSnapshotEvent(snapshot=after))
