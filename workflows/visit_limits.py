"""Limits of the visits of single teams: `max_visits` and `no_progress`."""

from dataclasses import replace

from coterie.dsl.errors import LimitExceeded
from coterie.dsl.evaluate.limits import fingerprint, non_progressing, visits_reached
from coterie.dsl.model.plan import Team
from coterie.dsl.model.terms import AskTerms
from coterie.workflows.approvals.approval_wait import PersonRequest, ask
from coterie.workflows.approvals.decisions import is_approved
from coterie.workflows.core.location import Location, Redirected, facts_at_end
from coterie.workflows.core.memory import Track
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state_keys import StateKey

_MAX_SEEN = 1000
"""Contexts of a team's visits that are compared with the next one: no longer cycle is detected."""


def turn_away(team: Team, track: Track, scope: Scope) -> bool:
    """Send the track to another team if this one has had its `max_visits`; return whether so."""
    counted = scope.state.bounded_visits
    facts = facts_at_end(scope, track, {})
    instead = visits_reached(scope.plan.teams, team, counted, facts)
    if instead is None:
        return False
    track.team, cause = instead
    track.routed = replace(track.routed, reason="max_visits", cause=cause)
    return True


def count_bounded(team: Team, scope: Scope) -> None:
    """Count the start of a team with `max_visits`, and reset the counts that are per this team."""
    counted = scope.state.bounded_visits
    if team.max_visits is not None:
        counted[team.id] = counted.get(team.id, 0) + 1
    for other in list(counted):
        bound = scope.plan.teams[other].max_visits if other in scope.plan.teams else None
        if bound is None or bound.per == team.id:
            del counted[other]


async def check_progress(team: Team, name: StateKey, track: Track, scope: Scope) -> None:
    """Fail, or ask a person first, if the team would see the same context again."""
    state = scope.state
    mark = fingerprint(team, track.context, track.latest)
    seen = state.seen.setdefault(team.id, [])
    if mark in seen:
        problem: LimitExceeded = non_progressing(team)
        if scope.plan.limits.no_progress != "ask":
            raise problem
        location = Location.of_visit(name, team.id, state.visits[team.id]).at("no_progress")
        terms = scope.plan.limits.no_progress_terms or AskTerms()
        question = terms.prompt or f"{problem}. Shall it run all the same?"
        try:
            decision = await ask(scope, location, PersonRequest(question, terms=terms))
        except Redirected:  # only in a plan that no compiler of ours made
            raise problem from None
        if not is_approved(decision):
            raise problem
    else:
        seen.append(mark)
        del seen[:-_MAX_SEEN]
