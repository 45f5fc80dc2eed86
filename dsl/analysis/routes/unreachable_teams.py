"""Teams that no route reaches, and loops of teams that no route leaves."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from coterie.dsl.analysis.routes.exits import Exit
from coterie.dsl.analysis.routes.team_graph import TeamNode, Teams
from coterie.dsl.analysis.variable_scopes import TEAMS, Bodies
from coterie.dsl.logic.components import components, is_cycle
from coterie.dsl.model.steps import ReturnStep, TeamStep
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node as Written


@rule("W503")
def team_unreached(team: str, entry: str, *, is_named: bool) -> ProblemText:
    return ProblemText(
        f"only routes that are never taken lead to the team {team!r}"
        if is_named
        else f"no route leads from the entry team {entry!r} to the team {team!r}",
        fix="name it in a rule, as a default or as a step, or remove it",
    )


def check_reach(graph: Teams, tree: Written, problems: Problems) -> None:
    """Report the teams that no run can reach."""
    entry = graph.plan.entry_team
    cleaning = graph.cleaning()
    for team in graph.plan.teams:
        if team in graph.reached or team in cleaning:
            continue
        named = any(
            team in (*exit.targets, exit.concentrator)
            for other in graph.reached
            for exit in graph.exits[other]
        )
        path = (*TEAMS, team)
        problems.report(team_unreached(team, entry, is_named=named), tree.key_at(path))


def check_loops(graph: Teams, bodies: Bodies, tree: Written, problems: Problems) -> None:
    """Report the loops that only a failure or a limit ends."""
    ends = _ending(graph, called_always(bodies))
    stuck = [node for node in graph.nodes if node not in ends]

    def beside(node: TeamNode) -> Iterator[TeamNode]:
        return (other for other in graph.beside(node) if other in stuck_nodes)

    stuck_nodes = set(stuck)
    loops = components(stuck, beside)
    reported: set[frozenset[str]] = set()
    for loop in loops:
        leaves = any(other not in loop for node in loop for other in beside(node))
        members = frozenset(node.team for node in loop)
        if leaves or members in reported or not is_cycle(loop, beside):
            continue
        reported.add(members)
        _note(graph, members, tree, problems)


@rule("W506")
def loop_without_exit(teams: Sequence[str], cycle: Sequence[str], max_visits: int) -> ProblemText:
    if len(teams) == 1:
        what = f"the team {teams[0]!r} leads to nothing but itself"
    else:
        members = " -> ".join(cycle) if cycle else "of " + ", ".join(teams)
        what = f"the loop {members} has no exit: every route leads back into it"
    return ProblemText(
        f"{what}, so only a failure or the limits end the run (at most {max_visits} team visits)",
        fix="let a rule lead to null or out of the loop",
    )


def _note(graph: Teams, members: frozenset[str], tree: Written, problems: Problems) -> None:
    teams = [team for team in graph.plan.teams if team in members]
    path = (*TEAMS, teams[0])
    limits = graph.plan.limits
    cycle = _round(graph, teams)
    problems.report(loop_without_exit(teams, cycle, limits.max_total_teams), tree.key_at(path))


def _round(graph: Teams, teams: Sequence[str]) -> tuple[str, ...]:
    """Return the shortest cycle through all the teams, or nothing when there is none."""
    first = teams[0]
    paths: list[tuple[str, ...]] = [(first,)]
    for path in paths:
        for other in _next(graph, path[-1]):
            if other == first and len(path) == len(teams):
                return (*path, first)
            if other in teams and other not in path and len(paths) < 1000:
                paths.append((*path, other))
    return ()


def _next(graph: Teams, team: str) -> Iterator[str]:
    for exit in graph.exits[team]:
        if exit.usable:
            yield from exit.targets
    yield from graph.calls[team]


def _ending(graph: Teams, always: Mapping[str, Iterable[str]]) -> set[TeamNode]:
    """Return the nodes from which a path can reach its end by routes alone."""
    ends: set[TeamNode] = set()
    grown = True
    while grown:
        grown = False
        for node in reversed(graph.nodes):  # what comes last is nearest to an end
            if node not in ends and _ends(graph, node, always, ends):
                ends.add(node)
                grown = True
    return ends


def _ends(
    graph: Teams, node: TeamNode, always: Mapping[str, Iterable[str]], ends: set[TeamNode]
) -> bool:
    if any(TeamNode(callee) not in ends for callee in always[node.team]):
        return False
    exits = graph.usable(node)
    return not exits or any(_leads_out(graph, node, exit, ends) for exit in exits)


def _leads_out(graph: Teams, node: TeamNode, exit: Exit, ends: set[TeamNode]) -> bool:
    if exit.fans_out and not _meet(graph, exit, ends):
        return False
    after = graph.following(node, exit)
    return after is None or after in ends


def _meet(graph: Teams, exit: Exit, ends: set[TeamNode]) -> bool:
    """Return whether enough branches of a fan-out can reach their end."""
    open_ = sum(branch not in ends for branch in graph.branches(exit))
    meeting = graph.plan.teams.get(exit.concentrator or "")
    collects = meeting.collects if meeting is not None else None
    if collects is None:
        return not open_
    if collects.timeout is not None or collects.signal is not None:
        return True
    return len(exit.targets) - open_ >= (collects.count or len(exit.targets))


def called_always(bodies: Bodies) -> dict[str, list[str]]:
    """Map each team to the teams that every visit runs as steps, unless the visit fails before."""
    callees: dict[str, list[str]] = {}
    for team, body in bodies.teams.items():
        callees[team] = []
        for step in body.steps:
            if any(isinstance(inner, ReturnStep) for inner, _ in walk([step], ())):
                break
            if isinstance(step, TeamStep) and step.when is None and step.timeout is None:
                callees[team].append(step.team)
    return callees
