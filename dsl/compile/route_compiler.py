"""Compiles routing: every team that it names exists, and the branches of a fan-out join."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from coterie.dsl.checks.steps.condition_checks import check_condition
from coterie.dsl.checks.steps.context_update_checks import check_updates
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.errors import listed, nearest
from coterie.dsl.logic.routing_gaps import holes
from coterie.dsl.logic.solver import Effort
from coterie.dsl.model.document import RoutingDocument, RuleDocument, TeamDocument
from coterie.dsl.model.plan import Routing, Rule
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.paths import Path, parse, path_text
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.templates.path_templates import fixed_part
from coterie.dsl.values import Json, NodePath


def targets(next_team: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the teams that a route leads to."""
    if next_team is None:
        return ()
    return (next_team,) if isinstance(next_team, str) else tuple(next_team)


def either(names: Sequence[str]) -> str:
    """Return `'a', 'b' or 'c'`."""
    *first, last = map(repr, names)
    return f"{', '.join(first)} or {last}" if first else last


@rule("E107")
def clean_up_collects(team: str) -> ProblemText:
    return ProblemText(
        f"{team!r} collects the branches of a fan-out, and nothing fans out to a clean-up",
        fix="name a team of another type",
    )


@rule("W501")
def no_rule_matches(failing: Sequence[str]) -> ProblemText:
    failed = f", and when {either(failing)} fails," if failing else ""
    return ProblemText(
        f"when no rule matches{failed} the run fails: there is no default",
        fix="add `default:` with a team, or `default: null` to end there",
    )


@rule("E107")
def key_of_fan_out(key: str) -> ProblemText:
    return ProblemText(
        f"`{key}` belongs to a fan-out, and `next_team` is not a list",
        fix=f"write `next_team: [a, b]`, or remove `{key}`",
    )


ROUTE_KEYS: Json = {
    "if": {"properties": {"next_team": {"type": ["string", "null"]}}},
    "then": {"properties": {"merge": {"maxProperties": 0}, "concentrator": {"type": "null"}}},
}
"""The same, as JSON Schema for editors."""


@rule("W516")
def nothing_merged(path: str, known: Collection[str]) -> ProblemText:
    return ProblemText(
        f"no branch of this fan-out sets {path!r}, so nothing is merged there",
        f"the context paths that a branch sets: {listed(known)}",
        nearest(path, known) or "set it in `context_updates:` of a branch's routing",
    )


@rule("E208")
def branches_repeated(names: Sequence[str]) -> ProblemText:
    return ProblemText(f"the fan-out names {listed(names)} twice", fix="name each branch once")


@rule("E106")
def fan_out_empty() -> ProblemText:
    return ProblemText("the fan-out is empty", fix="name each branch once")


@rule("E107")
def several_concentrators(found: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"the branches of this fan-out can meet at {listed(found)}",
        fix=f"choose one: `concentrator: {found[0]}`",
    )


@rule("E107")
def not_a_concentrator(team: str, found: str) -> ProblemText:
    return ProblemText(f"{team!r} is a team of type {found!r}", "a team of type 'concentrator'")


@rule("E107")
def other_concentrators(others: Sequence[str], meeting: str) -> ProblemText:
    return ProblemText(
        f"a branch of this fan-out can reach {listed(others)}, but the fan-out meets at "
        f"{meeting!r}: nobody waits for that branch",
        fix="lead every branch to one concentrator, or to the end",
    )


