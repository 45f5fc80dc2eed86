"""What passes between a worker and a child process that runs a user's code: JSON, one line each."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from dsl.values import Frozen, Json


class AgentCall(Frozen):
    """One turn of an agent class."""

    path: str
    """`package.module.Class`."""
    offered: Json
    """`{parameter: value}` of what its constructor may take."""
    config_names: tuple[str, ...]
    """Those of them that are the whole configuration, the oldest name last."""
    context: Json


class NotImported(Frozen):
    """The module cannot be imported."""

    kind: Literal["not_imported"]
    reason: str
    missing: str = ""
    """The module that an import within it did not find, or found another of."""


class NoClass(Frozen):
    """The module has no such class, or it has no `process`."""

    kind: Literal["no_class"]
    names: tuple[str, ...]
    """The classes that there are."""


class NoSignature(Frozen):
    """The constructor does not say what it takes."""

    kind: Literal["no_signature"]


class ConstructorNeeds(Frozen):
    """The constructor needs what nobody offers."""

    kind: Literal["needs"]
    parameter: str


class Raised(Frozen):
    """The class, its constructor or `process` raised."""

    kind: Literal["raised"]
    reason: str


class NotAnAnswer(Frozen):
    """What `process` returned has no `success` of true or false."""

    kind: Literal["not_an_answer"]
    type: str


class NotJsonAnswer(Frozen):
    """What `process` returned is not JSON."""

    kind: Literal["not_json"]
    reason: str


class Answered(Frozen):
    """What `process` returned."""

    kind: Literal["answered"]
    success: bool
    data: JsonValue = None
    error_type: str | None = None
    error: str | None = None


Outcome = Annotated[
    NotImported
    | NoClass
    | NoSignature
    | ConstructorNeeds
    | Raised
    | NotAnAnswer
    | NotJsonAnswer
    | Answered,
    Field(discriminator="kind"),
]


class Reply(Frozen):
    """A child's answer to one call."""

    outcome: Outcome
    processes: int = 0
    """That the code started and left behind."""


REPLY: TypeAdapter[Reply] = TypeAdapter(Reply)
