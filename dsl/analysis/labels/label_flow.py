"""The flow of labels through a run: which calls may send out what others must not cause to leave.

A run keeps the labels `private` and `untrusted` once a call has brought them. With both, text that
others wrote may have decided what happens to private data: a call with `egress` then needs a
person's approval. The analysis follows every path of a run, with at most four sets of labels at
each point. An `approval` step that nothing skips begins anew: a person has seen what was met.
"""

from collections.abc import Iterable, Iterator

from coterie.dsl.analysis.bodies import Bodies
from coterie.dsl.analysis.labels.label_calls import Leak, WalkPosition
from coterie.dsl.analysis.labels.label_sources import hook_sources, sources
from coterie.dsl.analysis.labels.label_steps import StepFlow
from coterie.dsl.analysis.labels.points import (
    FRESH,
    NOTHING,
    Met,
    Points,
    PointsByEnd,
    Source,
    possibly,
    union,
)
from coterie.dsl.analysis.routes.teams import TeamNode, Teams, exits_after
from coterie.dsl.egress.counted_grants import allowed_grants
from coterie.dsl.logic.possible_statuses import after_failures
from coterie.dsl.logic.solver import Effort
from coterie.dsl.model.capabilities import KeptLabel, Label
from coterie.dsl.model.plan import Plan

_Start = tuple[TeamNode, tuple[Source, ...]]
"""A team that a run comes to, and what concurrent branches may bring."""


_Run = tuple[str, Met, tuple[Source, ...], frozenset[KeptLabel]]
"""A run of a team from its first visit: the team, what has been met, what comes beside it, and the
grants that may count within it."""


