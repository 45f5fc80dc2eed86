"""The graph of teams: the exits of each team, and which of them a run can take."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from coterie.dsl.analysis.routes.exits import Exit
from coterie.dsl.analysis.routes.max_visits_exits import with_turns
from coterie.dsl.analysis.routes.timeout_routes import timeout_routes
from coterie.dsl.analysis.variable_scopes import TEAMS
from coterie.dsl.compile.route_compiler import targets
from coterie.dsl.logic.formulas import Formula
from coterie.dsl.logic.possible_statuses import after_all, after_success
from coterie.dsl.logic.solver import Effort, Statuses, can_hold
from coterie.dsl.logic.translation import formula
from coterie.dsl.model.plan import Plan, Routing, Rule, Team
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING
from coterie.dsl.model.steps import PersonaStep, Step
from coterie.dsl.model.traversal.agent_personas import agent_personas, execution_plans
from coterie.dsl.model.traversal.step_walk import walk


class TeamNode(NamedTuple):
    """A team on the run's main path, or on a fan-out branch that ends at a concentrator."""

    team: str
    branch: bool = False


class RoutingFormulas(NamedTuple):
    """The formulas of a team's rules, each made once."""

    taken: tuple[Formula, ...]
    """Under which the condition of each rule holds."""
    passed: tuple[Formula, ...]
    """Under which it does not."""

    def at_exit(self, rule: int | None) -> Iterator[Formula]:
        """Yield what holds when a run takes the exit by a rule; None: by no rule."""
        yield from islice(self.passed, rule)
        if rule is not None:
            yield self.taken[rule]


class Teams:
    """The graph of a plan's teams, as far as a run can reach."""

    def __init__(
        self,
        plan: Plan,
        calls: Mapping[str, Iterable[str]],
        exits: Mapping[str, tuple[Exit, ...]],
        worlds: Mapping[str, tuple[Statuses, ...]],
        good: Mapping[str, Statuses],
        formulas: Mapping[str, RoutingFormulas],
    ) -> None:
        self.plan = plan
        self.worlds = worlds
        """`{team: how its tasks may have ended when its routing is evaluated}`."""
        self.good = good
        """`{team: how its tasks have ended when it succeeded}`."""
        self.formulas = formulas
        self.calls = calls
        """`{team: the teams that its steps, and the plans that its agents follow, run}`."""
        self.exits = exits
        self.concentrators = tuple(
            team.id for team in plan.teams.values() if team.collects is not None
        )
        """The teams where branches meet."""
        self._usable = {
            team: tuple(exit for exit in leaving if exit.usable) for team, leaving in exits.items()
        }
        self.nodes = self._reachable([plan.entry_team])
        """What a run can visit, in order of their distance from the entry."""
        self.reached = frozenset(node.team for node in self.nodes)
        """The teams that a run can visit."""

    @cached_property
    def main_path(self) -> frozenset[str]:
        """Return the teams that the run itself visits, outside branches and steps."""
        nodes = {TeamNode(self.plan.entry_team): None}
        ahead = list(nodes)
        for node in ahead:
            for exit in self.usable(node):
                after = self.following(node, exit)
                if after is not None and after not in nodes:
                    nodes[after] = None
                    ahead.append(after)
        return frozenset(node.team for node in nodes)

    def cleaning(self) -> frozenset[str]:
        """Return the teams that only a cancelled run visits."""
        here = (self.plan.teams[team].on_cancel for team in self.reached)
        first = [team for team in (self.plan.on_cancel, *here) if team is not None]
        return frozenset(node.team for node in self._reachable(first)) - self.reached

    def _reachable(self, first: Iterable[str]) -> tuple[TeamNode, ...]:
        nodes: dict[TeamNode, None] = dict.fromkeys(map(TeamNode, first))
        ahead = list(nodes)
        for node in ahead:
            for other in self.beside(node):
                if other not in nodes:
                    nodes[other] = None
                    ahead.append(other)
        return tuple(nodes)

    def arrives(self, node: TeamNode) -> bool:
        """Return whether a branch ends at this node, where it waits for the others."""
        return node.branch and self.plan.teams[node.team].collects is not None

    def success_exits(self, team: str) -> tuple[Exit, ...]:
        """Return the exits that a run can take from a team when no task failed."""
        return tuple(exit for exit in self._usable[team] if exit.after_success)

    def usable(self, node: TeamNode) -> tuple[Exit, ...]:
        """Return the exits that a run can take from a node."""
        return self._usable[node.team]

    def branches(self, exit: Exit) -> Iterator[TeamNode]:
        """Return the branches that a fan-out starts with a visit."""
        for name in exit.targets if exit.fans_out else ():
            node = TeamNode(name, branch=True)
            if not self.arrives(node):
                yield node

    def following(self, node: TeamNode, exit: Exit) -> TeamNode | None:
        """Return what this branch visits next; None when it ends or waits at a concentrator."""
        if exit.fans_out:
            return None if exit.concentrator is None else TeamNode(exit.concentrator, node.branch)
        if not exit.targets:
            return None
        after = TeamNode(exit.targets[0], node.branch)
        return None if self.arrives(after) else after

    def beside(self, node: TeamNode) -> Iterator[TeamNode]:
        """Return every node that a visit of this one can start next."""
        for exit in self.usable(node):
            yield from self.branches(exit)
            after = self.following(node, exit)
            if after is not None:
                yield after
        for callee in self.calls[node.team]:
            yield TeamNode(callee)


