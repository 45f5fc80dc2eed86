"""Routing: which team is next, with which changes to the context, and why. Pure."""

from dataclasses import dataclass
from typing import Literal

from coterie.dsl.errors import EvaluationLimitExceeded, NoRoute, TeamFailed, TemplateFailed
from coterie.dsl.evaluate.because import condition_because, failure_because, route_because
from coterie.dsl.evaluate.condition_evaluation import holds, inspect
from coterie.dsl.evaluate.context_writes import ContextWrite, filled_write
from coterie.dsl.evaluate.missing_data import missing_outcomes
from coterie.dsl.model.causes import DefaultTaken, NoRouting, RouteCause, RuleMatched, UpdateLeftOut
from coterie.dsl.model.evaluation_budget import EvaluationMeter
from coterie.dsl.model.facts import Facts, Outcomes
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Routing, Rule, Team
from coterie.dsl.values import Json

Reason = Literal["rule", "no_rule_matched", "team_failed", "no_routing", "redirected"]


@dataclass(frozen=True, slots=True)
class Route:
    """The way from one team to the next, or to the end."""

    next_team: str | tuple[str, ...] | None
    cause: RouteCause
    reason: Reason
    """`routing.reason` for the next team."""
    writes: tuple[ContextWrite, ...] = ()
    """Its changes of the context, rendered."""
    rule: Rule | None = None
    """The rule that matched."""

    @property
    def because(self) -> str:
        """The cause in words."""
        return route_because(self.cause)


def choose(team: Team, facts: Facts) -> Route:
    """Choose the first rule that holds, else the default; also after a failed team.

    `facts.tasks` are all outcomes of the visit. `all_success` and its like count the team's own
    tasks, not the steps inside them: a failure that a `try` caught, or that a `join: any` did not
    need, is not a failure of the team. A condition that lacks the data of a task does not hold, and
    a context update that lacks it is left out.

    Raises:
        TeamFailed: the team failed, and no rule and no default applies, or they cannot be evaluated
            for another reason.
        NoRoute: the team succeeded, has rules, none holds, and there is no default.
        TemplateFailed: an update or an expression names something that does not exist.
    """
    failure = failed_task(team, facts.tasks)
    facts = counted(team, facts)
    meter = facts.meter()
    routing = team.routing
    if routing is None:
        if failure is not None:
            raise TeamFailed(_failure_text(team, failure), root=failure[1].root_error)
        return Route(None, NoRouting("no_routing"), "no_routing")
    try:
        return _route_by_rules(team, routing, failure, facts, meter)
    except TemplateFailed as error:
        if failure is None:
            raise
        raise TeamFailed(
            f"{_failure_text(team, failure)}; its routing could not be evaluated: {error}",
            root=failure[1].root_error,
        ) from None


def _route_by_rules(
    team: Team,
    routing: Routing,
    failure: tuple[str, Outcome] | None,
    facts: Facts,
    meter: EvaluationMeter,
) -> Route:
    for number, rule in enumerate(routing.rules, 1):
        if rule.condition is None or holds(rule.condition, facts, meter, missing_is_false=True):
            return _route(routing, rule, number, facts, meter)
    return _by_default(team, routing, failure, facts, meter)


def counted(team: Team, facts: Facts) -> Facts:
    """Return facts in which `all_success` and its like count the team's own tasks."""
    tasks = facts.tasks
    own = {step.name: tasks[step.name] for step in team.steps if step.name in tasks}
    return facts if [*own] == [*tasks] else facts.counting(own)


def _route(
    routing: Routing, rule: Rule, number: int, facts: Facts, meter: EvaluationMeter
) -> Route:
    condition = None if rule.condition is None else inspect(rule.condition, facts)
    updates = {**routing.context_updates, **rule.context_updates}
    filled, left_out = _fill_updates(updates, facts, meter)
    cause = RuleMatched("rule", number, condition, left_out)
    return Route(rule.next_team, cause, "rule", filled, rule)


def _by_default(
    team: Team,
    routing: Routing,
    failure: tuple[str, Outcome] | None,
    facts: Facts,
    meter: EvaluationMeter,
) -> Route:
    if routing.default is None and not (routing.ends_by_default and failure is None):
        if failure is not None:
            raise TeamFailed(_failure_text(team, failure), root=failure[1].root_error)
        if routing.rules:
            raise NoRoute(
                f"no route matched: none of the {len(routing.rules)} rules of team {team.id!r} "
                f"holds and it has no default. {_rules_text(routing, facts)}"
            )
        writes, left_out = _fill_updates(routing.context_updates, facts, meter)
        return Route(None, NoRouting("no_rules", left_out), "no_routing", writes)
    reason: Reason = "no_rule_matched" if failure is None else "team_failed"
    writes, left_out = _fill_updates(routing.context_updates, facts, meter)
    return Route(routing.default, _default(team, failure, left_out), reason, writes)


def _default(
    team: Team, failure: tuple[str, Outcome] | None, left_out: tuple[UpdateLeftOut, ...]
) -> DefaultTaken:
    if failure is None:
        return DefaultTaken("default", team.id, left_out=left_out)
    task, outcome = failure
    error = outcome.error
    if error is None:
        return DefaultTaken("default", team.id, task, left_out=left_out)
    return DefaultTaken("default", team.id, task, error.type, error.message, left_out)


def _rules_text(routing: Routing, facts: Facts) -> str:
    rule_texts = (
        f"rule {number}: {condition_because(inspect(rule.condition, facts))}"
        for number, rule in enumerate(routing.rules, 1)
        if rule.condition is not None
    )
    return "; ".join(rule_texts)


def _fill_updates(
    updates: Json, facts: Facts, meter: EvaluationMeter
) -> tuple[tuple[ContextWrite, ...], tuple[UpdateLeftOut, ...]]:
    """Render the updates; return also those left out because a task's data is missing."""
    if not updates:
        return (), ()
    names = facts.names(meter)
    filled: list[ContextWrite] = []
    left_out: list[UpdateLeftOut] = []
    for path, value in updates.items():
        try:
            filled.append(filled_write(path, value, names))
        except EvaluationLimitExceeded:
            raise
        except TemplateFailed:
            missing = missing_outcomes([path, value], facts)
            if not missing:
                raise
            left_out.append(UpdateLeftOut(path, missing))
    return tuple(filled), tuple(left_out)


def failed_task(team: Team, tasks: Outcomes) -> tuple[str, Outcome] | None:
    """Return the first failed task and its outcome, or None when the team succeeded.

    A task with `on_failure: continue` does not fail its team.
    """
    for step in team.steps:
        outcome = tasks.get(step.name)
        if outcome is not None and outcome.status == "failure" and step.on_failure != "continue":
            return step.name, outcome
    return None


def _failure_text(team: Team, failure: tuple[str, Outcome]) -> str:
    name, outcome = failure
    error = outcome.error
    if error is None:
        return failure_because(team.id, name, None, "")
    return failure_because(team.id, name, error.type, error.message)
