"""The activity in which an agent has one turn."""

import asyncio
from collections.abc import Collection, Mapping

from pydantic import JsonValue
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from activities.agents.agent_base import (
    AgentServices,
    BaseAgent,
    CheckedPersona,
    ProviderAccess,
    SkillCaller,
)
from activities.agents.refusals import AgentRefused
from activities.call_prices import Pricing
from activities.contracts import (
    RUN_AGENT,
    AgentError,
    AgentRequest,
    AgentResponse,
    FailureType,
    OwnQueue,
)
from activities.factory import AgentFactory, AgentTypes
from activities.heartbeats import heartbeating
from activities.metering import Meter, MeteredProviders
from activities.providers.provider_failures import ProviderFailure, to_application_error
from activities.storage.blobs import BlobMissing, Blobs, BlobsUnusable
from activities.storage.conversations import Conversations, OpenConversation
from activities.user_code.child_pool import UserCode, UserCodeTimeout
from dsl.model.plan import Persona
from dsl.values import Json

MAX_RESPONSE_SIZE = 1_500_000
"""Bytes of JSON. Temporal takes 2 MiB; a larger result would fail after the work is paid for."""


class AgentActivities:
    """What a worker's agents have to work with; one instance serves every run."""

    def __init__(
        self,
        providers: ProviderAccess,
        *,
        agent_types: AgentTypes | None = None,
        agent_packages: Collection[str] = (),
        call_skill: SkillCaller | None = None,
        skills: Collection[str] = (),
        blobs: Blobs | None = None,
        queues: Mapping[str, OwnQueue] | None = None,
        pricing: Pricing | None = None,
        user_code: UserCode | None = None,
    ) -> None:
        """Take the worker's own settings; a request can name what is here and nothing else.

        Args:
            providers: Gives the model provider that a persona names.
            agent_types: The worker's own agent types, beside the built-in ones.
            agent_packages: Packages that a legacy `agent_class` may be imported from.
            call_skill: Runs a skill for an agent's own code.
            skills: Names of the skills, to explain a mistaken agent type.
            blobs: Where conversations are kept; without it none can be had.
            queues: Of the providers with a rate limit, which holds only for calls through them.
            pricing: What model calls cost; without it, none has a price.
            user_code: Runs legacy agents; without it, in processes with an empty environment.

        Raises:
            AgentRefused: an own agent type cannot be one.
        """
        AgentFactory({}, agent_types)  # a wrong type stops the worker, not the first run
        self._providers = providers
        self._agent_types = agent_types
        self._agent_packages = tuple(agent_packages)
        self._call_skill = call_skill
        self._skills = tuple(skills)
        self._conversations = None if blobs is None else Conversations(blobs)
        self._queues = dict(queues or {})
        self._pricing = pricing
        self._user_code = user_code or UserCode()

    @activity.defn(name=RUN_AGENT)
    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        """One turn of one agent; a model is called at most once.

        Raises:
            ApplicationError: the provider failed (its type says how, and whether to try
                again), the worker refuses the agent, or the call came past a rate limit.
        """
        if self._queues:
            self._refuse_elsewhere(request)
        meter = Meter.of_activity(self._pricing)
        try:
            async with heartbeating(meter.told):
                agent = self._agent(request, meter)
                if request.conversation is not None and not agent.converses:
                    raise AgentRefused(
                        f"agent {request.task!r} is of a type that has no conversations"
                    )
                response: object = await agent.process(request.inputs)
        except ProviderFailure as failure:
            raise to_application_error(failure, *meter.hand_on()) from None
        except UserCodeTimeout as late:
            raise ApplicationError(
                f"task {request.task!r}: {request.agent_class} {late}",
                *meter.hand_on(),
                type=FailureType.TIMEOUT,
            ) from None
        except (BlobMissing, BlobsUnusable) as error:
            # what is unusable may pass, and nothing was paid yet
            raise _unusable(request, error, non_retryable=isinstance(error, BlobMissing)) from None
        except AgentRefused as refusal:
            raise ApplicationError(
                str(refusal), *meter.told(), type=FailureType.AGENT_REFUSED, non_retryable=True
            ) from None
        except asyncio.CancelledError:
            cut = meter.cut_off()
            if cut is not None:
                raise cut from None
            raise
        except Exception:
            meter.hand_on()
            raise
        return _sendable(response, request, meter)

    def _refuse_elsewhere(self, request: AgentRequest) -> None:
        """Not a failure of anything: the run is told where to go, before a model was asked."""
        provider = request.persona.provider if request.persona is not None else ""
        queue = self._queues.get(provider)
        if queue is None or not activity.in_activity() or activity.info().task_queue == queue.name:
            return
        raise ApplicationError(
            f"{provider} has a rate limit, so it is called through the queue {queue.name}",
            queue.model_dump(),
            type=FailureType.OWN_QUEUE,
            non_retryable=True,
            category=ApplicationErrorCategory.BENIGN,
        )

    def _agent(self, request: AgentRequest, meter: Meter) -> BaseAgent:
        checked = _checked(request.persona)
        factory = AgentFactory(
            _system_config(request, checked),
            self._agent_types,
            agent_packages=self._agent_packages,
            skills=self._skills,
            services=self._services(request, checked, meter),
        )
        return factory.create_agent(_task_config(request))

    def _services(
        self, request: AgentRequest, checked: CheckedPersona | None, meter: Meter
    ) -> AgentServices:
        reasks = request.reask.number if request.reask else 0
        label = f"{request.team}/{request.task}#{request.visit}.{reasks}"
        key, limit = label, None
        if activity.in_activity():
            info = activity.info()
            key, limit = f"{info.workflow_run_id}/{info.activity_id}", info.start_to_close_timeout
        return AgentServices(
            providers=MeteredProviders(self._providers, meter),
            call_skill=self._call_skill,
            label=label,
            key=key,
            conversation=self._conversation(request),
            reask=request.reask,
            checked=checked,
            notices=request.notices,
            user_code=self._user_code,
            timeout=None if limit is None else limit.total_seconds(),
        )

    def _conversation(self, request: AgentRequest) -> OpenConversation | None:
        if request.conversation is None:
            return None
        if self._conversations is None:
            raise AgentRefused(
                f"agent {request.task!r} is in a conversation, and this worker has no storage to "
                "keep it in: set COTERIE_STORAGE, for all workers alike, to a folder that they "
                "all see or to s3://bucket"
            )
        within = activity.info().workflow_id if activity.in_activity() else None
        return self._conversations.open(request.conversation, within or "local")


