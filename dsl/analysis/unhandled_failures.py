"""Failures that no route takes over."""

from dsl.analysis.bodies import TEAMS
from dsl.analysis.teams import TeamNode, Teams
from dsl.logic.routing_gaps import either, holes
from dsl.logic.solver import Effort
from dsl.model.step_walk import walk
from dsl.model.steps import Step
from dsl.source.nodes import Node as Tree
from dsl.source.nodes import Problems

_QUIET = ("set", "return", "loop", "branch", "parallel", "try")
"""Kinds that fail by what is in them alone, or by a template that names what is not there."""


def check_failures(graph: Teams, tree: Tree, problems: Problems, effort: Effort) -> None:
    """Note the teams that lead on after every success, and after a failure nowhere.

    A written default, null too, is the author's word; the failure of a last team is the run's;
    W501 tells of both holes at once. What the failure of a branch means, its concentrator decides.
    """
    for team in graph.plan.teams.values():
        routing = team.routing
        if routing is None or routing.default is not None or routing.ends_by_default:
            continue
        reached = team.id in graph.reached
        if reached and TeamNode(team.id) not in graph.nodes:
            continue
        as_step = reached and team.id not in graph.own_way
        fails = "the step that runs the team" if as_step else "the run"
        if not any(rule.next_team for rule in routing.rules):
            continue
        rules = [rule.condition for rule in routing.rules]
        left = holes(team.steps, team.stop_on_failure, rules, effort)
        working = [step.name for step in team.steps if _works(step)]
        open_ = [name for name in left.after_failure if name in working]
        if open_ and not left.after_success:
            path = (*TEAMS, team.id, "routing")
            problems.add(
                "W507",
                tree.find(path).at,
                path,
                f"when {either(open_)} fails, no rule matches and there is no default: "
                f"{fails} fails",
                fix="add `default:` with a team, or a rule for the failure; "
                "`default: null` says that it is meant",
            )


def _works(step: Step) -> bool:
    return any(inner.kind not in _QUIET for inner, _ in walk([step], ()))
