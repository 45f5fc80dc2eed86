"""Define what all agents share: a merged persona, a unique name, and their services.

Subclass `BaseAgent` for your own agent type: implement `process`, and keep no state between two
calls.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import ClassVar, NamedTuple, Protocol, Self

from pydantic import JsonValue, ValidationError

from coterie.activities.agents.prompts import system_message, user_message
from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.contracts import (
    AgentResponse,
    CompactionTurn,
    FunctionRequest,
    FunctionResult,
    Reask,
)
from coterie.activities.process_pool.thread_runner import ThreadRunner
from coterie.activities.process_pool.work import WorkRunner
from coterie.activities.providers.message_model import ModelMessage
from coterie.activities.providers.provider import ModelProvider
from coterie.activities.storage.media import MediaUnusable, StoredMedia
from coterie.activities.storage.open_conversation import OpenConversation
from coterie.activities.user_code.child_pool import UserCode
from coterie.dsl.model.merge import deep_merge
from coterie.dsl.model.model_defaults import read_defaults
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.steps import Step
from coterie.dsl.tool_loop.exchange import ToolTurn
from coterie.dsl.values import Json


@dataclass(frozen=True, slots=True)
class PlanCall:
    """An execution plan that an agent wants interpreted."""

    name: str
    """The agent's unique name."""
    steps: tuple[Step, ...]
    inputs: Json
    """Values that the plan may reference, nested: `{"context": {...}, "input": ...}`."""
    key: str
    """Identifies this agent's turn permanently; the keys of the plan's calls start with it."""


FunctionCaller = Callable[[FunctionRequest], Awaitable[FunctionResult]]
PlanRunner = Callable[[PlanCall], Awaitable[AgentResponse]]


class ProviderAccess(Protocol):
    """Gives an agent the model provider that its persona names."""

    def get(self, name: str) -> ModelProvider:
        """Return the provider of that name.

        Raises:
            ProviderFailure: It does not exist, or its key is missing.
        """
        ...


class WindowAccess(Protocol):
    """Knows the context windows of models."""

    async def of(self, provider: str, model: str) -> int | None:
        """Return the tokens that a model takes with its answer; None if unknown."""
        ...

    async def room_of_results(
        self, provider: str, model: str, results: int, characters: int
    ) -> int | None:
        """Return how many characters each result of a turn may have; None if they surely fit."""
        ...


_RUNNER = ThreadRunner()


class AgentServices(NamedTuple):
    """Services for one turn. The agent must work without those that are None.

    A tuple, since each turn makes one, and a frozen dataclass takes five times as long.
    """

    providers: ProviderAccess | None = None
    call_function: FunctionCaller | None = None
    run_plan: PlanRunner | None = None
    label: str = ""
    """`team/task#visit.reask`: selects the turn's answer in a script."""
    key: str = ""
    """Identifies this turn permanently, also across retries; call keys start with it."""
    conversation: OpenConversation | None = None
    """Set when the turn belongs to a conversation."""
    tool_turn: ToolTurn | None = None
    """Set when the agent uses tools, which the run calls between its turns."""
    reask: Reask | None = None
    """Set when the turn repeats a question after an unusable answer."""
    media: StoredMedia | None = None
    """The images and documents that the turn's input and results refer to."""
    notices: tuple[str, ...] = ()
    """Notes for the model at the end of its prompt, after the persona's own text."""
    said: tuple[str, ...] = ()
    """What people said while the agent worked."""
    user_code: UserCode | None = None
    """Runs classes of the user's own packages."""
    timeout: float | None = None
    """Time limit of this attempt, in seconds."""
    on_text: Callable[[str], None] | None = None
    """Takes each piece of the model's answer; None: do not stream it."""
    windows: WindowAccess | None = None
    """The context windows of the models."""
    compaction: CompactionTurn | None = None
    """Set when the turn compacts its conversation."""
    runner: WorkRunner = _RUNNER
    """Runs work that takes long."""


_NO_SERVICES = AgentServices()


