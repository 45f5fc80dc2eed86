"""The flow of labels through steps: how each kind of step passes on what a run has met."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dsl.analysis.bodies import Bodies, Body
from dsl.analysis.labels.points import (
    FRESH,
    KEPT,
    NOTHING,
    Points,
    Source,
    Trace,
    Ways,
    bringing,
    possibly,
    union,
)
from dsl.model.capabilities import Label
from dsl.model.plan import Plan
from dsl.model.steps import (
    AgentStep,
    ApprovalStep,
    BlockStep,
    BranchStep,
    LoopStep,
    ParallelStep,
    ReturnStep,
    SkillStep,
    Step,
    TaskGraphStep,
    TeamStep,
    ToolStep,
    TryStep,
)
from dsl.model.terms import Approval, DecisionTerms, consent
from dsl.model.tools.tool_contract import Tool
from dsl.model.traversal.callable_tools import step_of_tool, tools_of
from dsl.model.traversal.step_lists import step_lists
from dsl.values import NodePath


class Leak(NamedTuple):
    """A call that may send out private data at the word of others, and that nobody approves."""

    tool: str
    place: str
    """`team/step` of the call."""
    path: NodePath
    """Of the step."""
    agent: str | None
    """The persona whose model calls it; None for a step of a plan."""
    trace: Trace


class Place(NamedTuple):
    """Where the walk is."""

    name: str
    """`team` or `team/step`."""
    path: NodePath
    beside: tuple[Source, ...] = ()
    """What concurrent work may bring at any time."""
    agent: str | None = None

    def of(self, step: str, path: NodePath) -> "Place":
        """Return the place of a step here."""
        return self._replace(name=f"{self.name}/{step}", path=path)


@dataclass(slots=True)
class StepFlow:
    """The flow of labels through the steps of one plan."""

    plan: Plan
    bodies: Bodies
    run_team: Callable[[str, Points, tuple[Source, ...]], Ways]
    """Follows a team that a step or a tool runs, to the end of its own routing."""
    brought_by: Callable[[Iterable[str]], tuple[Source, ...]]
    """Returns what these teams may bring, and those that they lead to."""
    leaks: dict[tuple[NodePath, str, str | None], Leak] = field(
        default_factory=dict[tuple[NodePath, str, str | None], Leak]
    )

    def sources(self, steps: Sequence[Step], name: str) -> Iterator[Source]:
        """Yield what calls at any depth of these steps bring, wherever they stand."""
        for step in steps:
            at = f"{name}/{step.name}"
            if isinstance(step, SkillStep) and step.terms is not None:
                yield from _brought(step.terms.labels, at, step.skill)
            if not _executes(step, self.plan):
                continue
            for tool_name, tool in tools_of(step, self.plan):
                yield from _brought(tool.labels, at, tool_name)
            for below in step_lists(step, ()):
                yield from self.sources(below.steps, at)

    def steps(
        self,
        steps: Sequence[Step],
        path: NodePath,
        points: Points,
        place: Place,
        failed_at: dict[str, Points] | None = None,
    ) -> Ways:
        """Return how steps that follow each other may end."""
        failed = returned = NOTHING
        for index, step in enumerate(steps):
            here = (*path, index)
            ways = self._step(step, here, points, place)
            failed = union(failed, ways.failed)
            returned = union(returned, ways.returned)
            if failed_at is not None:
                failed_at[step.name] = ways.failed
            points = ways.done
        return Ways(points, failed, returned)

    def _step(self, step: Step, path: NodePath, points: Points, place: Place) -> Ways:
        place = place.of(step.name, path)
        ways = self._attempt(step, path, possibly(points, place.beside), place)
        if step.retry is not None:
            again = union(points, ways.failed)
            while again.keys() != points.keys():
                points = again
                ways = self._attempt(step, path, possibly(points, place.beside), place)
                again = union(points, ways.failed)
        done = possibly(ways.done, place.beside)
        if step.when is not None:
            done = union(done, points)
        if step.on_failure in ("continue", "ask"):
            done = union(done, ways.failed)
        return Ways(done, ways.failed, ways.returned)

    def _attempt(  # noqa: C901  # one case a kind
        self, step: Step, path: NodePath, points: Points, place: Place
    ) -> Ways:
        inside = list(step_lists(step, path))
        match step:
            case SkillStep(skill=skill, terms=terms, requires_approval=asked):
                labels = () if terms is None else terms.labels
                self._note(skill, labels, asked, points, place)
                done = bringing(points, _brought(labels, place.name, skill))
                return Ways(done, union(points, done))
            case ToolStep():
                called = [
                    self._call(name, tool, points, place)
                    for name, tool in tools_of(step, self.plan)
                ]
                done = union(*called)
                return Ways(done, union(points, done))
            case AgentStep():
                done = self._agent(step, points, place)
                return Ways(done, union(points, done))
            case TeamStep(team=team):
                ends = self.run_team(team, points, place.beside)
                return Ways(ends.done, union(points, ends.done, ends.failed))
            case ApprovalStep():
                return Ways(FRESH if _decided(step) else points, points)
            case ReturnStep():
                return Ways(NOTHING, points, points)
            case LoopStep() | TaskGraphStep():
                return self._rounds(step, path, points, place)
            case BranchStep():
                some = [self.steps(one.steps, one.path, points, place) for one in inside]
                return Ways(
                    union(points, *(one.done for one in some)),
                    union(points, *(one.failed for one in some)),
                    union(*(one.returned for one in some)),
                )
            case ParallelStep():
                return self._together(step, path, points, place)
            case TryStep():
                return self._tried(step, path, points, place)
            case BlockStep():
                ways = self.steps(inside[0].steps, inside[0].path, points, place)
                return Ways(ways.done, union(points, ways.failed), ways.returned)
            case _:
                return Ways(points, points)

    def _rounds(
        self, step: LoopStep | TaskGraphStep, path: NodePath, points: Points, place: Place
    ) -> Ways:
        """Repeat all lists of a loop or a task graph, in any order, until nothing new is met."""
        inside = list(step_lists(step, path))
        if step.concurrency != 1:
            around = (one for below in inside for one in self._within(below.steps, place.name))
            place = place._replace(beside=(*place.beside, *around))
        found, failed, returned = points, points, NOTHING
        while True:
            before = found
            for below in inside:
                ways = self.steps(below.steps, below.path, found, place)
                found = union(found, ways.done, ways.returned)
                failed = union(failed, ways.failed)
                returned = union(returned, ways.returned)
                if isinstance(step, TaskGraphStep):
                    found = union(found, ways.failed)  # a failed task ends no other one
            if found.keys() == before.keys():
                return Ways(found, union(failed, found), returned)

    def _together(self, step: ParallelStep, path: NodePath, points: Points, place: Place) -> Ways:
        inside = list(step_lists(step, path))
        done = failed = returned = NOTHING
        for below in inside:
            around = tuple(
                source
                for other in inside
                if other is not below
                for source in self._within(other.steps, place.name)
            )
            here = place._replace(beside=(*place.beside, *around))
            ways = self.steps(below.steps, below.path, possibly(points, around), here)
            done = union(done, ways.done)
            failed = union(failed, ways.failed)
            returned = union(returned, ways.returned)
        some_fail = union(points, failed)
        finished = done if step.join == "all" else union(done, failed)
        return Ways(finished, union(some_fail, done), returned)

    def _within(self, steps: Sequence[Step], name: str) -> Iterator[Source]:
        """Yield what these steps may bring, with the agents and teams that they call."""
        for body in self.bodies.within(Body("", tuple(steps), ())):
            yield from self.sources(body.steps, name)
            called = (one.team for one, _ in body.walked() if isinstance(one, TeamStep))
            yield from self.brought_by(called)

    def _tried(self, step: TryStep, path: NodePath, points: Points, place: Place) -> Ways:
        tried, *clauses, last = step_lists(step, path)
        ways = self.steps(tried.steps, tried.path, points, place)
        done, returned = ways.done, ways.returned
        caught = any(clause.takes_all for clause in step.catch)
        failed = NOTHING if caught else union(points, ways.failed)
        for clause in clauses:
            handled = self.steps(clause.steps, clause.path, union(points, ways.failed), place)
            done = union(done, handled.done)
            failed = union(failed, handled.failed)
            returned = union(returned, handled.returned)
        well = self.steps(last.steps, last.path, done, place)
        badly = self.steps(last.steps, last.path, failed, place)
        back = self.steps(last.steps, last.path, returned, place)
        failures = union(well.failed, badly.done, badly.failed, back.failed)
        return Ways(well.done, failures, union(back.done, well.returned, badly.returned))

    def _agent(self, step: AgentStep, points: Points, place: Place) -> Points:
        """Return what may have been met when an agent ends: of a plan, or by calls of its model."""
        plans = list(self.bodies.plans_of(step))
        if plans:
            several = [self.steps(one.steps, one.path, points, place) for one in plans]
            return union(*(one.done for one in several), *(one.returned for one in several))
        if step.personas:
            return union(*(self._agent(one, points, place) for one in step.choices))
        if not _executes(step, self.plan):
            return points
        place = place._replace(agent=step.persona_name)
        offered = list(tools_of(step, self.plan))
        found = points
        while True:
            before = found
            for name, tool in offered:
                found = union(found, self._call(name, tool, found, place))
            if found.keys() == before.keys():
                return found

    def _call(self, name: str, tool: Tool, points: Points, place: Place) -> Points:
        """Return what has been met after a call of a tool."""
        self._note(name, tool.labels, tool.requires_approval, points, place)
        step = step_of_tool(name, tool, self.plan)
        inner = place._replace(name=f"{place.name}/{name}")
        if isinstance(step, TeamStep):
            ends = self.run_team(step.team, points, place.beside)
            points = union(ends.done, ends.failed)  # the model gets either
        if isinstance(step, AgentStep):
            points = self._agent(step, points, inner)
        return bringing(points, _brought(tool.labels, place.name, name))

    def _note(
        self,
        name: str,
        labels: Sequence[Label],
        asked: Approval,
        points: Points,
        place: Place,
    ) -> None:
        """Note a call that sends out what it must not."""
        terms = consent(asked)
        approved = (
            terms is not None and terms.at == "before" and terms.when is None and _decided(terms)
        )
        trace = points.get(frozenset(KEPT))
        if "egress" not in labels or approved or trace is None:
            return
        key = (place.path, name, place.agent)
        if key not in self.leaks:
            self.leaks[key] = Leak(name, place.name, place.path, place.agent, trace)


def _executes(step: Step, plan: Plan) -> bool:
    """Return whether an agent's calls are executed at all."""
    if not isinstance(step, AgentStep):
        return True
    persona = plan.personas.get(step.persona_key or "")
    return persona is None or (persona.tool_calls == "execute" and persona.tool_choice != "none")


def _decided(terms: DecisionTerms) -> bool:
    """Return whether only a person can approve."""
    return terms.deadline is None or terms.on_timeout != "approve"


def _brought(labels: Sequence[Label], place: str, tool: str) -> tuple[Source, ...]:
    return tuple(Source(label, place, tool) for label in KEPT if label in labels)
