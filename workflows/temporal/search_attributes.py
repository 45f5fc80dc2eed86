"""Search attributes: what Temporal's lists show of a run, small enough for every server. Pure."""

from collections.abc import Iterable

from coterie.dsl.model.plan import Plan
from coterie.workflows.core.state import RunState
from coterie.workflows.handlers.board import state_of
from coterie.workflows.temporal.attribute_kinds import PLAN, STATE, TEAM, WAITING

_MAX_VALUE_LENGTH = 100
"""Characters of a value: databases keep 255 bytes of a keyword."""
_MAX_VALUES = 10
"""Maximum values of a list: a server accepts two kilobytes."""

Attributes = dict[str, str | tuple[str, ...]]


def attributes(plan: Plan, state: RunState, *, done: bool) -> Attributes:
    """Return where the run is: its plan, its state, its teams, the requests that wait."""
    teams = (track.team for track in state.tracks.values() if track.team is not None)
    return {
        PLAN: plan.name[:_MAX_VALUE_LENGTH],
        STATE: state_of(state, done=done),
        TEAM: _few(teams),
        WAITING: _few(state.pending),
    }


def _few(values: Iterable[str]) -> tuple[str, ...]:
    few: dict[str, None] = {}
    for value in values:
        few[value[:_MAX_VALUE_LENGTH]] = None
        if len(few) == _MAX_VALUES:
            break
    return tuple(few)
