"""The interface to language models: a provider takes a ModelRequest and returns a Completion.

A provider only translates. It does not retry (Temporal does), loop, or read the environment. Errors
are ProviderFailures that say whether and when to retry.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from coterie.activities.contracts import StopReason, TokenUsage
from coterie.activities.providers.message_model import (
    Content,
    ModelMessage,
    TextPart,
    ToolCallPart,
    calls_of,
    text_of,
)
from coterie.dsl.model.model_options import Cloud, Effort, PromptCache, Reasoning, Thinking
from coterie.dsl.model.price import Price
from coterie.dsl.model.tools.tool_use import ToolChoice
from coterie.dsl.model.vendors.vendors import OpenAIApi, VendorApi, vendor_api
from coterie.dsl.tool_loop.exchange import OfferedTool
from coterie.dsl.values import Json, JsonValue


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
    """JSON Schema that the answer must match, passed to the provider's own feature for it."""
    tools: tuple[OfferedTool, ...] = ()
    """The tools that the model may call. The same in every request of a conversation, and in the
    same order: providers cache the prefix, and bind thinking to it."""
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool | None = None
    """Whether the model may call several tools in one turn; None: the provider's default."""
    effort: Effort | None = None
    """How much the model should work on the answer; None: the model's default."""
    thinking: Thinking | None = None
    """Whether the model thinks first; None: the model's default."""
    reasoning: Reasoning = "auto"
    """What people see of the model's thinking."""
    prompt_cache: PromptCache = "auto"
    timeout: float = 600.0
    """Timeout in seconds."""
    label: str = ""
    """`team/task#visit.reask`: selects the answer in a script; never sent to a model."""
    on_text: Callable[[str], None] | None = field(default=None, compare=False, repr=False)
    """Takes each piece of the answer as it arrives; None: nobody watches."""
    turn: int = 1
    """Its number in its conversation: selects the answer in a script; never sent to a model."""
    purpose: Literal["turn", "compaction"] = "turn"
    """What the answer is for: a summary that compacts a conversation has entries of its own in a
    script; never sent to a model."""
    input_tokens: int | None = None
    """An estimate of its input by what the vendor counted before; None: estimated by its size."""
    call: str = ""
    """`run id/activity id`: identifies the call uniquely, also across retries; never sent to a
    model."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer."""

    content: Content
    """All that the model sent, in order, so that it can return in the next request."""
    stop_reason: StopReason
    model: str
    """The model that the server says it used."""
    usage: TokenUsage = field(default_factory=TokenUsage)
    seconds: float | None = None
    """Duration of a simulated call; None when the clock measures it."""

    @classmethod
    def of(
        cls,
        text: str,
        stop_reason: StopReason,
        model: str,
        usage: TokenUsage | None = None,
    ) -> "Completion":
        """Build an answer of one text."""
        return cls((TextPart(text),), stop_reason, model, usage or TokenUsage())

    @property
    def text(self) -> str:
        """The text of the answer, without calls and thinking."""
        return text_of(self.content)

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        """The calls that the model wants, in order."""
        return calls_of(self.content)


class ModelProvider(Protocol):
    """An adapter to one LLM API, also one of a package."""

    async def complete(self, request: ModelRequest) -> Completion:
        """Call the model once.

        Raises:
            ProviderError: Raised by a provider of a package when there is no answer; says whether
                and when to retry.
            ProviderFailure: The same, raised by Coterie's own providers.
        """
        ...


class ConnectedProvider(ModelProvider, Protocol):
    """A provider in the worker's own process, which closes what it has opened."""

    async def close(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """How to reach a provider, from the worker's own configuration only."""

    name: str
    kind: str
    """The adapter: `anthropic`, `openai`, `scripted`, or one of a package."""
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    """The key itself, resolved on the worker; a provider of a package gets it in its processes,
    and nobody else does."""
    api_key_env: str | None = None
    """The environment variable of the key, for messages."""
    api: OpenAIApi | None = None
    """`openai` only: the API to call. None: Responses of OpenAI's own servers, else Chat
    Completions."""
    cloud: Cloud | None = None
    """`anthropic` only: the cloud that serves Claude; None: Anthropic itself."""
    region: str | None = None
    """Of the cloud."""
    project: str | None = None
    """Of the cloud, or at OpenAI."""
    organization: str | None = None
    """At OpenAI."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Headers of each call: with `organization` and `project` all that a client sends besides its
    own; it ignores what the environment names."""
    missing_env: str | None = None
    """The environment variable of a header that is not set on the worker."""
    answers: str | None = None
    """Path of the scripted provider's answers."""
    mock: Literal["schema"] | None = None
    """How the scripted provider answers a call without an entry; None: it refuses the call."""
    log: str | None = None
    """File to which the scripted provider appends a line per call, for crash tests."""
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """Prices configured on the worker, `{model: price}`."""
    context_window: int | None = None
    """Tokens that its models take with their answers; None: the public figure of each model."""
    reasoning: bool | None = None
    """`openai` only: whether its models reason. None: by their names."""
    options: Json = field(default_factory=dict[str, JsonValue])
    """What an adapter of a package needs besides."""

    @property
    def vendor_api(self) -> VendorApi | None:
        """The API whose rules hold; None for scripted answers and kinds of packages."""
        return vendor_api(self.kind, self.api, self.api_base, self.cloud)
