"""What every agent is: a merged persona, a unique name, and the hands that it was given.

Subclass `BaseAgent` for an agent type of your own; implement `process` and hold nothing
between two calls of it.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import ClassVar, Protocol

from pydantic import JsonValue, ValidationError

from activities.agents.prompts import system_message, user_message
from activities.agents.refusals import AgentRefused
from activities.contracts import AgentResponse, Reask, SkillRequest, SkillResult
from activities.providers.provider import ModelProvider
from activities.storage.conversations import OpenConversation
from activities.user_code.child_pool import UserCode
from dsl.model.merge import deep_merge
from dsl.model.plan import Persona
from dsl.model.steps import Step
from dsl.values import Json


@dataclass(frozen=True, slots=True)
class PlanCall:
    """An execution plan that an agent asks to have interpreted."""

    name: str
    """The agent's unique name."""
    steps: tuple[Step, ...]
    inputs: Json
    """What the plan may name, nested: `{"context": {...}, "input": ...}`."""
    key: str
    """Names this agent's turn for ever; the keys of the plan's calls begin with it."""


SkillCaller = Callable[[SkillRequest], Awaitable[SkillResult]]
PlanRunner = Callable[[PlanCall], Awaitable[AgentResponse]]


class ProviderAccess(Protocol):
    """Where an agent gets the model provider that its persona names."""

    def get(self, name: str) -> ModelProvider:
        """The provider of that name.

        Raises:
            ProviderFailure: there is none, or its key is missing.
        """
        ...


@dataclass(frozen=True, slots=True)
class AgentServices:
    """The live collaborators of one turn. Whatever is None, the agent has to do without."""

    providers: ProviderAccess | None = None
    call_skill: SkillCaller | None = None
    run_plan: PlanRunner | None = None
    label: str = ""
    """`team/task#visit.reask`: names the turn in a script of answers."""
    key: str = ""
    """Names this turn for ever, also when it is tried again; lineage begins here."""
    conversation: OpenConversation | None = None
    """Set when the turn is one of a conversation."""
    reask: Reask | None = None
    """Set when the turn asks again after an unusable answer."""
    notices: tuple[str, ...] = ()
    """What the model is told at the end of its prompt, beside what the persona asks."""
    user_code: UserCode | None = None
    """Runs classes of the user's own packages."""
    timeout: float | None = None
    """Seconds for this attempt."""
    checked: "CheckedPersona | None" = None
    """The persona that the turn was sent with."""


@dataclass(frozen=True, slots=True)
class CheckedPersona:
    """A persona whose fields were checked when it came in; not checked again unless changed."""

    config: Json
    persona: Persona


class BaseAgent(ABC):
    """An agent: built by the factory from a persona, used for one turn (seed c4h 3.1)."""

    converses: ClassVar[bool] = False
    """Whether it goes on with a conversation (`services.conversation`), where a task names one."""

    def __init__(self, persona_config: Json, unique_name: str, full_config: Json) -> None:
        self.persona_config: Json = deep_merge(persona_config, {})
        """The merged persona; a copy."""
        self.unique_name = unique_name
        self.full_config = full_config
        """The whole system configuration; shared with all agents, so read only."""
        self.services = AgentServices()

    def attach(self, services: AgentServices) -> None:
        """Hand the agent its live collaborators; the factory does so right after it is made."""
        self.services = services

    @abstractmethod
    async def process(self, context: Json) -> AgentResponse:
        """One turn.

        Args:
            context: What the prompts may name, nested:
                `{"context": {...}, "tasks": {...}, "input": ...}`.

        Returns:
            The answer; an expected failure is an answer with `success` false.

        Raises:
            AgentRefused: the agent is not configured so that it can work.
            ProviderFailure: the model cannot be reached or refuses the request.
        """

    async def call_skill(self, name: str, input: JsonValue = None) -> JsonValue:
        """Call a skill, `Name.method`, on behalf of this agent.

        The call's key is made of the agent's own, the skill and its input: the lineage is in
        it, and an agent that is tried again calls with the same key. So two calls with the
        same input in one turn count as one.

        Returns:
            What the skill returned.

        Raises:
            AgentRefused: this agent was given no skills.
        """
        if self.services.call_skill is None:
            raise AgentRefused(f"agent {self.unique_name!r} was given no skills to call")
        text = json.dumps(input, sort_keys=True, ensure_ascii=True)
        digest = sha256(text.encode()).hexdigest()[:12]
        key = f"{self.services.key or self.unique_name}/{name}:{digest}"
        result = await self.services.call_skill(SkillRequest(skill=name, input=input, key=key))
        return result.data

    def _get_agent_name(self) -> str:
        """The unique name: logs, routing and people know the agent by it."""
        return self.unique_name

    def _get_agent_config(self) -> Json:
        """The merged persona; nothing is looked up under the agent's name."""
        return self.persona_config

    def _get_system_message(self, inputs: Json) -> str | None:
        """The persona's system prompt, filled from the inputs; None when it has none."""
        return system_message(self.persona, inputs)

    def _get_prompt(self, inputs: Json) -> str:
        """The prompt to ask, filled from the inputs; without one, the input itself."""
        asked = user_message(self.persona, inputs, self.unique_name)
        return "\n\n".join((asked, *self.services.notices))

    def _resolve_model(self) -> str:
        """The persona's model, else the configuration's `default_model`."""
        return self.persona.model

    @cached_property
    def persona(self) -> Persona:
        """The merged persona with its fields checked; the execution plan is left out.

        Raises:
            AgentRefused: a field is missing or has a value that it cannot have.
        """
        given = self._get_agent_config()
        checked = self.services.checked
        if checked is not None and checked.config == given:
            return checked.persona
        settings = self._defaults() | {k: value for k, value in given.items() if value is not None}
        settings.pop("execution_plan", None)
        try:
            return Persona.model_validate(settings)
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(map(str, fault['loc'])) or 'persona'}: {fault['msg']}"
                for fault in error.errors(include_url=False, include_input=False)
            )
            raise AgentRefused(
                f"the persona of agent {self.unique_name!r} cannot be used: {faults}"
            ) from None

    def _defaults(self) -> Json:
        llm_config = self.full_config.get("llm_config")
        if not isinstance(llm_config, dict):
            return {}
        names = ("provider", "model")
        return {
            name: llm_config[f"default_{name}"]
            for name in names
            if llm_config.get(f"default_{name}") is not None
        }
