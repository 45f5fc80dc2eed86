"""The ways by which a run may come to each tool, and which of its grants count there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from coterie.dsl.analysis.labels.label_sources import executes
from coterie.dsl.analysis.routes.team_graph import Teams
from coterie.dsl.analysis.variable_scopes import Bodies, Body
from coterie.dsl.egress.counted_grants import CountedGrants, allowed_grants, counted_grants
from coterie.dsl.model.capabilities import KeptLabel
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import Step, TeamStep
from coterie.dsl.model.traversal.callable_tools import tools_of


class _Point(NamedTuple):
    """Steps that may run, and the tools around them."""

    body: Body
    enclosing: tuple[str, ...]


_PathsByGrants = dict[frozenset[KeptLabel], tuple[str, ...]]
"""`{grants that may count: the tools around a call}`: of several such ways, the shortest."""


@dataclass(slots=True)
class GrantPaths:
    """The calls of each tool that a plan may make, as far as grants can tell them apart."""

    plan: Plan
    graph: Teams
    bodies: Bodies
    _found: dict[str, _PathsByGrants] = field(default_factory=dict[str, _PathsByGrants])

    def counted(self, tool: str) -> Sequence[CountedGrants]:
        """Return the grants of a tool that count, for every way to it; nothing if there is none."""
        grants = self.plan.tools[tool].grants
        paths = self.found().get(tool, {})
        return [counted_grants(grants, enclosing, self.plan) for enclosing in paths.values()]

    def always_granted(self, tool: str) -> bool:
        """Return whether a grant of a tool counts on every way to it."""
        grants = self.plan.tools[tool].grants
        return bool(grants) and all(path_grants.counted for path_grants in self.counted(tool))

    def used_within(self, tool: str) -> frozenset[KeptLabel]:
        """Return the grants of all tools that send data out within a call of an agent or a team."""
        body = self.bodies.tools.get(tool)
        within = {} if body is None else self._follow_calls([_Point(body, ())], leaves=False)
        named = (self.plan.tools[name] for name in within)
        return frozenset(
            label
            for inner_tool in named
            if "egress" in inner_tool.labels
            for label in inner_tool.grants
        )

    def found(self) -> Mapping[str, _PathsByGrants]:
        """Return the ways to each tool from where a run begins, or cleans up."""
        if not self._found:
            first = (self.plan.entry_team, *sorted(self.graph.cleaning()))
            self._found = self._follow_calls(
                [_Point(self.bodies.teams[team], ()) for team in first]
            )
        return self._found

    def _follow_calls(
        self, ahead: list[_Point], *, leaves: bool = True
    ) -> dict[str, _PathsByGrants]:
        """Follow every call and route from these points; return the ways to each tool.

        Args:
            ahead: the points.
            leaves: whether to follow a used-up budget out of all calls.
        """
        paths: dict[str, _PathsByGrants] = {}
        seen_keys: set[tuple[Body, frozenset[KeptLabel]]] = set()
        for point in ahead:  # which grows: nearer calls come first
            key = (point.body, allowed_grants(point.enclosing, self.plan))
            if key in seen_keys:
                continue
            seen_keys.add(key)
            for step, _ in point.body.steps_with_paths:
                for name in self._called_agents(step):
                    paths.setdefault(name, {}).setdefault(key[1], point.enclosing)
            ahead.extend(self._next(point, leaves=leaves))
        return paths

    def _called_agents(self, step: Step) -> Iterator[str]:
        if executes(step, self.plan):
            yield from (name for name, _ in tools_of(step, self.plan))

    def _next(self, point: _Point, *, leaves: bool) -> Iterator[_Point]:
        """Yield what the steps of a body run, and the teams to which a team leads."""
        body, enclosing = point
        for step, _ in body.steps_with_paths:
            if isinstance(step, TeamStep):
                yield _Point(self.bodies.teams[step.team], enclosing)
            for plan in self.bodies.plans_of(step):
                yield _Point(plan, enclosing)
            for name in self._called_agents(step):
                if name in self.bodies.tools:
                    yield _Point(self.bodies.tools[name], (*enclosing, name))
        for exit in () if body.team is None else self.graph.exits[body.team.id]:
            if exit.usable and (leaves or not exit.leaves_all):
                around = () if exit.leaves_all else enclosing
                yield from (_Point(self.bodies.teams[team], around) for team in exit.visited)
