"""Paths of a session that leave a message without its reply, although no task fails.

A path begins where a step takes a message. It ends without a reply at the next wait for a message,
or at the end of the run. Failures are left out: the sender then receives an error by its name.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from coterie.dsl.analysis.routes.team_graph import TeamNode, Teams
from coterie.dsl.analysis.sessions.paths_without_reply import (
    PathsWithoutReply,
    PathWithoutReply,
    SomePaths,
    continued,
    replying_teams,
)
from coterie.dsl.analysis.variable_scopes import TEAMS, Bodies, Body
from coterie.dsl.logic.formulas import Formula
from coterie.dsl.logic.possible_statuses import after_success
from coterie.dsl.logic.solver import (
    ABSENT,
    ANY_STATUS,
    SKIPPED,
    SUCCESS,
    Effort,
    Statuses,
    can_hold,
)
from coterie.dsl.model.step_kinds.step_list import EachRound
from coterie.dsl.model.steps import ReplyStep, Step
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node


class Hop(NamedTuple):
    """One team on a path of a session, and how the path leaves it."""

    team: str
    rule: int | None = None
    """The number of the rule that leads on, from 1; None for the default and the end."""
    skipped: tuple[str, ...] = ()
    """The steps that would reply, and do not run on this path."""
    empty: tuple[str, ...] = ()
    """The loops that would reply, and have no round on this path."""
    again: str = ""
    """The loop whose next round takes the next message."""


END = Hop("")
"""Stands for the end of the run, at the end of a path."""


@rule("W522")
def unanswered_message(wait: str, path: Sequence[Hop]) -> ProblemText:
    route = " -> ".join(map(_hop, path))
    then = "ends the run" if path[-1] == END else "comes to the next message"
    return ProblemText(
        f"a message that {wait!r} takes may get no reply: the path {route} {then}",
        fix="reply on this path, also when a step is skipped",
    )


def _hop(hop: Hop) -> str:
    if hop == END:
        return "the end"
    details = [f"rule {hop.rule}"] if hop.rule is not None else []
    details += [f"without {name!r}" for name in hop.skipped]
    details += [f"no round of {name!r}" for name in hop.empty]
    details += [f"next round of {hop.again!r}"] if hop.again else []
    return f"{hop.team} ({', '.join(details)})" if details else hop.team


def check_replies(
    graph: Teams, bodies: Bodies, tree: Node, problems: Problems, effort: Effort
) -> None:
    """Report each wait for a message with the shortest path on which nothing replies."""
    walker = _Paths(graph, bodies, PathsWithoutReply(_calling(graph)), effort)
    for team, body in bodies.teams.items():
        if team not in graph.main_path:
            continue
        for step, path in body.steps_with_paths:
            hops = walker.unanswered(body, step) if step.takes_message else None
            if hops is not None:
                details = unanswered_message(step.name, hops)
                problems.report(details, tree.key_at(path))


def _calling(graph: Teams) -> frozenset[str]:
    """Return the teams that a `team` step may run and that may reply."""
    callees = {team for calls in graph.calls.values() for team in calls}
    return replying_teams(graph.plan) & callees


_Reached = tuple[str, SomePaths, Step | None, tuple[Hop, ...]]
"""A team, the paths through it, the step that took the message there, and the hops so far."""


@dataclass(frozen=True, slots=True)
class _Paths:
    graph: Teams
    bodies: Bodies
    silent: PathsWithoutReply
    effort: Effort
    waiting: dict[str, bool] = field(default_factory=dict[str, bool])
    """`{team: whether a visit comes to a wait for a message without a reply}`, as far as asked."""
    ended: dict[int, Statuses] = field(default_factory=dict[int, Statuses])
    """`{identity of a list of the plan: how its steps end without a failure}`, as far as asked."""

    def unanswered(self, body: Body, wait: Step) -> tuple[Hop, ...] | None:
        """Return the shortest path from a wait on which nothing replies; None without one."""
        if self.effort.left <= 0:
            self.effort.leave_out((*TEAMS, body.key))
            return None
        self.effort.left -= 1 + len(body.steps)
        return self._shortest(body, wait)

    def _shortest(self, body: Body, wait: Step) -> tuple[Hop, ...] | None:
        rounds: list[str] = []
        paths = self._after(body, body.steps, wait, rounds)
        if rounds:
            return (Hop(body.key, again=rounds[0]),)
        ahead: list[_Reached] = [(body.key, paths, wait, ())]
        seen_teams = {body.key}
        for team, some, taker, before in ahead:
            self.effort.left -= 1
            for hop, target in self._hops_after(team, some or (), taker):
                hops = (*before, hop)
                if target is None:
                    return (*hops, END)
                if self._waits_again(target):
                    return (*hops, Hop(target))
                if target not in seen_teams:
                    seen_teams.add(target)
                    through = self.silent.through(self.bodies.teams[target].steps)
                    ahead.append((target, through, None, hops))
        return None

    def _after(self, body: Body, steps: Sequence[Step], wait: Step, rounds: list[str]) -> SomePaths:
        """Return the paths from a wait to the end of the list that holds it, at any depth.

        Args:
            body: The body that the list belongs to.
            steps: The list.
            wait: The step that takes the message.
            rounds: Receives the loops that come back to the wait without a reply.
        """
        for index, step in enumerate(steps):
            if step is wait:
                return self.silent.through(steps[index + 1 :])
            for inner in step.lists():
                if not _holds(inner.steps, wait):
                    continue
                paths = self._after(body, inner.steps, wait, rounds)
                if isinstance(inner.role, EachRound):
                    self._rounds(body, step, inner.steps, wait, paths, rounds)
                rest = self.silent.through(steps[index + 1 :])
                return None if paths is None or rest is None else continued(paths, rest)
        return None

    def _rounds(
        self,
        body: Body,
        loop: Step,
        steps: Sequence[Step],
        wait: Step,
        paths: SomePaths,
        rounds: list[str],
    ) -> None:
        """Note a loop whose next round comes to the wait without a reply."""
        before = self._before(steps, wait)
        again = [path for path in paths or () if not path.returned]
        if any(self._possible(body.key, steps, wait, path, ()) for path in again) and before:
            rounds.append(loop.name)

    def _before(self, steps: Sequence[Step], wait: Step) -> SomePaths:
        """Return the paths from the beginning of a list to the step that is or holds the wait."""
        before: list[Step] = []
        for step in steps:
            if step is wait:
                return self.silent.through(before)
            inner = next(
                (step_list for step_list in step.lists() if _holds(step_list.steps, wait)), None
            )
            if inner is not None:
                first, then = self.silent.through(before), self._before(inner.steps, wait)
                return None if first is None or then is None else continued(first, then)
            before.append(step)
        return None

    def _waits_again(self, team: str) -> bool:
        """Return whether a visit of the team comes to a wait for a message without a reply."""
        if team not in self.waiting:
            steps = self.bodies.teams[team].steps
            waits = (step for step, _ in walk(steps, ()) if step.takes_message)
            self.waiting[team] = any(bool(self._before(steps, wait)) for wait in waits)
        return self.waiting[team]

    def _hops_after(
        self, team: str, paths: tuple[PathWithoutReply, ...], wait: Step | None
    ) -> Iterator[tuple[Hop, str | None]]:
        """Yield where the run goes from a team on paths without a reply: a team, or its end."""
        steps, node = self.bodies.teams[team].steps, TeamNode(team)
        for path in paths:
            for exit in self.graph.success_exits(team):
                formulas = self.graph.formulas[team].at_exit(exit.rule)
                if not self._possible(team, steps, wait, path, formulas):
                    continue
                after = self.graph.following(node, exit)
                yield (
                    Hop(
                        team, None if exit.rule is None else exit.rule + 1, path.skipped, path.empty
                    ),
                    None if after is None else after.team,
                )

    def _possible(
        self,
        team: str,
        steps: Sequence[Step],
        wait: Step | None,
        path: PathWithoutReply,
        formulas: Iterable[Formula],
    ) -> bool:
        """Return whether a run can go this path, and then meet these conditions."""
        subject = (*TEAMS, team)
        if self.effort.left <= 0:
            self.effort.leave_out(subject)
            return True
        if id(steps) not in self.ended:
            self.ended[id(steps)] = after_success(steps)
        ended = self.ended[id(steps)]
        self.effort.left -= len(ended.of) // 2
        statuses = dict(ended.of)
        passed = wait is None
        for step, _ in walk(steps, ()):
            if step is wait:
                passed, statuses[step.name] = True, SUCCESS
            elif passed and isinstance(step, ReplyStep):
                statuses[step.name] &= SKIPPED | ABSENT
        for name in path.skipped:
            statuses[name] = statuses.get(name, ANY_STATUS) & (SKIPPED | ABSENT)
        world = Statuses(statuses, ended.counted)
        return can_hold(chain(path.holds, formulas), (world,), self.effort, subject)


def _holds(steps: Sequence[Step], wait: Step) -> bool:
    return any(step is wait for step, _ in walk(steps, ()))
