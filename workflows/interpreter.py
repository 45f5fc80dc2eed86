"""The interpreter: teams with their limits, the route to the next, and the hooks of the run.

Deterministic by construction: it knows only the plan, the state and the Scope.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from coterie.dsl.errors import HookFailed, HookRejected, InvalidPlan, LimitExceeded, TeamError
from coterie.dsl.evaluate.context_writes import ContextWrite, written_value
from coterie.dsl.evaluate.declared_values import reset
from coterie.dsl.evaluate.limits import check, fingerprint, non_progressing, visits_reached
from coterie.dsl.evaluate.prompt_choice import snapshot
from coterie.dsl.evaluate.routing import Route, choose, failed_task
from coterie.dsl.hooks.hook_rulings import HookRuling
from coterie.dsl.model.causes import SentOn
from coterie.dsl.model.decision_terms import AskTerms
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Persona, Plan, Team
from coterie.dsl.model.steps import PersonaStep, Step
from coterie.dsl.sizes import check_size
from coterie.workflows.agents.hook_points import ask_hooks, reason_of
from coterie.workflows.approvals.approval_wait import PersonRequest, ask
from coterie.workflows.approvals.decisions import is_approved
from coterie.workflows.context_drafts import write_to_track
from coterie.workflows.control.pause_and_amend import amend, give_up, sent_on
from coterie.workflows.core.causes.people_causes import NotBegun
from coterie.workflows.core.causes.step_causes import run_ended
from coterie.workflows.core.location import Location, Redirected, Returned, RunLeft, facts_at_end
from coterie.workflows.core.messages import RedirectInput
from coterie.workflows.core.results import RunFailed, declared_output, failed_result, result
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state_keys import MAIN, StateKey
from coterie.workflows.core.state_parts import FanOut, Frame, Routed, Track
from coterie.workflows.core.trail import note_control, note_route, note_visit
from coterie.workflows.core.views import TeamResult
from coterie.workflows.fan_out import gathered, join, leave, start_branches
from coterie.workflows.sequence import run_steps
from coterie.workflows.sessions.message_queue import counted_visits
from coterie.workflows.skipped_steps import skip_unrun
from coterie.workflows.steps.agent import run_agent

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
    marks = state.seen.setdefault(team.id, [])
    if mark in marks:
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
        marks.append(mark)
        del marks[:-_MAX_SEEN]


async def before_run(scope: Scope) -> None:
    """Ask the hooks once, before the first team; write to the context what they change.

    Raises:
        HookFailed: a hook fails, or cannot decide.
        HookRejected: a hook rejects the run.
        TeamError: a change does not fit the declared context.
    """
    state = scope.state
    if state.hooks_asked:
        return
    main = state.main
    location = Location.of_visit(MAIN, main.team, main.visit)
    verdict = await ask_hooks(scope.plan.hooks, "before_run", {}, location, scope)
    _stop(verdict.stop)
    writes = [
        ContextWrite(path, update.value, update.operation)
        for path, value in verdict.writes.items()
        for update in (written_value(value),)
    ]
    write_to_track(scope.plan, main, writes, "a hook")
    state.hooks_asked = True


async def after_run(scope: Scope, output: JsonValue) -> JsonValue:
    """Ask the hooks about the output of a run that has completed; return it as they change it.

    Raises:
        HookFailed: a hook fails, or cannot decide.
        HookRejected: a hook rejects the output.
        ValueTooLarge: the changed output is larger than may travel.
    """
    main = scope.state.main
    location = Location.of_visit(MAIN, main.routed.from_team, 0)
    verdict = await ask_hooks(scope.plan.hooks, "after_run", {"output": output}, location, scope)
    _stop(verdict.stop)
    if verdict.changed_by:
        check_size(verdict.facts["output"], "the output of the run")
    return verdict.facts["output"]


def _stop(ruling: HookRuling | None) -> None:
    if ruling is None:
        return
    kind = HookRejected if ruling.decision == "reject" else HookFailed
    raise kind(reason_of(ruling))


async def run(scope: Scope) -> TeamResult:
    """Run the plan to its end, from where its state is.

    Raises:
        RunFailed: a limit, no route, a failed team without a route, a template in routing.
    """
    main = scope.state.main
    try:
        if scope.plan.hooks:
            await before_run(scope)
        await TeamInterpreter(scope).follow(MAIN)
        output = declared_output(scope)
        if scope.plan.hooks:
            return await _hooked_result(scope, output)
    except TeamError as error:
        give_up(scope.state, scope.now())
        location = Location.of_visit(MAIN, main.team, main.visit)
        note_route(scope, location, run_ended(error), type(error).__name__)
        raise RunFailed(failed_result(scope, error), error) from error
    give_up(scope.state, scope.now())
    completed = result(scope, "completed", main.routed.because)
    if scope.plan.output is None:
        return completed
    return completed.model_copy(update={"output": output})


async def _hooked_result(scope: Scope, output: JsonValue) -> TeamResult:
    """Return the result of a completed run, as its hooks change it."""
    completed = result(scope, "completed", scope.state.main.routed.because)
    raw_output = completed.output if scope.plan.output is None else output
    final_output = await after_run(scope, raw_output)
    give_up(scope.state, scope.now())
    completed = result(scope, "completed", scope.state.main.routed.because)
    return completed.model_copy(update={"output": final_output})


@dataclass(eq=False)
class TeamInterpreter:
    """Follows tracks and runs steps; the Scope's state is its only memory."""

    scope: Scope
    _personas: dict[tuple[str | None, str | None], Persona] = field(
        default_factory=dict[tuple[str | None, str | None], Persona], init=False
    )

    async def run_steps(
        self, steps: Sequence[Step], location: Location, *, part: str = "", stop: bool = True
    ) -> Outcome:
        """Run the steps in order, from where the state left the list."""
        return await run_steps(steps, location, self.scope, self, part=part, stop=stop)

    def persona(self, step: PersonaStep) -> Persona:
        """Return the persona as the agent receives it; it is built once for all its turns.

        Raises:
            InvalidPlan: the plan has no persona of that name.
        """
        key = (step.persona_key, step.prompt)
        persona = self._personas.get(key)
        if persona is None:
            persona = self._personas[key] = snapshot(_persona(self.scope.plan, step), step)
        return persona

    async def run_agent(self, step: PersonaStep, location: Location, given: JsonValue) -> Outcome:
        """Run an agent with an input that is already rendered."""
        return await run_agent(step, location, self.scope, self, given)

    async def follow(self, track: StateKey) -> None:
        """Follow a track from team to team until its end, or to the join of its branches."""
        here = self.scope.state.tracks[track]
        while here.team is not None or here.fan_out is not None:
            if here.fan_out is not None:
                await self._join(track, here, here.fan_out)
                continue
            team = _team(self.scope.plan, here.team or "")
            if team.collects is not None and here.branch and here.gathered is None:
                here.arrived = team.id
                return
            await self._visit(team, track, here)

    async def _join(self, name: StateKey, track: Track, fan_out: FanOut) -> None:
        try:
            await join(name, track, fan_out, self.scope, self)
        except RunLeft as away:
            if name != MAIN:
                raise
            leave(name, track, fan_out, away, self.scope)

    async def _visit(self, team: Team, name: StateKey, track: Track) -> None:
        """Run one visit: limits, steps, route, context; on resume, no part repeats."""
        scope = self.scope
        fresh = track.visit == 0
        if not fresh:
            location = Location.of_visit(name, team.id, track.visit, track)
        elif (entered := await self._enter_team(team, name, track)) is not None:
            location = entered
        else:
            return
        frame = location.frame(scope)
        if fresh and team.collects is not None:
            frame.variables |= gathered(team.collects, track)
        route = await self._run_tasks(team, location, frame)
        if scope.state.amendments:  # the rules, and the result of the run, see them
            amend(scope.state, scope.now(), scope.plan.context)
        if scope.state.redirect is not None and name == MAIN:
            route = _redirect_route(scope.state.redirect)
            scope.state.redirect = None
        route = route or choose(team, location.facts(scope))
        failed = failed_task(team, frame.tasks)
        _leave(scope.plan, team, track, route, frame, failed)
        status = "success" if failed is None else "failure"
        note_route(scope, location, route.cause, status, route.next_team, route.writes)
        scope.state.forget(location.frame_key)
        track.visit = 0
        match route.next_team:
            case tuple():
                start_branches(location, track, route, scope)
            case _:
                pass

    async def _enter_team(self, team: Team, name: StateKey, track: Track) -> Location | None:
        """Start a visit within the limits, and return it; None where another team runs instead."""
        scope, state = self.scope, self.scope.state
        await scope.checkpoint()
        if state.redirect is not None and self._sent_on(team, name, track):
            return None
        # A cancelled run has its own time limit, and no other.
        limited = state.stop_by is None
        if limited and team.max_visits is not None and turn_away(team, track, scope):
            return None
        if limited:
            check(scope.plan.limits, team, *counted_visits(state))
        if team.resets:
            _reset(team, track, scope)
        if limited and scope.plan.limits.no_progress != "ignore":
            await check_progress(team, name, track, scope)
            if state.redirect is not None and self._sent_on(team, name, track):
                return None
        visit = state.visits.get(team.id, 0) + 1
        # Before it counts: an observer of the trail has the state in which the visit can restart.
        location = Location.of_visit(name, team.id, visit, track)
        note_visit(scope, location, track.routed.cause)
        state.teams_run += 1
        state.visits[team.id] = visit
        if team.max_visits is not None or state.bounded_visits:
            count_bounded(team, scope)
        track.visit = visit
        return location

    def _sent_on(self, team: Team, name: StateKey, track: Track) -> bool:
        """Whether a person sent the run elsewhere before this team started."""
        state = self.scope.state
        if state.redirect is None or name != MAIN:
            return False
        redirect: SentOn = sent_on(state.redirect)
        if redirect.team != team.id:
            note_control(state, self.scope.now(), NotBegun("not_begun", team.id, redirect))
        track.team = redirect.team
        track.routed = Routed("redirected", redirect, track.routed.from_team)
        track.gathered = None
        state.redirect = None
        return True

    async def _run_tasks(self, team: Team, location: Location, frame: Frame) -> Route | None:
        """Run the team's steps; return a route if they leave the team other than by its routing."""
        try:
            steps = run_steps(
                team.steps, location, self.scope, self, part="tasks", stop=team.stop_on_failure
            )
            visibility = self.scope.state.visibility
            if visibility is not None and visibility.event_groups:
                steps = self.scope.grouped(f"{team.id}#{location.visit}", steps)
            await steps
        except Returned:
            skip_unrun(team.steps, frame)
        except Redirected as away:
            skip_unrun(team.steps, frame)
            return Route(away.team, away.cause, "redirected")
        except RunLeft as away:
            if location.track != MAIN:
                raise
            skip_unrun(team.steps, frame)
            return Route(away.team, away.cause, "redirected")
        return None


