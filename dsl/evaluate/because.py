"""Put causes into words: the only module of `dsl` that does."""

from typing import assert_never

from coterie.dsl.errors import listed
from coterie.dsl.evaluate.condition_text import expression_words
from coterie.dsl.model.budgets import amount, budget_name, number, share
from coterie.dsl.model.causes import (
    BudgetReached,
    Called,
    ConditionFound,
    DefaultTaken,
    ExpressionFound,
    FieldFound,
    GroupFound,
    HandedOff,
    Joined,
    NegatedFound,
    NoRouting,
    NotDecided,
    RouteCause,
    RuleMatched,
    RunCancelled,
    SentOn,
    Started,
    StatusFound,
    TeamFound,
    UpdateLeftOut,
    VisitsReached,
)
from coterie.dsl.templates.jsonable import brief

_MAX_REASON_LENGTH = 300
"""Characters of a reason that a model gives."""


def condition_because(found: ConditionFound) -> str:
    """Return a condition with its finding: `review.status is "FAIL" (equals "FAIL")`."""
    return _condition(found)


def route_because(cause: RouteCause) -> str:
    """Return why a run enters a team, in one line."""
    return _route(cause)


def failure_because(team: str, task: str, error: str | None, message: str) -> str:
    """Return the failure of a team because of one of its tasks."""
    return _failure(team, task, error, message)


def act_because(what: str, by: str, why: str) -> str:
    """Return what a person did, with the person's reason."""
    return f"{what} by {by}: {why}" if why else f"{what} by {by}"


def _condition(finding: ConditionFound) -> str:
    match finding:
        case FieldFound():
            return _field(finding)
        case StatusFound(task=task, wanted=required_status, found=status):
            other = "" if status == required_status else f", not {required_status}"
            return f"{task} is {status or 'absent'}{other}"
        case GroupFound(code="all_of", parts=parts):
            return " and ".join(map(_condition, parts)) or "no conditions"
        case GroupFound(parts=parts):
            return " or ".join(map(_condition, parts)) or "no conditions"
        case NegatedFound(part=part):
            return f"not ({_condition(part)})"
        case TeamFound(outcome=outcome, tasks=tasks):
            counts = ", ".join(f"{name} {status}" for name, status in tasks)
            return f"{outcome} ({counts or 'no tasks'})"
        case ExpressionFound():
            return _expression(finding)
        case _:
            assert_never(finding)


def _field(finding: FieldFound) -> str:
    value = "missing" if finding.missing else brief(finding.found)
    operand = "" if finding.wanted is None else f" {brief(finding.wanted)}"
    return f"{finding.name} is {value} ({finding.operator}{operand})"


def _expression(finding: ExpressionFound) -> str:
    text = expression_words(finding.expression)
    values = (
        f"{value.name} is {'missing' if value.missing else brief(value.found)}"
        for value in finding.values
    )
    listed_values = ", ".join(values)
    return f"{listed_values} ({text})" if listed_values else text


def _route(cause: RouteCause) -> str:
    match cause:
        case RuleMatched(number=number, condition=condition, left_out=left_out):
            reason = "always" if condition is None else _condition(condition)
            return f"rule {number}: {reason}{_left_out(left_out)}"
        case DefaultTaken(left_out=left_out):
            return f"{_why_default(cause)}{_left_out(left_out)}"
        case NoRouting(code=code, left_out=left_out):
            what = "no routing" if code == "no_routing" else "no rules"
            return f"no team follows ({what}){_left_out(left_out)}"
        case Started():
            return "the run began"
        case Called() | Joined() | HandedOff() | VisitsReached():
            return _within(cause)
        case RunCancelled() | SentOn() | NotDecided():
            return _outside(cause)
        case BudgetReached():
            return _budget(cause)
        case _:
            assert_never(cause)


def _within(cause: Called | Joined | HandedOff | VisitsReached) -> str:
    if isinstance(cause, Called):
        return f"called by {cause.step}"
    if isinstance(cause, HandedOff):
        reason = f": {brief(cause.message, _MAX_REASON_LENGTH)}" if cause.message else ""
        return f"handed over by {cause.step}{reason}"
    if isinstance(cause, VisitsReached):
        ran = f"{cause.team} has run {cause.limit} of {cause.limit} times"
        return f"{ran} since the latest visit of {cause.per}"
    return f"branches: {', '.join(f'{branch} {end}' for branch, end in cause.branches)}"


def _outside(cause: RunCancelled | SentOn | NotDecided) -> str:
    match cause:
        case RunCancelled(reason=reason):
            return f"cancelled {reason}" if reason else "cancelled"
        case SentOn(team=team, by=by, why=why):
            return act_because(f"redirected to {team}", by, why)
        case NotDecided(request=request):
            return f"{request}: nobody decided in time"


def _why_default(cause: DefaultTaken) -> str:
    if cause.task is None:
        return "no rule matched, so the default applies"
    return "default: " + _failure(cause.team, cause.task, cause.error, cause.message)


def _failure(team: str, task: str, error: str | None, message: str) -> str:
    reason = " without an error" if error is None else f": {error}: {message}"
    return f"task {task!r} of team {team!r} failed{reason}"


def _left_out(updates: tuple[UpdateLeftOut, ...]) -> str:
    return "".join(
        f"; {update.path!r} is not updated, {listed(update.tasks)} did not succeed"
        for update in updates
    )


def _budget(cause: BudgetReached) -> str:
    name = budget_name(cause.owner, cause.kind)
    match cause.code:
        case "budget_warned":
            part = f"{cause.used / cause.limit:.0%}"
            return f"{part} of {name} is used, {_share(cause)}"
        case "budget_reserved":
            return (
                f"of {name}, {_share(cause)} are used, calls in "
                f"progress may use {number(cause.kind, cause.reserved)}, and this one "
                f"{number(cause.kind, cause.needed)}; it waits until one of them ends"
            )
        case "budget_not_held":
            return _used_up(cause, name)
        case "budget_used_up":
            return _used_up(cause, name)
        case "budget_extended":
            return f"{name} is extended by {amount(cause.kind, cause.extended)}, by {cause.by}"
        case "budget_ended":
            return f"{_used_up(cause, name)}; {cause.by} ends the run with what there is"
        case "budget_refused":
            return f"{_used_up(cause, name)}; {cause.by} allows no more"
        case "budget_not_decided":
            return f"{_used_up(cause, name)}; nobody decided in time"
        case _:
            assert_never(cause.code)


def _share(cause: BudgetReached) -> str:
    return share(cause.kind, cause.used, cause.limit, estimated=cause.estimated)


def _used_up(cause: BudgetReached, name: str) -> str:
    if cause.model:
        return f"{name} cannot be measured: {cause.model} has no price on its worker"
    if cause.needed:
        balance = number(cause.kind, cause.limit - cause.used)
        return (
            f"{name} has {balance} of {amount(cause.kind, cause.limit)} left, and the next call "
            f"would send {number(cause.kind, cause.needed)}"
        )
    return f"{name} is used up, {_share(cause)}"