class BaseAgent(ABC):
    """An agent: the factory builds it from a persona for one turn."""

    converses: ClassVar[bool] = False
    """Whether it supports conversations (`services.conversation`) when a task names one."""

    def __init__(self, persona_config: Json, unique_name: str, full_config: Json) -> None:
        self.persona_config: Json = deep_merge(persona_config, {})
        """The merged persona; a copy."""
        self.unique_name = unique_name
        self.full_config = full_config
        """The whole system configuration; shared by all agents, so read-only."""
        self.services = _NO_SERVICES

    @classmethod
    def of(cls, persona: Persona, unique_name: str, services: AgentServices) -> Self:
        """Return the agent of a persona that came with a request, and is valid."""
        agent = cls({}, unique_name, {})
        agent.persona = persona
        agent.attach(services)
        return agent

    def attach(self, services: AgentServices) -> None:
        """Give the agent its services; the factory calls this right after construction."""
        self.services = services

    @abstractmethod
    async def process(self, context: Json) -> AgentResponse:
        """Run one turn.

        Args:
            context: Values for the prompts, nested:
                `{"context": {...}, "tasks": {...}, "input": ...}`.

        Returns:
            The response; an expected failure is a response with `success` false.

        Raises:
            AgentRefused: The agent's configuration does not work.
            ProviderFailure: The model is unreachable or refuses the request.
        """

    async def call_function(self, name: str, input: JsonValue = None) -> JsonValue:
        """Call a tool function, `Name.method`, for this agent.

        The call's key consists of the agent's own key, the tool function and a digest of the input,
        so a retried agent calls with the same key. Two calls with the same input in one turn
        therefore count as one.

        Returns:
            What the tool function returned.

        Raises:
            AgentRefused: This agent has no tool functions.
        """
        if self.services.call_function is None:
            raise AgentRefused(f"agent {self.unique_name!r} has no tool functions to call")
        text = json.dumps(input, sort_keys=True, ensure_ascii=True)
        digest = sha256(text.encode()).hexdigest()[:12]
        key = f"{self.services.key or self.unique_name}/{name}:{digest}"
        result = await self.services.call_function(
            FunctionRequest(skill=name, input=input, key=key)
        )
        return result.data

    def _get_agent_name(self) -> str:
        """Return the unique name, used in logs, routing and messages."""
        return self.unique_name

    def _get_agent_config(self) -> Json:
        """Return the merged persona; the agent's name selects nothing here."""
        return self.persona_config

    def _get_system_message(self, inputs: Json) -> str | None:
        """Return the persona's system prompt, rendered with the inputs; None when it has none."""
        return system_message(self.persona, inputs)

    def _get_prompt(self, inputs: Json) -> str:
        """Return the prompt, rendered with the inputs; without a prompt, the input itself."""
        message = user_message(self.persona, inputs, self.unique_name)
        return "\n\n".join((message, *self.services.notices))

    async def _messages_with_images(
        self, messages: Sequence[ModelMessage]
    ) -> tuple[ModelMessage, ...]:
        """Return the messages for a provider, with the images that they refer to.

        Raises:
            AgentRefused: A reference names what no model can see.
        """
        if self.services.media is None:
            return tuple(messages)
        try:
            return await self.services.media.shown(messages)
        except MediaUnusable as error:
            raise AgentRefused(f"agent {self.unique_name!r}: {error}") from None

    def _resolve_model(self) -> str:
        """Return the persona's model, else the default of its provider or of the configuration."""
        return self.persona.model

    @cached_property
    def persona(self) -> Persona:
        """Return the merged persona with its fields validated, without the execution plan.

        Raises:
            AgentRefused: A field is missing or invalid.
        """
        config = self._get_agent_config()
        settings: Json = {key: value for key, value in config.items() if value is not None}
        settings.pop("execution_plan", None)
        settings |= self._model(settings)
        problems = [
            f"{key}: Field required" for key in ("provider", "model") if key not in settings
        ]
        try:
            persona = Persona.model_validate(settings)
        except ValidationError as error:
            problems += [
                f"{'.'.join(map(str, problem['loc'])) or 'persona'}: {problem['msg']}"
                for problem in error.errors()
            ]
            persona = None
        if persona is None or problems:
            details = "; ".join(problems)
            raise AgentRefused(f"the persona of agent {self.unique_name!r} is invalid: {details}")
        return persona

    def _model(self, settings: Json) -> Json:
        """Return the provider and the model to call, as far as they are set."""
        provider, model = settings.get("provider"), settings.get("model")
        if not (isinstance(provider, str | None) and isinstance(model, str | None)):
            return {}  # the persona's own check says what is wrong
        chosen = read_defaults(self.full_config).choose(provider, model)
        choice: Json = {"provider": chosen.provider, "model": chosen.model}
        return {key: value for key, value in choice.items() if value is not None}
