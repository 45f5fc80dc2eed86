"""What one message of a session may cost at most, and what precedes the first one.

The limits of a session count from the latest message. So the worst case of a message is that of the
path from the step that takes it to the next message, or to the end of the run.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from coterie.dsl.analysis.routes.exits import Exit
from coterie.dsl.analysis.routes.team_graph import Teams
from coterie.dsl.analysis.routes.visits_of_teams import RoutesBound
from coterie.dsl.analysis.variable_scopes import Bodies, Body
from coterie.dsl.analysis.worst_case_of_steps import Loads
from coterie.dsl.analysis.worst_case_sums import Key, Load, largest, numbers_by_name, times
from coterie.dsl.evaluate.limits import depth_allowed
from coterie.dsl.logic.solver import SUCCESS, Effort, Statuses, can_hold
from coterie.dsl.model.plan import Plan, Routing
from coterie.dsl.model.steps import Step

_WAITING = "\0"
"""Begins the name of a team in the part of its visit before its message; no document has it."""


@dataclass(frozen=True, slots=True)
class Segment:
    """The most that happens between two messages."""

    visits: int
    load: Load
    teams: Mapping[str, tuple[int, Load]]
    """`{team: its visits, and all that they do}`."""


@dataclass(frozen=True, slots=True)
class MessageBounds:
    """The worst case of a session in its parts."""

    messages: int
    """The most messages of one session."""
    first: Segment
    """Before the first message."""
    each: Segment
    """From one message to the next."""


def message_bounds(graph: Teams, bodies: Bodies, loads: Loads) -> MessageBounds | None:
    """Return the worst case of each message; None for a run without messages."""
    takers = [
        team
        for team, body in bodies.teams.items()
        if team in graph.reached and any(step.takes_message for step, _ in body.steps_with_paths)
    ]
    if not takers:
        return None
    parts = _Parts(graph, bodies, loads, frozenset(takers))
    if not graph.main_path.issuperset(takers):
        within = parts.within_limits()
        return MessageBounds(graph.plan.limits.max_messages, within, within)
    each = [parts.after_message(team) for team in takers]
    return MessageBounds(graph.plan.limits.max_messages, parts.at_start(), _largest(each))


@dataclass(frozen=True, slots=True)
class _Parts:
    graph: Teams
    bodies: Bodies
    loads: Loads
    takers: frozenset[str]
    """The teams that take messages."""

    def after_message(self, team: str) -> Segment:
        """Return what follows a message that this team takes."""
        index = _only_wait(self.bodies.teams[team])
        body = self.bodies.teams[team]
        rest = self.loads.team(body) if index is None else self.loads.part(body, index + 1)
        exits = {team: self._exits(team, took_message=True)}
        segment = self._segment(team, {team: rest}, exits, visits_before=1)
        return replace(segment, visits=segment.visits - 1)

    def at_start(self) -> Segment:
        """Return the segment before the first message."""
        entry = self.graph.plan.entry_team
        return self._segment(_WAITING + entry if entry in self.takers else entry, {}, {})

    def _segment(
        self,
        entry: str,
        rest: Mapping[str, Load],
        rest_exits: Mapping[str, tuple[Exit, ...]],
        *,
        visits_before: int = 0,
    ) -> Segment:
        """Bound the paths from a team on which no further message is taken.

        Args:
            entry: The first team.
            rest: The load of each team that takes a message, once it has taken it.
            rest_exits: Its exits then.
            visits_before: How many of these visits began before the limits count.
        """
        graph = self.graph
        loads: dict[str, Load] = {
            team: self.loads.team(body)
            for team, body in self.bodies.teams.items()
            if team not in self.takers
        }
        exits = {team: self._aside(graph.exits[team]) for team in loads}
        for team in self.takers:
            loads[_WAITING + team] = self._before_message(team)
            exits[_WAITING + team] = self._aside(self._exits(team, took_message=False))
            loads[team] = rest.get(team, {})
            exits[team] = self._aside(rest_exits.get(team, ()))
        part = Teams(
            self._plan(entry, visits_before), _calls(self.graph.calls, exits), exits, {}, {}, {}
        )
        reached = {team: load for team, load in loads.items() if team in part.reached}
        routes = RoutesBound(
            part, {team: numbers_by_name(load, "team") for team, load in reached.items()}
        )
        return _bounded_segment(routes, reached)

    def _plan(self, entry: str, visits_before: int) -> Plan:
        """Return a plan with a second team for each that takes messages: before it takes one.

        A `max_visits` per such a team no longer bounds anything, since both may be visited.
        """
        plan = self.graph.plan
        teams = {
            id: team.model_copy(update={"max_visits": None})
            if team.max_visits is not None and self._may_be_passed(team.max_visits.per)
            else team
            for id, team in plan.teams.items()
        }
        teams |= {_WAITING + id: teams[id] for id in self.takers}
        total = plan.limits.max_total_teams + visits_before
        limits = plan.limits.model_copy(update={"max_total_teams": total})
        update = {"entry_team": entry, "teams": teams, "limits": limits}
        return plan.model_copy(update=update)

    def _may_be_passed(self, team: str) -> bool:
        """Return whether a run may leave a team that takes messages without a message."""
        return team in self.takers and any(
            exit.usable and exit.targets for exit in self._exits(team, took_message=False)
        )

    def _before_message(self, team: str) -> Load:
        """Return the load of a visit that takes no message."""
        body = self.bodies.teams[team]
        index = _only_wait(body)
        if index is None or body.team is None or not body.team.stop_on_failure:
            return self.loads.team(body)
        wait = body.steps[index]
        may_continue = wait.when is not None or wait.on_failure is not None
        return self.loads.team(body) if may_continue else self.loads.part(body, 0, index)

    def _aside(self, exits: Sequence[Exit]) -> tuple[Exit, ...]:
        """Lead exits to a team that takes messages to the part before its message."""

        def named(team: str) -> str:
            return _WAITING + team if team in self.takers else team

        return tuple(
            exit._replace(targets=tuple(named(team) for team in exit.targets)) for exit in exits
        )

    def _exits(self, team_id: str, *, took_message: bool) -> tuple[Exit, ...]:
        """Return the exits of a team that took a message, or that took none."""
        body, exits = self.bodies.teams[team_id], self.graph.exits[team_id]
        index = _only_wait(body)
        if index is None:
            return exits
        wait, effort = body.steps[index].name, Effort()
        worlds = [
            Statuses({**world.of, wait: mask}, world.counted)
            for world in self.graph.worlds[team_id]
            if (mask := world.of[wait] & (SUCCESS if took_message else ~SUCCESS))
        ]
        routing = self.graph.plan.teams[team_id].routing or Routing()

        def usable(exit: Exit) -> bool:
            if not exit.usable or not _is_decided_by_routing(routing, exit):
                return exit.usable
            return can_hold(self.graph.formulas[team_id].at_exit(exit.rule), worlds, effort)

        return tuple(exit._replace(usable=usable(exit)) for exit in exits)

    def within_limits(self) -> Segment:
        """Return what the limits alone allow, where a called team takes messages."""
        plan = self.graph.plan
        loads = {team: self.loads.team(self.bodies.teams[team]) for team in self.graph.reached}
        allowed = {
            team: min(plan.limits.max_total_teams, depth_allowed(plan.limits, plan.teams[team])) + 1
            for team in loads
        }

        def filled(key: Key) -> float:
            remaining, total = plan.limits.max_total_teams + 1, 0.0
            for team in sorted(loads, key=lambda team: -loads[team].get(key, 0.0)):
                number = min(remaining, allowed[team])
                load = loads[team].get(key, 0.0)
                total += number * load if number and load else 0.0
                remaining -= number
            return total

        visits = min(plan.limits.max_total_teams, sum(allowed.values()))
        each = {team: (allowed[team], times(load, allowed[team])) for team, load in loads.items()}
        return Segment(visits, {key: filled(key) for key in _keys(loads.values())}, each)


def _is_decided_by_routing(routing: Routing, exit: Exit) -> bool:
    """Return whether the rules or the default lead to an exit."""
    default = () if routing.default is None else (routing.default,)
    return exit.rule is not None or exit.targets == default


def _only_wait(body: Body) -> int | None:
    """Return the index of the team's only wait for a message; None where one is nested."""
    waits = [step for step, _ in body.steps_with_paths if step.takes_message]
    indices = [index for index, step in enumerate(body.steps) if step is _one(waits)]
    return indices[0] if indices else None