def _unusable(request: AgentRequest, error: Exception, *, non_retryable: bool) -> ApplicationError:
    return ApplicationError(
        f"the conversation of task {request.task!r} cannot go on: {error}",
        type=FailureType.STORAGE_UNUSABLE,
        non_retryable=non_retryable,
    )


def _task_config(request: AgentRequest) -> Json:
    if request.agent_class is not None:
        return {
            "name": request.task,
            "agent_class": request.agent_class,
            "agent_type": request.agent_type,
        }
    return {
        "name": request.task,
        "agent_type": request.agent_type,
        "persona_key": _persona_key(request),
    }


def _persona_key(request: AgentRequest) -> str:
    """The name under which the factory finds the one persona that a request carries."""
    return request.persona_key or request.task


def _checked(persona: Persona | None) -> CheckedPersona | None:
    if persona is None:
        return None
    config = persona.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return CheckedPersona(config, persona)


def _system_config(request: AgentRequest, checked: CheckedPersona | None) -> Json:
    """The configuration as the factory reads it, made of what the request carries."""
    personas: dict[str, JsonValue] = {}
    if checked is not None:
        personas[_persona_key(request)] = checked.config
    return {"llm_config": {"personas": personas, "agents": request.legacy_config or {}}}


def _sendable(response: object, request: AgentRequest, meter: Meter) -> AgentResponse:
    """The response with what it cost, or a failure that says why it cannot travel."""
    where = f"task {request.task!r}"
    if not isinstance(response, AgentResponse):
        message = (
            f"{where}: its agent answered with a {type(response).__name__}, not an AgentResponse"
        )
        error = AgentError(type=FailureType.AGENT_FAILED, message=message)
        return meter.billed(AgentResponse(success=False, error=error))
    response = meter.billed(response)
    try:
        size = len(response.__pydantic_serializer__.to_json(response))
    except ValueError as error:
        return _instead(
            response, FailureType.AGENT_FAILED, f"{where}: its agent's answer is not JSON: {error}"
        )
    if size > MAX_RESPONSE_SIZE:
        return _instead(
            response,
            FailureType.ANSWER_TOO_LARGE,
            f"{where}: the answer has {size:,} bytes, more than the {MAX_RESPONSE_SIZE:,} that "
            "may travel in a run; ask for less, or let a skill write it to a file",
        )
    return response


def _instead(response: AgentResponse, type: str, message: str) -> AgentResponse:
    error = AgentError(type=type, message=message)
    return response.model_copy(
        update={"success": False, "data": None, "answer": None, "error": error}
    )
