"""Limits: what a run may do, checked before a team starts.

A limit of N means exactly N executions. Every start counts, whatever its result: otherwise a team
that always fails would never reach its limit.
"""

import json
from collections.abc import Mapping
from hashlib import sha256

from dsl.errors import LimitExceeded
from dsl.model.facts import Facts, Outcomes
from dsl.model.plan import Limits, Team
from dsl.paths import MISSING, get, parse
from dsl.templates.jsonable import found_at
from dsl.values import Json


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
    """Return how often the team may run: its own limit, or else the run's."""
    return team.max_recursion_depth or limits.max_recursion_depth


def fingerprint(team: Team, context: Json, latest: Mapping[str, Outcomes]) -> str:
    """Return a digest of what the team reads of the context and of earlier teams' outcomes."""
    relevant = {path: get(context, parse(path)) for path in team.reads}
    if team.reads_teams:
        earlier = Facts(context={}, teams=latest).names()["teams"]
        for path in team.reads_teams:
            found = found_at(earlier, parse(path))
            relevant[f"teams:{path}"] = found
    seen = {path: value for path, value in relevant.items() if value is not MISSING}
    return sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()[:16]


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
