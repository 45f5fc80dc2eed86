"""Limits: what a run may do, checked before a team starts.

A limit of N means exactly N executions. Every start counts, whatever its result: otherwise a team
that always fails would never reach its limit.
"""

import json
from collections.abc import Mapping
from hashlib import sha256

from coterie.dsl.errors import InvalidPlan, LimitExceeded
from coterie.dsl.evaluate.bounds import visits_allowed
from coterie.dsl.model.causes import VisitsReached
from coterie.dsl.model.facts import Facts, Outcomes
from coterie.dsl.model.plan import Limits, Team
from coterie.dsl.paths import MISSING, get, parse
from coterie.dsl.templates.jsonable import found_at
from coterie.dsl.values import Json


def check(limits: Limits, team: Team, teams_run: int, visits: Mapping[str, int]) -> None:
    """Check that one more visit of the team is allowed.

    Raises:
        LimitExceeded: the message starts with a fixed sentence, as users of earlier systems know
        it.
    """
    if teams_run >= limits.max_total_teams:
        raise LimitExceeded(
            f"Max total teams exceeded: {teams_run} of {limits.max_total_teams} team visits are "
            f"used and {team.id!r} would be the next",
            limit="max_total_teams",
            allowed=limits.max_total_teams,
        )
    allowed = depth_allowed(limits, team)
    if visits.get(team.id, 0) >= allowed:
        raise LimitExceeded(
            f"Max recursion depth for team {team.id} exceeded: it ran {allowed} of {allowed} times",
            limit="max_recursion_depth",
            allowed=allowed,
        )


def depth_allowed(limits: Limits, team: Team) -> int:
    """Return the visit limit of the team: its own, or else the run's.

    `max_visits` of a team replaces the run's `max_recursion_depth`.
    """
    common = limits.max_recursion_depth if team.max_visits is None else limits.max_total_teams
    return team.max_recursion_depth or common


def visits_reached(
    teams: Mapping[str, Team], team: Team, counted: Mapping[str, int], facts: Facts
) -> tuple[str, VisitsReached] | None:
    """Return the team that runs instead of one that has reached its `max_visits`, and why.

    Args:
        teams: The teams of the plan.
        team: The team that would be next.
        counted: `{team: visits since the latest visit of its "per"}`.
        facts: What the template of a limit reads.

    Returns:
        None while the team may run.

    Raises:
        InvalidPlan: the teams send the run to each other, or to a team that does not exist.
        InvalidBound, TemplateFailed: the template of a limit gives no number that it may be.
    """
    instead: tuple[str, VisitsReached] | None = None
    for _ in teams:
        bound = team.max_visits
        if bound is None:
            return instead
        limit = visits_allowed(team.id, bound.limit, facts)
        if counted.get(team.id, 0) < limit:
            return instead
        instead = bound.then, VisitsReached("max_visits", team.id, limit, bound.per)
        if bound.then not in teams:
            break
        team = teams[bound.then]
    raise InvalidPlan(f"`max_visits` of {team.id!r} leads to no team that may run")


def fingerprint(team: Team, context: Json, latest: Mapping[str, Outcomes]) -> str:
    """Return a digest of what the team reads of the context and of earlier teams' outcomes."""
    relevant = {path: get(context, parse(path)) for path in team.reads}
    if team.reads_teams:
        earlier = Facts(context={}, teams=latest).names()["teams"]
        for path in team.reads_teams:
            earlier_value = found_at(earlier, parse(path))
            relevant[f"teams:{path}"] = earlier_value
    inputs = {path: value for path, value in relevant.items() if value is not MISSING}
    return sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]


def non_progressing(team: Team) -> LimitExceeded:
    """Return the error of a team that is entered again with the same inputs."""
    paths = [path or "the whole context" for path in team.reads]
    looked_at = ", ".join((*paths, *(f"teams.{path}" for path in team.reads_teams)))
    return LimitExceeded(
        f"Non-progressing loop detected: team {team.id} is entered again and nothing that it "
        f"reads has changed ({looked_at or 'it reads nothing'})",
        limit="no_progress",
        allowed=1,
    )
