"""Upper bounds for the visits of teams, over every path through the graph of teams.

Each loop of teams is bounded by its teams' own limits, and by how often a path can return to the
teams that every round passes. Exclusive paths do not add up; the branches of a fan-out do.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from coterie.dsl.analysis.routes.max_visits_exits import visits_allowed
from coterie.dsl.analysis.routes.team_graph import TeamNode, Teams
from coterie.dsl.evaluate.limits import depth_allowed
from coterie.dsl.logic.components import components, is_cycle

Weight = Callable[[str], float]
"""Returns what one visit of a team counts."""
Calls = Mapping[str, Mapping[str, float]]
"""`{team: {called team: how often one visit calls it}}`."""
_MAX_TRIED = 4
_MAX_TEAMS = 200
"""Above this many teams, a looser but fast bound applies."""
_MAX_PASSES = 50


@dataclass(frozen=True, slots=True)
class _Hitting:
    """Teams that every round of a loop passes, and the rest of the loop in order."""

    teams: frozenset[TeamNode]
    rest: tuple[TeamNode, ...]
    """Each after all nodes that it leads to."""


@dataclass(frozen=True)
class _Part:
    """A component of the graph: one node, or a loop of nodes."""

    nodes: tuple[TeamNode, ...]
    loops: bool
    tangled: bool
    """Whether a fan-out or a called team leads back into the loop: each round starts more of
    them.
    """
    entered_at: frozenset[TeamNode]
    hitting: tuple[_Hitting, ...]


class RoutesBound:
    """Bounds for one plan."""

    def __init__(self, graph: Teams, calls: Calls) -> None:
        self.graph = graph
        self.calls = calls
        self.limits = graph.plan.limits
        self.continuations = {node: list(self._continuations(node)) for node in graph.nodes}
        """`{node: for each route, the branches it starts and the next node}`."""
        self.before: dict[TeamNode, set[TeamNode]] = {node: set() for node in graph.nodes}
        for node in graph.nodes:
            for other in graph.beside(node):
                self.before[other].add(node)
        self.maximum = self._maximum_visits()
        """`{team: the most visits that its limit and the routes into it allow}`."""
        self.parts = [self._part(nodes) for nodes in components(graph.nodes, graph.beside)]
        few = len(self.maximum) <= _MAX_TEAMS
        self.visits = {
            team: int(min(maximum, self._along(_only(team)))) if few else maximum
            for team, maximum in self.maximum.items()
        }
        """`{team: the most visits in one run}`."""
        self.total = int(
            min(self.limits.max_total_teams, sum(self.visits.values()), self._along(lambda _: 1))
        )
        """The most visits of all teams in one run."""

    def bound(self, weight: Weight) -> float:
        """Return the maximum total of the visits of one run; infinite when unbounded."""
        return min(self._along(weight), self._heaviest(weight))

    def _heaviest(self, weight: Weight) -> float:
        """Fill the maximum number of visits with the heaviest teams."""
        remaining, total = self.total, 0.0
        for team in sorted(self.visits, key=weight, reverse=True):
            number = min(remaining, self.visits[team])
            total += _product(number, weight(team))
            remaining -= number
        return total

    def _maximum_visits(self) -> dict[str, int]:
        """Return the visit limit: each visit follows another team's, is the first, or is called."""
        graph = self.graph
        before: dict[str, set[str]] = {team: set() for team in graph.reached}
        after: dict[str, set[str]] = {team: set() for team in graph.reached}
        for node, continuations in self.continuations.items():
            for branches, following in continuations:
                for other in (*branches, *([following] if following else [])):
                    before[other.team].add(node.team)
                    after[node.team].add(other.team)
        is_sequential = not any(map(self._forks, graph.nodes))
        maximum = {
            team: min(
                depth_allowed(self.limits, graph.plan.teams[team]), self.limits.max_total_teams
            )
            for team in graph.reached
        }
        callers: dict[str, dict[str, float]] = {team: {} for team in graph.reached}
        for other, calls in self.calls.items():
            for team, number in calls.items():
                callers[team][other] = number
        for _ in range(_MAX_PASSES):
            previous_maximum = dict(maximum)
            bounds = visits_allowed(graph.plan, graph.calls, graph.exits, maximum)
            for team in maximum:
                call_visits = sum(_product(maximum[other], n) for other, n in callers[team].items())
                first = team == graph.plan.entry_team
                allowed = first + call_visits + sum(maximum[other] for other in before[team])
                if is_sequential:
                    allowed = min(allowed, 1 + sum(maximum[other] for other in after[team]))
                maximum[team] = int(min(allowed, maximum[team], bounds.get(team, math.inf)))
            if maximum == previous_maximum:
                break
        return maximum

    def _continuations(
        self, node: TeamNode
    ) -> Iterator[tuple[tuple[TeamNode, ...], TeamNode | None]]:
        for exit in self.graph.usable(node):
            yield tuple(self.graph.branches(exit)), self.graph.following(node, exit)

    def _forks(self, node: TeamNode) -> bool:
        """Return whether a visit can start more than one other."""
        return bool(self.calls[node.team]) or any(e.fans_out for e in self.graph.usable(node))

    def _part(self, nodes: tuple[TeamNode, ...]) -> _Part:
        graph, inside = self.graph, set(nodes)

        def beside(node: TeamNode) -> list[TeamNode]:
            return [other for other in graph.beside(node) if other in inside]

        loops = is_cycle(nodes, beside)
        tangled = loops and any(
            other in inside
            for node in nodes
            for other in (
                *(TeamNode(team) for team in self.calls[node.team]),
                *(branch for branches, _ in self.continuations[node] for branch in branches),
            )
        )
        entered = frozenset(
            node
            for node in nodes
            if node == TeamNode(graph.plan.entry_team) or not self.before[node] <= inside
        )
        hitting = tuple(_hitting(nodes, beside)) if loops else ()
        return _Part(nodes, loops, tangled, entered, hitting)

    def _along(self, weight: Weight) -> float:
        """Return the heaviest path from the entry, with everything that it starts in parallel."""
        best: dict[TeamNode, float] = {}
        for part in self.parts:
            value = self._of(part, weight, best)
            best |= dict.fromkeys(part.nodes, value)
        return best[TeamNode(self.graph.plan.entry_team)]

    def _of(self, part: _Part, weight: Weight, best: Mapping[TeamNode, float]) -> float:
        if part.tangled:
            return math.inf
        inside = set(part.nodes) if part.loops else set[TeamNode]()
        heavy: dict[TeamNode, float] = {}
        leaving = 0.0
        for node in part.nodes:
            aside = 0.0
            for branches, after in self.continuations[node]:
                begun = sum(best[branch] for branch in branches)
                if after in inside:
                    aside = max(aside, begun)
                else:
                    leaving = max(leaving, begun + (best[after] if after else 0.0))
            call_weight = sum(
                _product(number, best[TeamNode(team)])
                for team, number in self.calls[node.team].items()
            )
            heavy[node] = weight(node.team) + aside + call_weight
        own = self._round(part, heavy) if part.loops else heavy[part.nodes[0]]
        return own + leaving

    def _round(self, part: _Part, heavy: Mapping[TeamNode, float]) -> float:
        """Bound a loop by its teams' limits, or by the rounds between teams in all rounds."""
        bound = sum(_product(self.maximum[node.team], heavy[node]) for node in part.nodes)
        for hitting in part.hitting:
            passes = sum(self.maximum[node.team] for node in hitting.teams)
            held = sum(_product(self.maximum[node.team], heavy[node]) for node in hitting.teams)
            longest = _longest(self.graph, hitting.rest, heavy)
            rounds = passes if part.entered_at <= hitting.teams else passes + 1
            bound = min(bound, held + _product(rounds, longest))
        return bound