def _team(plan: Plan, team_id: str) -> Team:
    team = plan.teams.get(team_id)
    if team is None:
        raise InvalidPlan(f"the plan has no team {team_id!r}")
    return team


def _persona(plan: Plan, step: PersonaStep) -> Persona:
    persona = plan.personas.get(step.persona_key)
    if persona is None:
        raise InvalidPlan(
            f"step {step.name!r} names the persona {step.persona_key!r}, which the "
            "plan does not have"
        )
    return persona


def _redirect_route(redirect: RedirectInput) -> Route:
    return Route(redirect.team, sent_on(redirect), "redirected")


def _leave(
    plan: Plan,
    team: Team,
    track: Track,
    route: Route,
    frame: Frame,
    failed: tuple[str, Outcome] | None,
) -> None:
    """Move the track along the route, with the context that the route makes."""
    write_to_track(plan, track, route.writes, f"team {team.id!r}")
    track.latest[team.id] = frame.tasks
    name, outcome = failed or (None, None)
    track.routed = Routed(
        reason=route.reason,
        cause=route.cause,
        from_team=team.id,
        error=outcome.error if outcome else None,
        failed_task=name,
    )
    match route.next_team:
        case tuple():
            track.team = None
        case _:
            track.team = route.next_team
    track.gathered = None


def _reset(team: Team, track: Track, scope: Scope) -> None:
    """Put the team's declared paths back to their defaults."""
    declared = scope.plan.context
    track.context = reset(track.context, team.resets, declared)
    if track.branch:
        track.updates.extend(ContextWrite(path, declared[path].default) for path in team.resets)
