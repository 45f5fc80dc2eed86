"""One step of a run, or one call of an agent's model, and what the run noted of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coterie.dsl.model.traversal.step_paths import split_reference
from coterie.replay.trace_events import TraceEvent, Visit
from coterie.workflows.core.causes.people_causes import SkipAsked
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.views import TrailEntry


@dataclass(frozen=True, slots=True)
class StepTrace:
    """What happened to a step, and to the calls within it, in one visit of its team."""

    step: str
    """`team/path`."""
    visit: int
    happened: tuple[TraceEvent, ...]

    @property
    def name(self) -> str:
        """`work#1/act/search@2.1`."""
        key = StepKey(self.step)
        return f"{key.team}#{self.visit}/{key.path}"

    def holds(self, path: str) -> bool:
        """Return whether a call of this path in the visit is the step, or lies within it."""
        return path == self.step or StepKey(self.step).holds(path)


def step_traces(visits: Sequence[Visit], asked: str) -> tuple[StepTrace, ...]:
    """Return what happened to `team/step`, or `tool@turn.number`, in one visit (`#2`) or in each.

    A call also goes by the end of its name: `search@2.1`, like in `coterie skip`.
    """
    name, number = split_reference(asked)
    traces: list[StepTrace] = []
    for visit in visits:
        if number not in (None, visit.visit):
            continue
        for key in dict.fromkeys(_steps_by_name(visit, name)):
            events = tuple(event for event in visit.happened if _is_about(event.entry, key))
            traces.append(StepTrace(str(key), visit.visit, events))
    return tuple(traces)


def names_step(asked: str) -> bool:
    """Return whether a name is that of a step or a call, and not of a team."""
    return "/" in asked or "@" in asked


def named_step(path: str, name: str) -> StepKey | None:
    """Return the step that a name means, if the step of this path is it or lies within it."""
    key = StepKey(path)
    while key:
        if key == name or (key.is_model_call and key.is_called(name)):
            return key
        key = StepKey(key.rpartition("/")[0])
    return None


def _steps_by_name(visit: Visit, name: str) -> Iterator[StepKey]:
    for event in visit.happened:
        entry = event.entry
        if entry.step is not None:
            key = named_step(StepKey.of(entry.team, entry.step), name)
            if key is not None:
                yield key


def _is_about(entry: TrailEntry, key: StepKey) -> bool:
    if isinstance(entry.cause, SkipAsked):
        return entry.cause.task == key
    path = "" if entry.step is None else StepKey.of(entry.team, entry.step)
    return path == key or key.holds(path)
