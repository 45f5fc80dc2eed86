"""Required start fields: context fields that every run without a failure reads.

This is less than what `coterie check` calls needed. A step that only some runs reach, because of
a condition, a route or a loop over a possibly empty list, never makes a start fail.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain
from typing import NamedTuple

from coterie.dsl.analysis.dataflow import Flow
from coterie.dsl.analysis.routes.team_graph import Teams
from coterie.dsl.analysis.step_reads import Reader
from coterie.dsl.analysis.template_reads import Read, condition_reads, update_reads
from coterie.dsl.analysis.variable_scopes import TEAMS, Bodies
from coterie.dsl.model.plan import Team
from coterie.dsl.model.steps import BranchStep, PersonaStep, Step, TeamStep
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.source.author_paths import author_path
from coterie.dsl.values import NodePath


class Certain(NamedTuple):
    """The effects that a list of steps always has when none of them fails."""

    reads: tuple[tuple[Read, NodePath], ...] = ()
    """Each with the place of the step that reads it."""
    teams: tuple[str, ...] = ()
    """The teams that it runs as steps."""
    goes_on: bool = True
    """Whether it always runs to the end."""


_NOTHING = Certain()


class Needs:
    """The certain reads of one document."""

    def __init__(self, graph: Teams, bodies: Bodies, reader: Reader, flow: Flow) -> None:
        self._graph = graph
        self._bodies = bodies
        self._reader = reader
        self._flow = flow
        self._certain = {
            team: self._steps(body.steps, body.path, 0) for team, body in bodies.teams.items()
        }

    def found(self) -> dict[str, str]:
        """Map each path within the context to the step that reads it first."""
        needs: dict[str, str] = {}
        sure = self._sure_teams()
        for team in self._graph.plan.teams.values():
            if team.id not in sure or not team.stop_on_failure:
                continue  # where a failure is passed over, nothing is needed
            for read, inner_path in (*self._certain[team.id].reads, *self._routing(team)):
                needed = read.needed and read.fails and read.path[0] == "context"
                if needed and len(read.path) > 1 and not self._flow.may_be_set(read.path, team.id):
                    path = ".".join(read.path[1:])
                    needs.setdefault(path, self._name(team, inner_path))
        return {path: step for path, step in needs.items() if not _is_covered(path, needs)}

    def _name(self, team: Team, path: NodePath) -> str:
        location = author_path(self._reader.tree, path)
        return team.id if location is None else location.step

    def _routing(self, team: Team) -> Iterator[tuple[Read, NodePath]]:
        """Return the context fields that every route of the team reads."""
        path = (*TEAMS, team.id, "routing")
        if team.routing is not None:
            for read in update_reads(team.routing.context_updates, (*path, "context_updates")):
                yield read, path

    def _sure_teams(self) -> frozenset[str]:
        """List the teams that every run without a failure visits."""
        reached = self._graph.reached
        after = {
            team: [exit.visited for exit in self._graph.success_exits(team)] for team in reached
        }
        callees = {team: self._certain[team].teams for team in reached}
        entry = self._graph.plan.entry_team
        last_first = _last_first(
            entry, {team: (*callees[team], *chain(*after[team])) for team in reached}
        )
        bits = {team: 1 << number for number, team in enumerate(last_first)}
        sure = dict.fromkeys(last_first, (1 << len(last_first)) - 1)
        changed = True
        while changed:
            changed = False
            for team in last_first:
                mask = bits[team] | _union(sure, callees[team])
                visited = [_union(sure, next_teams) for next_teams in after[team]]
                if visited:
                    mask |= reduce(int.__and__, visited)
                if mask != sure[team]:
                    sure[team], changed = mask, True
        return frozenset(team for team in last_first if sure[entry] & bits[team])

    def _steps(self, steps: Sequence[Step], path: NodePath, depth: int) -> Certain:
        parts: list[Certain] = []
        for index, step in enumerate(steps):
            parts.append(self._step(step, (*path, index), depth))
            if not parts[-1].goes_on:
                break
        return sum_of(parts)

    def _step(self, step: Step, path: NodePath, depth: int) -> Certain:
        if step.when is not None:
            reads = condition_reads(step.when, (*path, "when"))
            return Certain(_at(path, reads), goes_on=not _ends(step))
        if step.on_failure == "continue":
            return Certain(goes_on=not _ends(step))
        if isinstance(step, BranchStep):
            first = condition_reads(step.branches[0].condition, (*path, "branches", 0, "condition"))
            return Certain(_at(path, first), goes_on=not _ends(step))
        if step.ends_list:
            return Certain(_at(path, self._reader.before(step, path)), goes_on=False)
        inside = self._inside(step, path, depth)
        return sum_of((Certain(_at(path, self._reader.certain(step, path))), inside))

    def _inside(self, step: Step, path: NodePath, depth: int) -> Certain:
        """Return the certain effects of the steps within a step."""
        match step:
            case PersonaStep():
                plans = list(self._bodies.plans_of(step))
                if len(plans) != 1 or depth > _MAX_PLANS:
                    return _NOTHING  # none of several plans is certain
                plan = plans[0]
                return self._steps(plan.steps, plan.path, depth + 1)._replace(goes_on=True)
            case TeamStep(team=team):
                return Certain(teams=(team,))
            case _:
                certain = [*step.certain_lists(path)]
                effects = sum_of(
                    self._steps(step_list.steps, step_list.path, depth) for step_list in certain
                )
                all_run = len(certain) == len([*step.lists(path)])
                return effects if all_run else effects._replace(goes_on=not _ends(step))


_MAX_PLANS = 5


def _at(path: NodePath, reads: Iterable[Read]) -> tuple[tuple[Read, NodePath], ...]:
    return tuple((read, path) for read in reads)


def sum_of(parts: Iterable[Certain]) -> Certain:
    """Combine the effects of all of them, one after the other."""
    all_ = tuple(parts)
    return Certain(
        tuple(chain.from_iterable(part.reads for part in all_)),
        tuple(chain.from_iterable(part.teams for part in all_)),
        all(part.goes_on for part in all_),
    )


def _last_first(entry: str, after: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the teams that the entry leads to, each after what it leads to, loops aside."""
    order: list[str] = []
    seen_teams = {entry}
    ahead = [(entry, iter(after[entry]))]
    while ahead:
        team, others = ahead[-1]
        new = next((other for other in others if other not in seen_teams), None)
        if new is None:
            order.append(team)
            ahead.pop()
        else:
            seen_teams.add(new)
            ahead.append((new, iter(after[new])))
    return order


def _union(sure: Mapping[str, int], teams: Iterable[str]) -> int:
    return reduce(int.__or__, (sure[team] for team in teams), 0)


def _ends(step: Step) -> bool:
    """Return whether something within the step may end the whole list of steps."""
    return any(inner.ends_list for inner, _ in walk([step], ()))


def _is_covered(path: str, needs: dict[str, str]) -> bool:
    """Return whether a path above this one is needed as well."""
    while "." in path:
        path = path.rpartition(".")[0]
        if path in needs:
            return True
    return False