def _one(steps: Sequence[Step]) -> Step | None:
    return steps[0] if len(steps) == 1 else None


def _calls(calls: Mapping[str, Iterable[str]], teams: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the called teams of each team, also of those before their message."""
    return {team: tuple(calls[team.removeprefix(_WAITING)]) for team in teams}


def _keys(loads: Iterable[Load]) -> list[Key]:
    return list(dict.fromkeys(key for load in loads for key in load))


def _bounded_segment(routes: RoutesBound, loads: Mapping[str, Load]) -> Segment:
    def bound(key: Key) -> Callable[[str], float]:
        return lambda team: loads[team].get(key, 0.0)

    teams: dict[str, tuple[int, Load]] = {}
    for name, load in loads.items():
        team, visits = name.removeprefix(_WAITING), routes.visits[name]
        earlier_figures = teams.get(team, (0, {}))
        both = {
            key: earlier_figures[1].get(key, 0.0) + value
            for key, value in times(load, visits).items()
        }
        teams[team] = max(earlier_figures[0], visits), {**earlier_figures[1], **both}
    load = {key: routes.bound(bound(key)) for key in _keys(loads.values())}
    return Segment(routes.total, load, teams)


def _largest(segments: Sequence[Segment]) -> Segment:
    """Return the larger of each figure."""
    teams: dict[str, tuple[int, Load]] = {}
    for segment in segments:
        for team, (visits, load) in segment.teams.items():
            earlier_figures = teams.get(team, (0, {}))
            teams[team] = max(earlier_figures[0], visits), largest((earlier_figures[1], load))
    return Segment(
        max(segment.visits for segment in segments),
        largest(segment.load for segment in segments),
        teams,
    )