def _product(number: float, value: float) -> float:
    return number * value if number and value else 0.0


def _only(team: str) -> Weight:
    return lambda other: 1.0 if other == team else 0.0


def _longest(graph: Teams, rest: Sequence[TeamNode], heavy: Mapping[TeamNode, float]) -> float:
    """Return the heaviest path through nodes outside any loop."""
    best: dict[TeamNode, float] = {}
    for node in rest:
        after = (best[other] for other in graph.beside(node) if other in best)
        best[node] = heavy[node] + max(after, default=0.0)
    return max(best.values(), default=0.0)


def _hitting(
    nodes: Sequence[TeamNode], beside: Callable[[TeamNode], list[TeamNode]]
) -> Iterator[_Hitting]:
    """Return some sets of nodes whose removal breaks every cycle."""
    busiest = sorted(nodes, key=lambda node: -len(set(beside(node))))
    for node in busiest[:_MAX_TRIED]:
        rest = _order(nodes, {node}, beside)
        if rest is not None:
            yield _Hitting(frozenset({node}), rest)
    hitting_set: set[TeamNode] = set()
    for node in busiest:
        hitting_set.add(node)
        rest = _order(nodes, hitting_set, beside)
        if rest is not None:
            if len(hitting_set) > 1:
                yield _Hitting(frozenset(hitting_set), rest)
            return


def _order(
    nodes: Sequence[TeamNode], without: set[TeamNode], beside: Callable[[TeamNode], list[TeamNode]]
) -> tuple[TeamNode, ...] | None:
    """Sort the other nodes topologically; None when they still form a cycle."""

    def left(node: TeamNode) -> list[TeamNode]:
        return [other for other in beside(node) if other not in without]

    parts = components([node for node in nodes if node not in without], left)
    if any(is_cycle(part, left) for part in parts):
        return None
    return tuple(part[0] for part in parts)
