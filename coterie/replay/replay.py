"""Replay a recorded run with this code, and compare its decisions.

Temporal's replayer notices different calls. This module also compares the input of each call, the
duration of each timer, each answer to a person, and at the end the digest chained over all
decisions. An open run is compared by everything that it has decided so far.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.client import WorkflowHistory

from coterie.replay.effects import WorldEffect, effect_of, recorded
from coterie.replay.observer import ReplayObserver, is_the_last, observed
from coterie.replay.replay_differences import differences, first_other
from coterie.workflows.core.state import TrailRecord
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.views import TrailEntry

_MAX_DIFFERENCES = 20
"""Maximum reported differences; later ones follow from the first few."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of a replay."""

    run: str
    events: int
    calls: int
    """Compared calls of models and skills."""
    end: WorldEffect | None
    """How it ended, as recorded; None if it was open."""
    differences: tuple[str, ...]
    """What this code decides differently, first one first; empty if nothing."""
    more: tuple[str, ...] = ()
    """State that this code has in addition to the recording version."""
    digests: Mapping[int, str] = field(default_factory=dict[int, str])
    """`{length of the trail: digest over it}`, after each activation."""
    trail: tuple[TrailEntry, ...] = ()
    """The latest entries, as recorded by this code."""


async def replay(history: WorkflowHistory) -> Replayed:
    """Replay the recorded run with this code and the recorded results.

    Args:
        history: One run, or one link of a run that continued as new; with all its values.
    """
    then = recorded(history)
    watch = _Watch()
    failure = await observed(history, watch)
    found = list(differences(then, watch.done, watch.steps))
    shown = [one.description for one in found if not (one.only_more or one.only_wording)]
    if failure is not None:
        shown += [*_others(then, watch.done), _first_line(failure)]
    return Replayed(
        run=history.workflow_id,
        events=len(history.events),
        calls=sum(effect.kind == "call" for effect in then),
        end=next((effect for effect in then if effect.kind == "end"), None),
        differences=_first_differences(shown),
        more=tuple(one.field for one in found if one.only_more),
        digests=watch.digests,
        trail=tuple(record.to_entry() for record in watch.trail),
    )


def _first_differences(shown: list[str]) -> tuple[str, ...]:
    if len(shown) <= _MAX_DIFFERENCES:
        return tuple(shown)
    return (*shown[:_MAX_DIFFERENCES], f"and {len(shown) - _MAX_DIFFERENCES} more")


class _Watch(ReplayObserver):
    """Records the effects and decisions of the replayed run."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[WorldEffect] = []
        self.steps: list[str] = []
        self.digests: dict[int, str] = {}
        self.trail: list[TrailRecord] = []
        self._going = False

    def before(self, act: WorkflowActivation) -> None:
        """Read its final state."""
        self._going = is_the_last(act)
        if self._going and self.run is not None:
            self.trail = list(self.run.state.trail)

    def after(self, completion: WorkflowActivationCompletion) -> None:
        """Record the commands; not at eviction, whose cancellation is not a decision."""
        if self._going:
            return
        for command in completion.successful.commands:
            effect = effect_of(command, self.queue)
            if effect is not None:
                self.done.append(effect)
                self.steps.append(self._step_of(effect))
        if self.run is not None:
            state = self.run.state
            self.digests[state.trail_length] = state.trail_digest

    def _step_of(self, effect: WorldEffect) -> str:
        """Return the location, `review/judge#1`, with the latest visit, as for requests."""
        step = StepKey(effect.label)
        if effect.kind != "call" or self.run is None or not step.path:
            return effect.description
        return f"{effect.label}#{self.run.state.visits.get(step.team, 0)}"


def _others(then: list[WorldEffect], now: list[WorldEffect]) -> list[str]:
    other = first_other(then, now)
    ends = [effect for effect in now if effect.kind == "end"]
    said = [
        f"it ends with: {effect.facts['message']}" for effect in ends if "message" in effect.facts
    ]
    return [*([other] if other else []), *said]


_SAID = re.compile(r'Failure \{ message: "((?:[^"\\]|\\.)*)"')
"""Matches the message in the SDK core's debug format of a failure."""


def _first_line(failure: Exception) -> str:
    text = str(failure)
    said = _SAID.search(text)
    if said is not None:
        text = said[1].replace('\\"', '"').replace("\\n", "\n")
    return text.splitlines()[0] if text else type(failure).__name__
