"""The seam to language models: a provider takes a ModelRequest and gives a Completion.

A provider translates and nothing else. It does not retry (Temporal does), does not loop, does
not read the environment. What goes wrong is a ProviderFailure that says whether and when to
try again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from activities.contracts import StopReason, TokenUsage
from dsl.model.price import Price
from dsl.values import Json

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """One turn of a conversation."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One model call."""

    model: str
    messages: tuple[ModelMessage, ...]
    system: str | None = None
    max_tokens: int = 8192
    temperature: float | None = None
    top_p: float | None = None
    output_schema: Json | None = None
    """JSON Schema that the answer must meet; the provider uses its own feature for it."""
    timeout: float = 600.0
    """Seconds."""
    label: str = ""
    """`team/task#visit.reask`: names the call in a script of answers; never sent to a model."""
    call: str = ""
    """`run id/activity id`: tells one call from every other, also when it is tried again; never
    sent to a model."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What the model answered."""

    text: str
    stop_reason: StopReason
    model: str
    """The model that the server says it used."""
    usage: TokenUsage = field(default_factory=TokenUsage)
    seconds: float | None = None
    """How long it took, where the clock does not tell it: a model that is played."""


class ModelProvider(Protocol):
    """An adapter to one LLM API."""

    async def complete(self, request: ModelRequest) -> Completion:
        """One call, one answer.

        Raises:
            ProviderFailure: with whether and when to try again.
        """
        ...

    async def close(self) -> None:
        """Give back the connections."""
        ...


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """How a provider is reached; from the worker's own configuration alone."""

    name: str
    kind: str
    """Which adapter: `anthropic`, `openai` or `scripted`."""
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    """The value itself, resolved from its name on the worker; never leaves this process."""
    api_key_env: str | None = None
    """The name that the key was looked up under, for messages."""
    answers: str | None = None
    """Path of the scripted provider's answers."""
    log: str | None = None
    """Path of a file to which the scripted provider adds a line per call; for tests of crashes."""
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """`{model: price}`: the worker's own word on what its models cost."""
