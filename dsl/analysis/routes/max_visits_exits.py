"""Exits to another team by `max_visits`, and the number of visits that it allows."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, product

from coterie.dsl.analysis.routes.exits import Exit
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.template_bound import maximum_of

_MAX_COMBINATIONS = 256
"""Of the branches of one fan-out that start elsewhere."""

Exits = Mapping[str, tuple[Exit, ...]]
Calls = Mapping[str, Iterable[str]]
Bounds = dict[str, int]


def with_turns(plan: Plan, calls: Calls, exits: Exits) -> dict[str, tuple[Exit, ...]]:
    """Add to each team the exits that it has where `max_visits` of its next team is reached.

    A bound is reached only where a path leads from the team back to it without a visit that starts
    its count anew, or where branches or called teams can visit it as well.
    """
    elsewhere = {team: _instead(plan, team) for team in plan.teams}
    turned = {
        team: (
            *leaving,
            *(other for exit in leaving for other in _exits_elsewhere(exit, elsewhere)),
        )
        for team, leaving in exits.items()
    }
    side_by_side = any(exit.fans_out for leaving in exits.values() for exit in leaving) or any(
        map(any, calls.values())
    )
    never = {
        team.id: (team.id,)
        for team in plan.teams.values()
        if team.max_visits is not None
        and not side_by_side
        and team.id not in reached_without(team.id, team.max_visits.per, calls, turned)
    }
    if not never:
        return turned
    possible = elsewhere | never
    return {
        team: (*leaving, *(other for exit in leaving for other in _exits_elsewhere(exit, possible)))
        for team, leaving in exits.items()
    }


def reached_without(first: str, without: str, calls: Calls, exits: Exits) -> frozenset[str]:
    """Return the teams that a path from a team comes to without a visit of another one."""
    teams: set[str] = set()
    ahead = [first]
    while ahead:
        team = ahead.pop()
        following = {other for exit in exits[team] if exit.usable for other in exit.visited}
        new = following.union(calls[team]) - teams - {without}
        teams |= new
        ahead += new
    return frozenset(teams)


def visits_allowed(plan: Plan, calls: Calls, exits: Exits, maximum: Mapping[str, int]) -> Bounds:
    """Return `{team with max_visits: the most visits that it allows in a run}`.

    Args:
        plan: The plan.
        calls: `{team: the teams that it runs as steps}`.
        exits: Those of the graph.
        maximum: `{team: the most visits of each team that a run can come to}`.
    """
    bounds: dict[str, int] = {}
    for team in maximum:
        bound = plan.teams[team].max_visits
        if bound is not None:
            entry = plan.entry_team
            early = entry != bound.per and (
                team == entry or team in reached_without(entry, bound.per, calls, exits)
            )
            bounds[team] = int(maximum_of(bound.limit)) * (maximum.get(bound.per, 0) + early)
    return bounds


def _instead(plan: Plan, team: str) -> tuple[str, ...]:
    """Return the team and those that may run in its place."""
    teams = [team]
    while (bound := plan.teams[teams[-1]].max_visits) is not None and bound.then not in teams:
        teams.append(bound.then)
    return tuple(teams)


def _exits_elsewhere(exit: Exit, elsewhere: Mapping[str, tuple[str, ...]]) -> Iterator[Exit]:
    combinations = product(*(elsewhere.get(team, (team,)) for team in exit.targets))
    for targets in islice(combinations, 1, _MAX_COMBINATIONS):
        yield exit._replace(targets=targets)
