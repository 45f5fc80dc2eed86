"""Failures that no route handles."""

from collections.abc import Sequence

from coterie.dsl.analysis.routes.team_graph import TeamNode, Teams
from coterie.dsl.analysis.variable_scopes import TEAMS
from coterie.dsl.compile.route_compiler import either
from coterie.dsl.logic.routing_gaps import holes
from coterie.dsl.logic.solver import Effort
from coterie.dsl.model.steps import Step
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node as Tree


@rule("W507")
def unhandled_failure(steps: Sequence[str], *, is_called: bool) -> ProblemText:
    fails = "the step that runs the team" if is_called else "the run"
    return ProblemText(
        f"when {either(steps)} fails, no rule matches and there is no default: {fails} fails",
        fix="add `default:` with a team, or a rule for the failure; `default: null` confirms that "
        "the run ends there",
    )


def check_failures(graph: Teams, tree: Tree, problems: Problems, effort: Effort) -> None:
    """Report the teams that route every success but no failure.

    A written default, even null, states the author's intent. The failure of a last team is the
    failure of the run. W501 covers a team that lacks routes for both. The concentrator decides
    what the failure of a branch means.
    """
    for team in graph.plan.teams.values():
        routing = team.routing
        if routing is None or routing.default is not None or routing.ends_by_default:
            continue
        reached = team.id in graph.reached
        if reached and TeamNode(team.id) not in graph.nodes:
            continue
        as_step = reached and team.id not in graph.main_path
        if not any(rule.next_team for rule in routing.rules):
            continue
        rules = [rule.condition for rule in routing.rules]
        path = (*TEAMS, team.id)
        gaps = holes(team.steps, team.stop_on_failure, rules, effort, path)
        working = [step.name for step in team.steps if _works(step)]
        open_ = [name for name in gaps.after_failure if name in working]
        if open_ and not gaps.after_success:
            path = (*path, "routing")
            problems.report(unhandled_failure(open_, is_called=as_step), tree.key_at(path))


def _works(step: Step) -> bool:
    return any(inner.fails_itself for inner, _ in walk([step], ()))
