"""Required start fields: context fields that every run without a failure reads.

This is less than what `coterie check` calls needed. A step that only some runs reach, because of
a condition, a route or a loop over a possibly empty list, never makes a start fail.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, assert_never

from dsl.analysis.bodies import TEAMS, Bodies
from dsl.analysis.dataflow import Flow
from dsl.analysis.reader import Reader
from dsl.analysis.reads import Read, condition_reads, update_reads
from dsl.analysis.routes.teams import Teams
from dsl.model.plan import Team
from dsl.model.steps import (
    AgentStep,
    ApprovalStep,
    BlockStep,
    BranchStep,
    FailStep,
    LoopStep,
    ParallelStep,
    ReplyStep,
    ReturnStep,
    SetStep,
    SkillStep,
    Step,
    TaskGraphStep,
    TeamStep,
    ToolStep,
    TryStep,
    WaitStep,
)
from dsl.model.traversal.step_lists import step_lists
from dsl.model.traversal.step_walk import walk
from dsl.source.author_paths import author_path
from dsl.values import NodePath


class Certain(NamedTuple):
    """The effects that a list of steps always has when none of them fails."""

    reads: tuple[tuple[Read, NodePath], ...] = ()
    """Each with the place of the step that reads it."""
    teams: tuple[str, ...] = ()
    """The teams that it runs as steps."""
    goes_on: bool = True
    """Whether it always runs to the end."""

    def then(self, other: "Certain") -> "Certain":
        """Combine the effects of two sequences, one after the other."""
        reads, teams = self.reads + other.reads, self.teams + other.teams
        return Certain(reads, teams, self.goes_on and other.goes_on)


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
        found = author_path(self._reader.tree, path)
        return team.id if found is None else found.step

    def _routing(self, team: Team) -> Iterator[tuple[Read, NodePath]]:
        """Return the context fields that every route of the team reads."""
        path = (*TEAMS, team.id, "routing")
        if team.routing is not None:
            for read in update_reads(team.routing.context_updates, (*path, "context_updates")):
                yield read, path

    def _sure_teams(self) -> frozenset[str]:
        """List the teams that every run without a failure visits."""
        exits = {team: self._graph.success_exits(team) for team in self._graph.reached}
        after = {
            team: [frozenset(exit.visited) for exit in leaving] for team, leaving in exits.items()
        }
        called = {team: self._certain[team].teams for team in self._graph.reached}
        entry = self._graph.plan.entry_team
        ahead, within = [entry], {entry}
        while ahead:
            here = ahead.pop()
            new = {team for visited in after[here] for team in visited}.union(called[here]) - within
            within |= new
            ahead += new
        sure = {team: frozenset(within) for team in within}
        changed = True
        while changed:
            changed = False
            for team in within:
                found = frozenset((team,)).union(*(sure[other] for other in called[team]))
                visited = [frozenset[str]().union(*(sure[o] for o in one)) for one in after[team]]
                if visited:
                    found |= visited[0].intersection(*visited)
                if found != sure[team]:
                    sure[team], changed = found, True
        return sure[entry]

    def _steps(self, steps: Sequence[Step], path: NodePath, depth: int) -> Certain:
        found = _NOTHING
        for index, step in enumerate(steps):
            found = found.then(self._step(step, (*path, index), depth))
            if not found.goes_on:
                break
        return found

    def _step(self, step: Step, path: NodePath, depth: int) -> Certain:
        if step.when is not None:
            asked = condition_reads(step.when, (*path, "when"))
            return Certain(_at(path, asked), goes_on=not _ends(step))
        if step.on_failure == "continue":
            return Certain(goes_on=not _ends(step))
        if isinstance(step, BranchStep):
            first = condition_reads(step.branches[0].condition, (*path, "branches", 0, "condition"))
            return Certain(_at(path, first), goes_on=not _ends(step))
        if isinstance(step, ReturnStep | FailStep):
            return Certain(_at(path, self._reader.before(step, path)), goes_on=False)
        inside = self._inside(step, path, depth)
        return Certain(_at(path, self._reader.certain(step, path))).then(inside)

    def _inside(self, step: Step, path: NodePath, depth: int) -> Certain:
        """Return the certain effects of the steps within a step."""
        lists = list(step_lists(step, path))
        match step:
            case AgentStep():
                plans = list(self._bodies.plans_of(step))
                if len(plans) != 1 or depth > _MAX_PLANS:
                    return _NOTHING  # none of several plans is certain
                plan = plans[0]
                return self._steps(plan.steps, plan.path, depth + 1)._replace(goes_on=True)
            case TeamStep(team=team):
                return Certain(teams=(team,))
            case LoopStep(iterate_on=over, while_=None) if over is None or (
                isinstance(over, list) and over
            ):
                return self._steps(lists[0].steps, lists[0].path, depth)
            case BlockStep():
                return self._steps(lists[0].steps, lists[0].path, depth)
            case ParallelStep(join="all", only=None):
                return sum_of(self._steps(one.steps, one.path, depth) for one in lists)
            case TryStep(catch=clauses):
                tried, last = lists[0], self._steps(lists[-1].steps, lists[-1].path, depth)
                if clauses:
                    return last._replace(goes_on=not _ends(step))
                return self._steps(tried.steps, tried.path, depth).then(last)
            case (
                LoopStep()  # nothing within these is certain
                | BranchStep()
                | ParallelStep()
                | TaskGraphStep()
                | SkillStep()
                | ToolStep()
                | SetStep()
                | ApprovalStep()
                | WaitStep()
                | ReplyStep()
                | ReturnStep()
                | FailStep()
            ):
                return Certain(goes_on=not _ends(step))
            case _:
                assert_never(step)


_MAX_PLANS = 5


def _at(path: NodePath, reads: Iterable[Read]) -> tuple[tuple[Read, NodePath], ...]:
    return tuple((read, path) for read in reads)


def sum_of(parts: Iterator[Certain]) -> Certain:
    """Combine the effects of all of them, in any order."""
    found = _NOTHING
    for part in parts:
        found = found.then(part)
    return found


def _ends(step: Step) -> bool:
    """Return whether something within the step may end the whole list of steps."""
    return any(isinstance(one, ReturnStep | FailStep) for one, _ in walk([step], ()))


def _is_covered(path: str, needs: dict[str, str]) -> bool:
    """Return whether a path above this one is needed as well."""
    while "." in path:
        path = path.rpartition(".")[0]
        if path in needs:
            return True
    return False
