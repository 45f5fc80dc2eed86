"""Replies that no message precedes on any path: they always fail.

A forward analysis: whether a message may be open before each step. It over-estimates, so a finding
is certain.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from coterie.dsl.analysis.routes.team_graph import Teams
from coterie.dsl.analysis.sessions.paths_without_reply import replying_teams
from coterie.dsl.analysis.variable_scopes import TEAMS, Bodies
from coterie.dsl.logic.possible_statuses import after_failures
from coterie.dsl.logic.solver import Effort, can_hold
from coterie.dsl.model.step_kinds.step_list import Grouped, WhenHolds, form_of
from coterie.dsl.model.steps import ReplyStep, Step, TeamStep
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.problem_texts import called
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import NodePath


@rule("W523")
def reply_to_nobody(step: str) -> ProblemText:
    return ProblemText(
        f"{called(step)} replies, and no message is open there on any path: it fails with "
        "`NoMessage`",
        fix="move it after a step with `type: wait, message: true`, or remove it",
    )


def check_stray_replies(
    graph: Teams, bodies: Bodies, tree: Node, problems: Problems, effort: Effort
) -> None:
    """Report the replies that a run comes to only when no message is open."""
    parts = (*bodies.teams.values(), *bodies.plans.values())
    if not any(isinstance(step, ReplyStep) for body in parts for step, _ in body.steps_with_paths):
        return
    flow = _Messages(graph, bodies, replying_teams(graph.plan), effort)
    flow.run()
    for path, (step, is_open) in flow.replies.items():
        if not is_open:
            problems.report(reply_to_nobody(step.name), tree.key_at(path))


@dataclass(slots=True)
class _Messages:
    graph: Teams
    bodies: Bodies
    replying: frozenset[str]
    effort: Effort
    replies: dict[NodePath, tuple[ReplyStep, bool]] = field(
        default_factory=dict[NodePath, tuple[ReplyStep, bool]]
    )
    """`{place of a reply: the reply, and whether a message may be open before it}`."""

    def run(self) -> None:
        """Follow the routes until nothing new may be open anywhere."""
        before = {self.graph.plan.entry_team: False}
        for team in {team for calls in self.graph.calls.values() for team in calls}:
            before[team] = True  # if the calling team has one
        ahead = list(before)
        while ahead:
            team = ahead.pop()
            body = self.bodies.teams[team]
            after, anywhere = self._list(body.steps, body.path, before[team])
            for exit in self.graph.exits[team]:
                if not exit.usable:
                    continue
                leaving = anywhere if self._after_failure(team, exit.rule) else after
                for target in exit.visited:
                    if target not in before or (leaving and not before[target]):
                        before[target] = leaving
                        ahead.append(target)

    def _after_failure(self, team_id: str, rule: int | None) -> bool:
        """Return whether a run may take this exit after a failure."""
        team = self.graph.plan.teams[team_id]
        if rule is None:
            return True
        formulas = self.graph.formulas[team_id].at_exit(rule)
        worlds = (
            after() for _, after in after_failures(team.steps, team.stop_on_failure, self.effort)
        )
        return can_hold(formulas, worlds, self.effort, (*TEAMS, team_id))

    def _list(self, steps: Sequence[Step], path: NodePath, before: bool) -> tuple[bool, bool]:
        """Return whether a message may be open after the steps, and anywhere within them."""
        here = anywhere = before
        for index, step in enumerate(steps):
            after, within = self._one(step, (*path, index), here)
            anywhere = anywhere or within or after
            here = after or (here and step.when is not None)
        return here, anywhere

    def _one(self, step: Step, path: NodePath, before: bool) -> tuple[bool, bool]:
        may_fail = step.on_failure == "continue"
        lists = tuple(step.lists(path))
        match step:
            case ReplyStep():
                _, was_open = self.replies.get(path, (step, False))
                self.replies[path] = step, was_open or before
                return before and may_fail, before
            case TeamStep(team=team) if team in self.replying:
                return True, before
            case _ if isinstance(form_of(lists), Grouped | WhenHolds):
                inner = [self._list(step_list.steps, step_list.path, before) for step_list in lists]
                anywhere = any(within for _, within in inner)
                return any(after for after, _ in inner) or (anywhere and may_fail), anywhere
            case _ if step.takes_message:
                return True, before
            case _:
                anywhere = self._others(step, path, before)
                return anywhere, anywhere

    def _others(self, step: Step, path: NodePath, before: bool) -> bool:
        """Follow the lists of any other step, in any order and any number of times."""
        lists = tuple(step.lists(path))
        inside = [self._list(step_list.steps, step_list.path, before) for step_list in lists]
        anywhere = any(within for _, within in inside)
        if anywhere and not before:
            for step_list in lists:
                self._list(step_list.steps, step_list.path, True)
        return before or anywhere
