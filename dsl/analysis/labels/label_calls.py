"""The flow of labels through calls: of agents, of their tools, and of tools by steps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from coterie.dsl.analysis.labels.label_sources import brought, executes
from coterie.dsl.analysis.labels.labels_at_points import (
    NOTHING,
    Met,
    Points,
    PointsByEnd,
    Source,
    Trace,
    bringing,
    union,
)
from coterie.dsl.analysis.variable_scopes import Bodies
from coterie.dsl.egress.counted_grants import WithheldGrant, allowed_grants, counted_grants
from coterie.dsl.egress.egress_rules import always_covers
from coterie.dsl.egress.met_labels import KEPT
from coterie.dsl.model.capabilities import KeptLabel, Label
from coterie.dsl.model.decision_terms import Approval
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import PersonaStep, Step, TeamStep
from coterie.dsl.model.tools.tool_contract import NestedTool, Tool
from coterie.dsl.model.traversal.callable_tools import caller_key, step_of_tool, tools_of
from coterie.dsl.values import NodePath


class Leak(NamedTuple):
    """A call that may send out private data because of untrusted text, without an approval."""

    tool: str
    step: str
    """`team/step` of the call."""
    path: NodePath
    """Of the step."""
    agent: str | None
    """The persona whose model calls it; None for a step of a plan."""
    trace: Trace
    withheld: tuple[WithheldGrant, ...] = ()
    """Grants of the tool that do not count in this call."""


class WalkPosition(NamedTuple):
    """Where the walk is."""

    name: str
    """`team` or `team/step`."""
    path: NodePath
    beside: tuple[Source, ...] = ()
    """What concurrent work may bring at any time."""
    agent: str | None = None
    enclosing: tuple[str, ...] = ()
    """The tools made of agents and teams around it, outermost first."""

    def of(self, step: str, path: NodePath) -> "WalkPosition":
        """Return the position of a step here."""
        return self._replace(name=f"{self.name}/{step}", path=path)

    def within(self, tool: str) -> "WalkPosition":
        """Return the position of the work within a call of an agent or a team."""
        enclosing = (*self.enclosing, tool)
        return self._replace(name=f"{self.name}/{tool}", enclosing=enclosing)


FollowSteps = Callable[[Sequence[Step], NodePath, Points, WalkPosition], PointsByEnd]
FollowTeam = Callable[[str, Points, WalkPosition], PointsByEnd]
"""Takes the team, what has been met, and the position that calls it."""


_AgentCall = tuple[NodePath, str, Met, tuple[Source, ...], frozenset[KeptLabel]]
"""A call of an agent as a tool: the step and the tool, what has been met, what comes beside it, and
the grants that may count within it."""


class _Offered(NamedTuple):
    """The tools of an agent."""

    all: Sequence[tuple[str, Tool]]
    unlike: Sequence[tuple[str, Tool]]
    """Without those that bring what one before them does."""


@dataclass(slots=True)
class CallFlow:
    """The flow of labels through the calls of one plan."""

    plan: Plan
    bodies: Bodies
    run_team: FollowTeam
    """Follows a team that a step or a tool runs, to the end of its own routing."""
    follow: FollowSteps
    """Follows the steps of an execution plan."""
    leaks: dict[tuple[NodePath, str, str | None], Leak] = field(
        default_factory=dict[tuple[NodePath, str, str | None], Leak]
    )

    _tools_of: dict[tuple[str, ...], _Offered] = field(
        default_factory=dict[tuple[str, ...], _Offered]
    )
    _ends: dict[_AgentCall, Points] = field(default_factory=dict[_AgentCall, Points])
    _followed: set[_AgentCall] = field(default_factory=set[_AgentCall])
    """The calls that this pass has followed, or is following: each once."""

    def begin_pass(self) -> None:
        """Follow every call again, from what the passes so far have found."""
        self._followed.clear()

    @property
    def known(self) -> int:
        """How much the passes so far have found."""
        return sum(len(points) + 1 for points in self._ends.values())

    def agent(self, step: PersonaStep, points: Points, position: WalkPosition) -> Points:
        """Return the labels that an agent may have met when it ends: in its plan or its calls."""
        plans = list(self.bodies.plans_of(step))
        if plans:
            several = [self.follow(plan.steps, plan.path, points, position) for plan in plans]
            return union(*(ends.done for ends in several), *(ends.returned for ends in several))
        if step.personas:
            return union(*(self.agent(agent, points, position) for agent in step.choices))
        if not executes(step, self.plan):
            return points
        position = position._replace(agent=step.persona_name)
        offered = self._offer_of(step)
        all_points = points
        while True:
            before = all_points
            leaks = frozenset(KEPT) in all_points  # then each tool that sends something is noted
            for name, tool in offered.all if leaks else offered.unlike:
                all_points = union(all_points, self.tool(name, tool, all_points, position))
            if all_points.keys() == before.keys():
                return all_points

    def _offer_of(self, step: PersonaStep) -> _Offered:
        """Return the tools of an agent; thousands of steps may have the same thousands of tools."""
        key = caller_key(step)
        if key not in self._tools_of:
            tools, unlike = list(tools_of(step, self.plan)), list[tuple[str, Tool]]()
            seen_labels = set[Met]()
            for name, tool in tools:
                labels: Met = frozenset(label for label in KEPT if label in tool.labels)
                if isinstance(tool, NestedTool):
                    seen_labels.clear()  # what it met, those below bring to
                elif labels in seen_labels:
                    continue
                else:
                    seen_labels.add(labels)
                unlike.append((name, tool))
            self._tools_of[key] = _Offered(tools, unlike)
        return self._tools_of[key]

    def tool(self, name: str, tool: Tool, points: Points, position: WalkPosition) -> Points:
        """Return what has been met after a call of a tool."""
        grants = counted_grants(tool.grants, position.enclosing, self.plan)
        if not grants.counted:
            approval = tool.requires_approval
            self.note(name, tool.labels, approval, points, position, grants.withheld)
        step = step_of_tool(name, tool, self.plan)
        inner = position.within(name)
        if isinstance(step, TeamStep):
            ends = self.run_team(step.team, points, inner)
            points = union(ends.done, ends.failed)  # the model gets either
        if isinstance(step, PersonaStep):
            points = self._called_agent(name, step, points, inner)
        return bringing(points, brought(tool.labels, position.name, name))

    def _called_agent(
        self, name: str, step: PersonaStep, points: Points, position: WalkPosition
    ) -> Points:
        """Return what has been met after a call of an agent, which may lead to itself."""
        allowed = allowed_grants(position.enclosing, self.plan)
        points_after = NOTHING
        for met, trace in points.items():
            key = (position.path, name, met, position.beside, allowed)
            if key not in self._followed:
                self._followed.add(key)
                ends = self.agent(step, {met: trace}, position)
                self._ends[key] = union(self._ends.get(key, NOTHING), ends)
            points_after = union(points_after, self._ends.get(key, NOTHING))
        return points_after

    def note(
        self,
        name: str,
        labels: Sequence[Label],
        asked: Approval,
        points: Points,
        position: WalkPosition,
        withheld: tuple[WithheldGrant, ...] = (),
    ) -> None:
        """Note a call that may leak private data."""
        trace = points.get(frozenset(KEPT))
        if "egress" not in labels or always_covers(asked) or trace is None:
            return
        key = (position.path, name, position.agent)
        if key not in self.leaks:
            self.leaks[key] = Leak(
                name, position.name, position.path, position.agent, trace, withheld
            )
