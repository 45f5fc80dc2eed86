"""One operation: its name, its input and output, who may perform it, and what answers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import Field

from coterie.dsl.sizes import MAX_ID_SIZE, MAX_NAME_LENGTH, MAX_WHY_LENGTH
from coterie.dsl.values import Documented, Frozen, Json
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.run_access import RunAccess

Method = Literal["GET", "POST"]
Subject = Literal["run", "team", "teams", "project"]
"""Whose team decides about the permission: that of the input's `run`; the input's `team`; every
team, each for itself, by the handler; or none."""

Input = TypeVar("Input", bound=Frozen)
Output = TypeVar("Output", bound=Frozen)

RunId = Annotated[str, Field(min_length=1, max_length=MAX_ID_SIZE)]
Why = Annotated[str, Field(max_length=MAX_WHY_LENGTH)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH)]
Age = Annotated[str, Field(max_length=20, pattern=r"^[0-9]+(\.[0-9]+)?(ms|s|m|h|d)$")]
"""A duration such as `2h`."""
Digest = Annotated[str, Field(min_length=1, max_length=200)]
"""Of what a request shows."""
MessageId = Annotated[str, Field(min_length=1, max_length=100)]
"""Of a message; sent again with it, the message counts once, and has the same answer."""
ContextUpdates = Annotated[Json, Field(max_length=200)]
"""`{dotted path: value}`."""

MAX_SECONDS = 60.0
"""How long an operation may take."""


class RunAsked(Documented):
    """The input of an operation about one run."""

    run: RunId
    """The run's id."""


class TeamAsked(Documented):
    """The input of an operation about one team."""

    team: Name
    """The team's name."""


class SteeringAsked(RunAsked):
    """The input of an operation that steers a run."""

    why: Why = ""
    """The reason, kept in the trail of the run."""


class Done(Documented):
    """What was asked is recorded in the run."""

    run: str
    by: str
    """The name in the trail."""


@dataclass(frozen=True, slots=True)
class Operation(Generic[Input, Output]):
    """A row of the table of operations."""

    name: str
    sentence: str
    """What it does, starting with a verb."""
    method: Method
    path: str
    """Below `/v1`; names fields of the input in braces."""
    roles: tuple[Role, ...]
    """One of them is enough."""
    about: Subject
    input: type[Input]
    output: type[Output]
    handler: Callable[[RunAccess, Input, Identity], Awaitable[Output]]
    is_noted: bool = False
    """Whether the audit log says who performed it, although it changes nothing."""

    @property
    def changes_something(self) -> bool:
        """Whether it does more than read."""
        return self.method != "GET"


AnyOperation = Operation[Any, Any]