@dataclass(frozen=True)
class RouteCompiler:
    """Compiles and checks the routing of all teams."""

    teams: Mapping[str, TeamDocument]
    tree: Node
    problems: Problems
    effort: Effort = field(default_factory=Effort)
    _updates: dict[str, frozenset[Path]] = field(default_factory=dict[str, frozenset[Path]])
    _timeout_teams: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @cached_property
    def known(self) -> Mapping[str, Node]:
        """Every team that the document names, valid or not."""
        return self.tree.find(("orchestration", "teams")).entries()

    def check_team(self, name: str, path: NodePath) -> None:
        """Note a team that does not exist."""
        if name not in self.known:
            unknown(self.problems, self.tree.value_at(path), "team", name, self.known)

    def check_clean_up(self, name: str, path: NodePath) -> None:
        """Note a cleanup team that does not exist, or that waits for branches."""
        self.check_team(name, path)
        team = self.teams.get(name)
        if team is not None and team.type == "concentrator":
            self.problems.report(clean_up_collects(name), self.tree.value_at(path))

    def routing(self, team: TeamDocument, path: NodePath, scope: StepScope) -> Routing | None:
        """Compile the routing of one team."""
        routing = team.routing
        if routing is None:
            return None
        check_updates(scope, routing.context_updates, (*path, "context_updates"))
        rules = tuple(
            self._rule(rule, (*path, "rules", index), scope)
            for index, rule in enumerate(routing.rules)
        )
        if routing.default is not None:
            self.check_team(routing.default, (*path, "default"))
        ends = "default" in routing.model_fields_set and routing.default is None
        if routing.rules and routing.default is None and not ends:
            self._without_default(team, routing, path)
        return Routing(
            rules=rules,
            default=routing.default,
            ends_by_default=ends,
            context_updates=routing.context_updates,
        )

    def _without_default(
        self, team: TeamDocument, routing: RoutingDocument, path: NodePath
    ) -> None:
        """Note rules that leave a success without a route; the analysis covers failures."""
        rules = [rule.condition for rule in routing.rules]
        gaps = holes(team.tasks, team.stop_on_failure, rules, self.effort, path[:-1])
        if gaps.after_success:
            self.problems.report(no_rule_matches(gaps.after_failure), self.tree.key_at(path))

    def _rule(self, rule: RuleDocument, path: NodePath, scope: StepScope) -> Rule:
        fans_out = not isinstance(rule.next_team, str | None)
        for index, target in enumerate(targets(rule.next_team)):
            key_path = (*path, "next_team")
            self.check_team(target, (*key_path, index) if fans_out else key_path)
        if rule.condition is not None:
            check_condition(scope, rule.condition, (*path, "condition"))
        check_updates(scope, rule.context_updates, (*path, "context_updates"))
        concentrator = self._meeting(rule, path) if fans_out else None
        for key in ("merge", "concentrator"):
            if getattr(rule, key) and not fans_out:
                self.problems.report(key_of_fan_out(key), self.tree.key_at((*path, key)))
        if fans_out:
            self._check_merge_policies(rule, path)
        return Rule(
            condition=rule.condition,
            next_team=rule.next_team,
            context_updates=rule.context_updates,
            merge=rule.merge,
            concentrator=concentrator,
        )

    def _check_merge_policies(self, rule: RuleDocument, path: NodePath) -> None:
        """Note a policy for a context path that no branch sets."""
        updates = {update for name in self._on_branches(rule) for update in self._updates_of(name)}
        for policy in rule.merge:
            policy_path = parse(policy)
            if any(update[: len(policy_path)] == policy_path[: len(update)] for update in updates):
                continue
            key_path = (*path, "merge", policy)
            names = {path_text(update) for update in updates}
            self.problems.report(nothing_merged(policy, names), self.tree.key_at(key_path))

    def _on_branches(self, rule: RuleDocument) -> set[str]:
        """Return the teams that the branches can reach before, and past, their join."""
        team_names: set[str] = set()
        ahead = [*targets(rule.next_team)]
        while ahead:
            team = self.teams.get(name := ahead.pop())
            if team is None or name in team_names:
                continue
            team_names.add(name)
            if team.routing is not None:
                ahead += targets(team.routing.default)
                ahead += [t for route in team.routing.rules for t in targets(route.next_team)]
                ahead += [route.concentrator for route in team.routing.rules if route.concentrator]
            ahead += self._timeout_targets(name)
            if team.max_visits is not None:
                ahead.append(team.max_visits.then)
        return team_names

    def _timeout_targets(self, name: str) -> list[str]:
        """Return the teams that a team's approvals lead to at their deadlines."""
        if name not in self._timeout_teams:
            asking = (step.asks for step, _ in walk(self.teams[name].tasks, ()))
            team_names = {terms.timeout_team for terms in asking if terms is not None}
            self._timeout_teams[name] = sorted(team for team in self.teams if team in team_names)
        return self._timeout_teams[name]

    def _updates_of(self, name: str) -> frozenset[Path]:
        """Return the paths of the context that a team updates, before their first template."""
        if name not in self._updates:
            self._updates[name] = frozenset(map(fixed_part, self._written_updates(name)))
        return self._updates[name]

    def _written_updates(self, name: str) -> Iterator[str]:
        routing = self.teams[name].routing
        for step, _ in walk(self.teams[name].tasks, ()):
            yield from step.context_updates
        if routing is not None:
            yield from routing.context_updates
            for rule in routing.rules:
                yield from rule.context_updates

    def _meeting(self, rule: RuleDocument, path: NodePath) -> str | None:
        """Return the concentrator that joins the branches of a fan-out."""
        branches = targets(rule.next_team)
        key_path = (*path, "next_team")
        twice = sorted({branch for branch in branches if branches.count(branch) > 1})
        if twice or not branches:
            details = branches_repeated(twice) if twice else fan_out_empty()
            self.problems.report(details, self.tree.value_at(key_path))
        concentrators = tuple(dict.fromkeys(self._reachable(branches, set())))
        if rule.concentrator is not None:
            self._check_concentrator(rule.concentrator, concentrators, path)
            return rule.concentrator
        if len(concentrators) > 1:
            self.problems.report(several_concentrators(concentrators), self.tree.key_at(key_path))
        return concentrators[0] if concentrators else None

    def _check_concentrator(
        self, concentrator: str, candidates: Sequence[str], path: NodePath
    ) -> None:
        """Note a rule's `concentrator` that is none, or branches that reach another one first."""
        where = (*path, "concentrator")
        self.check_team(concentrator, where)
        team = self.teams.get(concentrator)
        if team is not None and team.type != "concentrator":
            self.problems.report(
                not_a_concentrator(concentrator, team.type), self.tree.value_at(where)
            )
        others = [name for name in candidates if name != concentrator]
        if team is not None and others:
            self.problems.report(
                other_concentrators(others, concentrator), self.tree.value_at(where)
            )

    def _reachable(self, names: Sequence[str], seen_teams: set[tuple[str, str]]) -> Iterator[str]:
        """Yield the concentrators that the branches reach first, past those of inner fan-outs."""
        for name in names:
            team = self.teams.get(name)
            if team is None or ("into", name) in seen_teams:
                continue
            seen_teams.add(("into", name))
            if team.max_visits is not None:
                yield from self._reachable((team.max_visits.then,), seen_teams)
            if team.type == "concentrator":
                yield name
            else:
                yield from self._beyond(team, seen_teams)

    def _beyond(self, team: TeamDocument, seen_teams: set[tuple[str, str]]) -> Iterator[str]:
        if team.routing is None:
            return
        for route in team.routing.rules:
            if isinstance(route.next_team, str | None):
                yield from self._reachable(targets(route.next_team), seen_teams)
                continue
            inner = route.concentrator or next(
                self._reachable(route.next_team, set(seen_teams)), None
            )
            meeting = self.teams.get(inner or "")
            if meeting is not None and inner is not None and ("past", inner) not in seen_teams:
                seen_teams.add(("past", inner))
                yield from self._beyond(meeting, seen_teams)
        yield from self._reachable(targets(team.routing.default), seen_teams)