class LabelFlow:
    """The flow of labels through one plan."""

    def __init__(self, plan: Plan, graph: Teams, bodies: Bodies, effort: Effort) -> None:
        self._plan = plan
        self._graph = graph
        self._bodies = bodies
        self._effort = effort
        self._step_flow = StepFlow(plan, bodies, self._run, self._brought_by)
        self._ends: dict[_Run, PointsByEnd] = {}
        self._followed: set[_Run] = set()
        """The runs that this pass has followed, or is following: each once."""
        self._everything: Points = FRESH
        self._left: dict[str, Points] = {}
        """`{team: what has been met where a used-up budget sends the whole run there}`."""

    def check(self) -> list[Leak]:
        """Follow every path of a run; return its leaks."""
        hooks = tuple(hook_sources(self._plan))  # which may bring their labels at any time
        start = WalkPosition("", (), hooks)
        before = -1
        while before != self._known_points():  # until what calls itself adds nothing
            before = self._known_points()
            self._begin_pass()
            self._run(self._plan.entry_team, FRESH, start)
            for team, points in sorted(self._left.items()):
                self._run(team, points, start)
        self._begin_pass()
        for team in sorted(self._graph.cleaning()):
            self._run(team, self._everything, start)
        return list(self._step_flow.leaks)

    def _begin_pass(self) -> None:
        self._followed.clear()
        self._step_flow.begin_pass()

    def _known_points(self) -> int:
        of_teams = sum(len(one.done) + len(one.failed) + 1 for one in self._ends.values())
        left = sum(map(len, self._left.values()))
        return of_teams + left + self._step_flow.known

    def _run(self, first: str, points: Points, position: WalkPosition) -> PointsByEnd:
        """Return what may have been met when a run that begins at this team ends."""
        found = PointsByEnd()
        allowed = allowed_grants(position.enclosing, self._plan)
        for met, trace in points.items():
            key = (first, met, position.beside, allowed)
            if key not in self._followed:
                self._followed.add(key)
                ends = self._follow(first, {met: trace}, position)
                self._ends[key] = _either(self._ends.get(key, PointsByEnd()), ends)
            found = _either(found, self._ends.get(key, PointsByEnd()))
        return found

    def _follow(self, first: str, points: Points, position: WalkPosition) -> PointsByEnd:
        begun: dict[_Start, Points] = {}
        ends = PointsByEnd()
        ahead: list[tuple[_Start, Points]] = [((TeamNode(first), position.beside), points)]
        while ahead:
            key, coming = ahead.pop()
            known = begun.get(key, NOTHING)
            new = {met: trace for met, trace in coming.items() if met not in known}
            if not new:
                continue
            begun[key] = union(known, new)
            here, leaving = self._visit(*key, new, position.enclosing)
            ends = _either(ends, here)
            ahead += leaving
        return ends

    def _visit(
        self,
        node: TeamNode,
        beside: tuple[Source, ...],
        points: Points,
        enclosing: tuple[str, ...],
    ) -> tuple[PointsByEnd, list[tuple[_Start, Points]]]:
        """Visit a team; return what has been met where the run ends, and what comes next."""
        done = failed = NOTHING
        leaving: list[tuple[_Start, Points]] = []
        exits = self._graph.exits[node.team]
        position = WalkPosition(
            node.team, self._bodies.teams[node.team].path, beside, None, enclosing
        )
        for some, numbers in self._exits_of_team(node.team, points, position):
            if not numbers:
                failed = union(failed, some)
            for exit in (exits[number] for number in numbers):
                if exit.leaves_all:
                    for team in exit.targets:
                        self._left[team] = union(self._left.get(team, NOTHING), some)
                    continue
                branches = tuple(self._graph.branches(exit))
                for branch in branches:
                    around = self._brought_by(one.team for one in branches if one != branch)
                    leaving.append(((branch, (*beside, *around)), some))
                after = self._graph.following(node, exit)
                if after is None:
                    done = union(done, some)
                else:
                    around = self._brought_by(one.team for one in branches)
                    leaving.append(((after, beside), possibly(some, around)))
        return PointsByEnd(done, failed), leaving

    def _exits_of_team(
        self, name: str, points: Points, position: WalkPosition
    ) -> Iterator[tuple[Points, list[int]]]:
        """Run a team's steps; yield what may have been met, with the exits that can follow.

        Without an exit, the run fails.
        """
        body, team = self._bodies.teams[name], self._plan.teams[name]
        exits = self._graph.exits[name]
        usable = [number for number, exit in enumerate(exits) if exit.usable]
        away = {number: exits[number].task for number in usable if exits[number].at_any_time}
        failed_at: dict[str, Points] = {}
        ends = self._step_flow.steps(body.steps, body.path, points, position, failed_at)
        done = union(ends.done, ends.returned)
        anywhere = union(points, *failed_at.values())
        self._everything = union(self._everything, anywhere, done)
        for number, task in away.items():
            yield anywhere if task is None else failed_at.get(task, NOTHING), [number]
        if not team.stop_on_failure:
            met = union(done, *failed_at.values())
            yield met, [one for one in usable if one not in away]
            return
        yield done, [one for one in usable if exits[one].after_success]
        for step, world in after_failures(team.steps, team.stop_on_failure, self._effort):
            failed = failed_at.get(step.name, NOTHING)
            if failed and team.routing is None:
                yield failed, []
            elif failed:
                after = exits_after(team, self._graph, world, self._effort)
                yield failed, [one for one in after if one not in away]

    def _brought_by(self, teams: Iterable[str]) -> tuple[Source, ...]:
        """Return what the teams of a branch may bring, and those that they lead to."""
        found: dict[Label, Source] = {}
        ahead = [TeamNode(team, branch=True) for team in teams]
        seen = set(ahead)
        for node in ahead:
            body = self._bodies.teams[node.team]
            for inner in self._bodies.within(body):
                for source in sources(inner.steps, self._plan, node.team):
                    found.setdefault(source.label, source)
            for other in self._graph.beside(node):
                if other not in seen:
                    seen.add(other)
                    ahead.append(other)
        return tuple(found.values())


def _either(one: PointsByEnd, other: PointsByEnd) -> PointsByEnd:
    done, failed = union(one.done, other.done), union(one.failed, other.failed)
    return PointsByEnd(done, failed, union(one.returned, other.returned))
