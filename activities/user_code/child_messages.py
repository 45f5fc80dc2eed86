"""Messages between a worker and a child process that runs user code: JSON, one line each."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from dsl.values import Frozen, Json


class AgentCall(Frozen):
    """One turn of an agent class."""

    path: str
    """`package.module.Class`."""
    offered: Json
    """Values for the constructor, `{parameter: value}`."""
    config_names: tuple[str, ...]
    """Parameter names that stand for the whole configuration, the oldest last."""
    context: Json


class NotImported(Frozen):
    """The module cannot be imported."""

    kind: Literal["not_imported"]
    reason: str
    missing: str = ""
    """The module that an import inside it did not find, or found a different one of."""


class NoClass(Frozen):
    """The module has no such class, or the class has no `process`."""

    kind: Literal["no_class"]
    names: tuple[str, ...]
    """The classes that the module has."""


class NoSignature(Frozen):
    """The constructor does not declare its parameters."""

    kind: Literal["no_signature"]


class ConstructorNeeds(Frozen):
    """The constructor needs a parameter that is not offered."""

    kind: Literal["needs"]
    parameter: str


class Raised(Frozen):
    """The class, its constructor or `process` raised."""

    kind: Literal["raised"]
    reason: str


class NotAnAnswer(Frozen):
    """`process` returned something without a boolean `success`."""

    kind: Literal["not_an_answer"]
    type: str


class NotJsonAnswer(Frozen):
    """`process` returned something that is not JSON."""

    kind: Literal["not_json"]
    reason: str


class Answered(Frozen):
    """The result of `process`."""

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
    """A child's reply to one call."""

    outcome: Outcome
    processes: int = 0
    """Processes that the code started and left behind."""


REPLY: TypeAdapter[Reply] = TypeAdapter(Reply)
