"""Causes: why a condition held and why a run came to a team, as facts and not as words.

Programs read these; `dsl.evaluate.because` renders them for people. Every cause has a stable
`code`. A field `message` is the wording of somebody else's failure: no decision depends on it, and
no digest covers it.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Literal, assert_never

from pydantic import Field, JsonValue

from coterie.dsl.model.budgets import BudgetKind
from coterie.dsl.model.conditions import Operator, Status, TeamEnd


@dataclass(frozen=True, slots=True)
class FieldFound:
    """A field that was compared with a value."""

    code: Literal["field"]
    name: str
    """`review.status`, `context.attempts`."""
    operator: Operator
    wanted: JsonValue = None
    """The start of it."""
    found: JsonValue = None
    """The start of it; null if the field is missing."""
    missing: bool = False


@dataclass(frozen=True, slots=True)
class StatusFound:
    """The status of a task."""

    code: Literal["status"]
    task: str
    wanted: Status
    found: Status | None = None
    """None: the task has no outcome yet."""


@dataclass(frozen=True, slots=True)
class GroupFound:
    """Several conditions."""

    code: Literal["all_of", "any_of"]
    parts: tuple["ConditionFound", ...] = ()


@dataclass(frozen=True, slots=True)
class NegatedFound:
    """A condition that must not hold."""

    code: Literal["not"]
    part: "ConditionFound"


@dataclass(frozen=True, slots=True)
class TeamFound:
    """How the tasks of a team ended together."""

    code: Literal["team"]
    outcome: TeamEnd
    tasks: tuple[tuple[str, Status], ...] = ()


@dataclass(frozen=True, slots=True)
class ValueFound:
    """A value that an expression names."""

    name: str
    """`context.amount`."""
    found: JsonValue = None
    """The start of it; null if it is missing."""
    missing: bool = False


@dataclass(frozen=True, slots=True)
class ExpressionFound:
    """An expression, as it is written, with the values that it names."""

    code: Literal["expression"]
    expression: str
    values: tuple[ValueFound, ...] = ()
    """The first few, in the order of the expression."""


ConditionFound = Annotated[
    FieldFound | StatusFound | GroupFound | NegatedFound | TeamFound | ExpressionFound,
    Field(discriminator="code"),
]
"""A condition with the values that it found."""


def without_values(found: ConditionFound) -> ConditionFound:
    """Return what was found without the values of expressions, which may be ids and times."""
    match found:
        case ExpressionFound():
            return replace(found, values=())
        case GroupFound(parts=parts):
            return replace(found, parts=tuple(map(without_values, parts)))
        case NegatedFound(part=part):
            return replace(found, part=without_values(part))
        case FieldFound() | StatusFound() | TeamFound():
            return found
        case _:
            assert_never(found)


@dataclass(frozen=True, slots=True)
class UpdateLeftOut:
    """A context update that was left out, because data that it names is missing."""

    path: str
    tasks: tuple[str, ...]
    """The task that did not succeed."""


@dataclass(frozen=True, slots=True)
class RuleMatched:
    """A rule of the team's routing matched."""

    code: Literal["rule"]
    number: int
    """From 1."""
    condition: ConditionFound | None = None
    """None: the rule has no condition."""
    left_out: tuple[UpdateLeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class DefaultTaken:
    """No rule matched, and the team's routing has a default."""

    code: Literal["default"]
    team: str
    task: str | None = None
    """The failed task, if the team failed."""
    error: str | None = None
    """The type of its failure."""
    message: str = ""
    left_out: tuple[UpdateLeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class NoRouting:
    """The run ends after a team without rules, or without any routing."""

    code: Literal["no_routing", "no_rules"]
    left_out: tuple[UpdateLeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class Started:
    """The run began at its entry team."""

    code: Literal["started"]


@dataclass(frozen=True, slots=True)
class Called:
    """A step runs the team."""

    code: Literal["called"]
    step: str
    """`team/path`."""


@dataclass(frozen=True, slots=True)
class Joined:
    """The branches of a fan-out joined."""

    code: Literal["joined"]
    branches: tuple[tuple[str, str], ...]
    """`(team, status of its branch)`."""


@dataclass(frozen=True, slots=True)
class RunCancelled:
    """The run was cancelled."""

    code: Literal["cancelled"]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SentOn:
    """A person redirected the run."""

    code: Literal["redirected"]
    team: str
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class NotDecided:
    """Nobody decided a request in time."""

    code: Literal["timed_out"]
    request: str


@dataclass(frozen=True, slots=True)
class HandedOff:
    """An agent handed its work over to a team."""

    code: Literal["handed_off"]
    team: str
    step: str
    """`team/path` of the agent."""
    message: str = ""
    """The reason that its model gives."""


@dataclass(frozen=True, slots=True)
class VisitsReached:
    """A team has reached its `max_visits`, and another one runs instead."""

    code: Literal["max_visits"]
    team: str
    """The team that does not run."""
    limit: int
    per: str


@dataclass(frozen=True, slots=True)
class BudgetReached:
    """A budget is nearly used up, used up, reserved by calls in progress, or cannot be checked."""

    code: Literal[
        "budget_warned",
        "budget_reserved",
        "budget_used_up",
        "budget_not_held",
        "budget_extended",
        "budget_ended",
        "budget_refused",
        "budget_not_decided",
    ]
    kind: BudgetKind
    owner: str
    """`run`, `team.review`, `persona.coder`, `task.draft.write`."""
    used: float = 0.0
    limit: float = 0.0
    model: str = ""
    """A model without a price, so a budget of money cannot be checked."""
    extended: float = 0.0
    by: str = ""
    """Who decided about it."""
    reserved: float = 0.0
    """What the calls in progress may use, with `budget_reserved`."""
    needed: float = 0.0
    """What the call that waits may use."""
    estimated: bool = False
    """Whether `used` has calls of providers that report no usage."""


AnyRouteCause = (
    RuleMatched
    | DefaultTaken
    | NoRouting
    | Started
    | Called
    | Joined
    | RunCancelled
    | SentOn
    | NotDecided
    | HandedOff
    | VisitsReached
    | BudgetReached
)
"""The types of `RouteCause`."""

RouteCause = Annotated[AnyRouteCause, Field(discriminator="code")]
"""Why a run enters a team, or ends."""
