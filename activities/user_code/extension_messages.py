"""Messages between a worker and a child process that runs agent types and providers of packages."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from coterie.activities.user_code.child_messages import NotImported, NotJsonAnswer, Raised, Reply
from coterie.dsl.values import Frozen, Json


class ExtensionTurn(Frozen):
    """One turn of an agent type."""

    agent: str
    """`package.module:name`."""
    turn: Json
    """The fields of an AgentTurn."""


class ExtensionRequest(Frozen):
    """One call of a provider."""

    provider: str
    """`package.module:name`."""
    settings: Json = Field(repr=False)
    request: Json
    streams: bool = False
    """Whether somebody reads the answer as it arrives."""


class NoSuchObject(Frozen):
    """The module has no such function or class."""

    kind: Literal["no_object"]
    names: tuple[str, ...]
    """What the module has."""


class TurnFailed(Frozen):
    """The function raised an AgentFailure."""

    kind: Literal["failed"]
    reason: str


class TurnEnded(Frozen):
    """The result of a turn."""

    kind: Literal["ended"]
    data: JsonValue


class Completed(Frozen):
    """The answer of a provider."""

    kind: Literal["completed"]
    completion: Json


class ProviderRaised(Frozen):
    """The provider raised a ProviderError."""

    kind: Literal["provider_error"]
    reason: str
    retry: bool
    retry_after: float | None = None


ExtensionOutcome = Annotated[
    NotImported
    | NoSuchObject
    | TurnFailed
    | TurnEnded
    | Completed
    | ProviderRaised
    | Raised
    | NotJsonAnswer,
    Field(discriminator="kind"),
]
EXTENSION_REPLY: TypeAdapter[Reply[ExtensionOutcome]] = TypeAdapter(Reply[ExtensionOutcome])


class ModelQuestion(Frozen):
    """A turn asks its model."""

    ask: Literal["model"]
    prompt: str
    system: str | None = None
    output_schema: Json | None = None


class FunctionQuestion(Frozen):
    """A turn calls a tool function."""

    ask: Literal["skill"]
    skill: str
    input: JsonValue = None


class TextNote(Frozen):
    """A provider has a piece of the answer."""

    ask: Literal["text"]
    text: str


ExtensionNote = Annotated[ModelQuestion | FunctionQuestion | TextNote, Field(discriminator="ask")]
EXTENSION_NOTE: TypeAdapter[ExtensionNote] = TypeAdapter(ExtensionNote)