def team_graph(plan: Plan, calls: Mapping[str, Iterable[str]], effort: Effort) -> Teams:
    """Build the graph of a plan.

    Args:
        plan: The plan.
        calls: `{team: the teams that it runs as steps}`.
        effort: The effort left for deciding which exits a run can take.
    """
    teams = plan.teams.values()
    worlds = {team.id: after_all(team.steps, team.stop_on_failure) for team in teams}
    good = {team.id: after_success(team.steps) for team in teams}
    formulas = {team.id: _formulas(team) for team in teams}
    exits = {
        team.id: (
            *_exits(team, formulas[team.id], worlds[team.id], good[team.id], effort),
            *_exits_of_timeouts(team, plan),
            *_exits_of_budgets(team, plan),
            *(Exit((name,), None, after_success=True) for name in handoffs(team, plan)),
        )
        for team in teams
    }
    return Teams(plan, calls, with_turns(plan, calls, exits), worlds, good, formulas)


def exits_after(
    team: Team, graph: Teams, world: Callable[[], Statuses], effort: Effort
) -> Iterator[int]:
    """Yield the numbers of the exits that a run can take when a team has ended this way.

    Args:
        team: The team.
        graph: The graph, with all its exits.
        world: Computes how its tasks have ended.
        effort: The effort left for deciding: without any, every exit can be taken.
    """
    exits = graph.exits[team.id]
    if effort.left <= 0:
        effort.leave_out((*TEAMS, team.id))
        yield from (number for number, exit in enumerate(exits) if exit.usable)
        return
    formulas, good = graph.formulas[team.id], graph.good[team.id]
    routed = list(_exits(team, formulas, (world(),), good, effort))
    for number, exit in enumerate(exits):
        if exit.usable and (number >= len(routed) or routed[number].usable):
            yield number


def _exits_of_timeouts(team: Team, plan: Plan) -> Iterator[Exit]:
    """Return where the run goes from the team when nobody decides in time."""
    for route in timeout_routes(team, plan):
        yield Exit((route.target,), None, at_any_time=True, task=route.task)


def _exits_of_budgets(team: Team, plan: Plan) -> Iterator[Exit]:
    """Return where the run goes from the team when a budget is used up."""
    for budget in plan.budgets:
        elsewhere = budget.scope == "team" and budget.name != team.id
        if budget.next_team not in (None, team.id) and not elsewhere:
            leaves_all = budget.scope != "team"
            yield Exit((budget.next_team,), None, at_any_time=True, leaves_all=leaves_all)


def _exits(
    team: Team,
    formulas: RoutingFormulas,
    worlds: Sequence[Statuses],
    good: Statuses,
    effort: Effort,
) -> Iterator[Exit]:
    routing = team.routing
    if routing is None:
        yield Exit((), None, after_success=True)
        return

    def possible(rule: int | None, worlds: Sequence[Statuses]) -> bool:
        return can_hold(formulas.at_exit(rule), worlds, effort, (*TEAMS, team.id))

    for number, rule in enumerate(routing.rules):
        usable = possible(number, worlds)
        well = usable and possible(number, (good,))
        yield _by_rule(routing, rule, number, usable)._replace(after_success=well)
    if routing.default is not None:
        usable = possible(None, worlds)
        well = usable and possible(None, (good,))
        updates = tuple(routing.context_updates)
        yield Exit((routing.default,), None, updates, usable=usable, after_success=well)
    elif routing.ends_by_default or not routing.rules:
        usable = possible(None, (good,))
        updates = tuple(routing.context_updates)
        yield Exit((), None, updates, usable=usable, after_success=usable)


def _formulas(team: Team) -> RoutingFormulas:
    rules = () if team.routing is None else team.routing.rules
    return RoutingFormulas(
        tuple(_rule_formula(rule) for rule in rules),
        tuple(_rule_formula(rule, False) for rule in rules),
    )


def _rule_formula(rule: Rule, holds: bool = True) -> Formula:
    return holds if rule.condition is None else formula(rule.condition, holds)


def _by_rule(routing: Routing, rule: Rule, number: int, usable: bool) -> Exit:
    return Exit(
        targets(rule.next_team),
        number,
        (*routing.context_updates, *rule.context_updates),
        fans_out=isinstance(rule.next_team, tuple),
        concentrator=rule.concentrator,
        usable=usable,
    )


def handoffs(team: Team, plan: Plan) -> Iterator[str]:
    """Yield the teams to which the agents of a team may hand over, each once.

    An agent that another one calls as a tool never hands over.
    """
    yield from dict.fromkeys(_handoffs_of(team.steps, plan, set()))


def _handoffs_of(steps: Sequence[Step], plan: Plan, seen_personas: set[str]) -> Iterator[str]:
    for step, _ in walk(steps, ()):
        if isinstance(step, PersonaStep) and step.agent_type != ORCHESTRATING:
            for _, persona in agent_personas(step, plan.personas):
                yield from persona.handoffs
        for agent, followed in execution_plans(step, plan.personas):
            if agent.persona_key not in seen_personas:
                seen_personas.add(agent.persona_key)
                yield from _handoffs_of(followed, plan, seen_personas)
