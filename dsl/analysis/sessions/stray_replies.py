"""Replies that no message precedes on any path: they always fail.

A forward analysis: whether a message may be open before each step. It over-estimates, so a finding
is certain.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dsl.analysis.bodies import Bodies
from dsl.analysis.routes.teams import Teams
from dsl.analysis.sessions.paths_without_reply import replying_teams, takes_message
from dsl.logic.formulas import Formula
from dsl.logic.possible_statuses import after_failures
from dsl.logic.solver import Effort, can_hold
from dsl.logic.translation import formula
from dsl.model.plan import Routing
from dsl.model.steps import BlockStep, BranchStep, ReplyStep, Step, TeamStep
from dsl.model.traversal.step_lists import step_lists
from dsl.source.collected_problems import Problems
from dsl.source.nodes import Node
from dsl.values import NodePath
from dsl.wording.session_wording import reply_to_nobody

_OPEN, _IDLE = 1, 2
_EITHER = _OPEN | _IDLE


def check_stray_replies(
    graph: Teams, bodies: Bodies, tree: Node, problems: Problems, effort: Effort
) -> None:
    """Report the replies that a run comes to only when no message is open."""
    flow = _Messages(graph, bodies, replying_teams(graph.plan), effort)
    flow.run()
    for path, (step, before) in flow.replies.items():
        if not before & _OPEN:
            problems.note("W523", tree.find(path).at, path, reply_to_nobody(step.name))


@dataclass(slots=True)
class _Messages:
    graph: Teams
    bodies: Bodies
    replying: frozenset[str]
    effort: Effort
    replies: dict[NodePath, tuple[ReplyStep, int]] = field(
        default_factory=dict[NodePath, tuple[ReplyStep, int]]
    )
    """`{place of a reply: the reply, and whether a message may be open before it}`."""

    def run(self) -> None:
        """Follow the routes until nothing new may be open anywhere."""
        before = {self.graph.plan.entry_team: _IDLE}
        for team in {team for calls in self.graph.calls.values() for team in calls}:
            before[team] = _EITHER  # whatever the calling team has
        ahead = list(before)
        while ahead:
            team = ahead.pop()
            body = self.bodies.teams[team]
            after, seen = self._list(body.steps, body.path, before[team])
            for exit in self.graph.exits[team]:
                if not exit.usable:
                    continue
                leaving = seen if self._after_failure(team, exit.rule) else after
                for target in exit.visited:
                    if leaving & ~before.get(target, 0):
                        before[target] = before.get(target, 0) | leaving
                        ahead.append(target)

    def _after_failure(self, team_id: str, rule: int | None) -> bool:
        """Return whether a run may take this exit after a failure."""
        team = self.graph.plan.teams[team_id]
        rules = (team.routing or Routing()).rules
        if rule is None:
            return True
        asked: list[Formula] = [
            False if one.condition is None else formula(one.condition, False)
            for one in rules[:rule]
        ]
        condition = rules[rule].condition
        asked.append(True if condition is None else formula(condition))
        worlds = [world for _, world in after_failures(team.steps, team.stop_on_failure)]
        return can_hold(asked, worlds, self.effort)

    def _list(self, steps: Sequence[Step], path: NodePath, before: int) -> tuple[int, int]:
        """Return whether a message may be open after the steps, and anywhere within them."""
        here = seen = before
        for index, step in enumerate(steps):
            after, within = self._one(step, (*path, index), here)
            seen |= within | after
            here = after | here if step.when is not None else after
        return here, seen

    def _one(self, step: Step, path: NodePath, before: int) -> tuple[int, int]:
        failed = before if step.on_failure == "continue" else 0
        match step:
            case ReplyStep():
                known = self.replies.get(path, (step, 0))[1]
                self.replies[path] = step, known | before
                return _IDLE | failed, before
            case TeamStep(team=team) if team in self.replying:
                return _EITHER, _EITHER
            case BlockStep(steps=steps):
                after, seen = self._list(steps, (*path, "steps"), before)
                return (after | seen if failed else after), seen
            case BranchStep():
                inner = [self._list(one.steps, one.path, before) for one in step_lists(step, path)]
                after = seen = 0
                for left, within in inner:
                    after, seen = after | left, seen | within
                return (after | seen if failed else after), seen
            case _ if takes_message(step):
                return _OPEN | (_IDLE if failed else 0), _EITHER
            case _:
                return self._others(step, path, before)

    def _others(self, step: Step, path: NodePath, before: int) -> tuple[int, int]:
        """Follow the lists of any other step, in any order and any number of times."""
        seen, known = before, 0
        while seen != known:
            known = seen
            for inner in step_lists(step, path):
                seen |= self._list(inner.steps, inner.path, seen)[1]
        return seen, seen
