"""Run one turn of one agent as a Temporal activity."""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import nullcontext, suppress

from pydantic import JsonValue
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from coterie.activities.agents.agent_base import (
    AgentServices,
    BaseAgent,
    FunctionCaller,
    ProviderAccess,
)
from coterie.activities.agents.conversation_compaction import compacting
from coterie.activities.agents.inner_calls import InnerCaller, InnerCalls
from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.attempts import own_seconds
from coterie.activities.batching import (
    BatchedProviders,
    BatchInProgress,
    MeteredProviders,
    cancel_batch,
)
from coterie.activities.context_windows import ContextWindows
from coterie.activities.contracts import (
    RUN_AGENT,
    AgentError,
    AgentRequest,
    AgentResponse,
    FailureType,
    OwnQueue,
)
from coterie.activities.factory import ASKS_MODEL, AgentFactory, AgentTypes
from coterie.activities.heartbeats import CallTimedOut, heartbeating
from coterie.activities.live_text import LiveText
from coterie.activities.metering import Meter
from coterie.activities.model_prices import Pricing
from coterie.activities.process_pool.thread_runner import ThreadRunner
from coterie.activities.process_pool.work import WorkRunner
from coterie.activities.providers.provider_failures import ProviderFailure, to_application_error
from coterie.activities.storage.absences import lasting, may_come_back
from coterie.activities.storage.blobs import BlobMissing, Blobs, BlobsUnusable, InheritedBlobs
from coterie.activities.storage.conversations import Conversations
from coterie.activities.storage.media import StoredMedia
from coterie.activities.storage.open_conversation import OpenConversation
from coterie.activities.threads.run_threads import TURN_THREADS
from coterie.activities.user_code.child_messages import UserCodeTimeout
from coterie.activities.user_code.child_pool import UserCode
from coterie.dsl.known_secrets import KnownSecrets
from coterie.dsl.values import Json

MAX_RESPONSE_SIZE = 1_500_000
"""Bytes of JSON. Temporal takes 2 MiB; a larger result would fail after the work is paid for."""


def unusable(request: AgentRequest, error: Exception, *, non_retryable: bool) -> ApplicationError:
    """Return the failure of a turn whose conversation cannot be read or stored."""
    return ApplicationError(
        f"task {request.task!r} cannot continue its conversation: {error}",
        type=FailureType.STORAGE_UNUSABLE,
        non_retryable=non_retryable,
    )


def sendable(response: object, request: AgentRequest, meter: Meter) -> AgentResponse:
    """Return the response with its cost, or a failure if it cannot be sent."""
    where = f"task {request.task!r}"
    if not isinstance(response, AgentResponse):
        message = f"{where}: its agent returned a {type(response).__name__}, not an AgentResponse"
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
            f"{where}: the answer has {size:,} bytes; at most {MAX_RESPONSE_SIZE:,} fit in a "
            "run's history. Ask for less, or let a tool function write it to a file",
        )
    return response


def _instead(response: AgentResponse, type: str, message: str) -> AgentResponse:
    error = AgentError(type=type, message=message)
    return response.model_copy(
        update={
            "success": False,
            "data": None,
            "answer": None,
            "error": error,
            "conversation": None,
            "tool_calls": (),
        }
    )


class AgentActivities:
    """Run agents with what one worker has; one instance serves every run."""

    def __init__(
        self,
        providers: ProviderAccess,
        *,
        agent_types: AgentTypes | None = None,
        agent_packages: Collection[str] = (),
        call_function: FunctionCaller | None = None,
        inner_calls: InnerCalls | None = None,
        blobs: Blobs | None = None,
        queues: Mapping[str, OwnQueue] | None = None,
        pricing: Pricing | None = None,
        user_code: UserCode | None = None,
        known: KnownSecrets | None = None,
        runner: WorkRunner | None = None,
    ) -> None:
        """Take the worker's own settings. A request can name only what is registered here.

        Args:
            providers: Returns the model provider that a persona names.
            agent_types: The worker's own agent types, beside the built-in ones.
            agent_packages: Packages that a legacy `agent_class` may be imported from.
            call_function: Runs a tool function for an agent's own code.
            inner_calls: What the calls of an agent's own code bring.
            blobs: Stores conversations; without it, no agent can have one.
            queues: Task queues of the providers with a rate limit.
            pricing: Prices of model calls; without it, no call has a price.
            user_code: Runs legacy agents; without it, they run with an empty environment.
            known: The worker's secrets, which no streamed answer shows.
            runner: Runs work that takes long; without it, this process does.

        Raises:
            AgentRefused: one of `agent_types` is not a valid agent type.
        """
        AgentFactory({}, agent_types)  # a wrong type stops the worker, not the first run
        self._providers = providers
        self._agent_types = agent_types
        self._agent_packages = tuple(agent_packages)
        self._call_function = call_function
        self._inner_calls = inner_calls or InnerCalls({})
        self._blobs = lasting(blobs)
        self._conversations = None if self._blobs is None else Conversations(self._blobs)
        self._queues = dict(queues or {})
        self._pricing = pricing
        self._user_code = user_code or UserCode()
        self._known = known or KnownSecrets()
        self._runner = runner or ThreadRunner()
        self._prepared: set[str] = set()

    @activity.defn(name=RUN_AGENT)
    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        """Run one turn of one agent, with at most one model call.

        Raises:
            ApplicationError: The provider failed or the worker refuses the call; the type says how.
        """
        if self._queues:
            refuse_elsewhere(request.provider_name, self._queues)
        meter = Meter.of_activity(self._pricing)
        try:
            response = await self._turn(request, meter)
        except ProviderFailure as failure:
            raise to_application_error(failure, *meter.hand_on()) from None
        except (UserCodeTimeout, CallTimedOut) as late:
            raise ApplicationError(
                f"task {request.task!r}: {request.agent_class or request.agent_type} {late}",
                *meter.hand_on(),
                type=FailureType.TIMEOUT,
            ) from None
        except (BlobMissing, BlobsUnusable) as error:
            # before any model call, so nothing is paid twice
            raise unusable(request, error, non_retryable=not may_come_back(error)) from None
        except AgentRefused as refusal:
            raise ApplicationError(
                str(refusal), *meter.details(), type=FailureType.AGENT_REFUSED, non_retryable=True
            ) from None
        except asyncio.CancelledError:
            cut = meter.cut_off()
            if cut is not None:
                raise cut from None
            raise
        except Exception:
            meter.hand_on()
            raise
        return sendable(response, request, meter)

    async def _turn(self, request: AgentRequest, meter: Meter) -> object:
        """Return the agent's response, or that its batch is in progress."""
        if request.started is not None and request.started.unwanted:
            async with heartbeating(meter.heartbeat):
                await self._prepare(request.provider_name)
                await cancel_batch(self._providers, request.provider_name, request.started)
            return AgentResponse()
        request = await self._whole(request)
        meter.live = self._live(request, meter)
        try:
            return await self._process_request(request, meter)
        except BatchInProgress as waits:
            return AgentResponse(in_progress=waits.batch)

    async def _whole(self, request: AgentRequest) -> AgentRequest:
        """Return the request with its persona, which a later turn with tools leaves out."""
        if request.tool_turn is None or request.persona is not None:
            return request
        conversation = self._conversation(request)
        latest = None if conversation is None else await conversation.latest()
        if conversation is None or latest is None or latest.opening is None:
            raise AgentRefused(f"agent {request.task!r} continues without an earlier turn")
        opening = await conversation.opening(latest.opening)
        persona = opening.persona
        if request.provider is not None and request.model is not None:
            fallback = {"provider": request.provider, "model": request.model}
            persona = persona.model_copy(update=fallback)
        return request.model_copy(update={"persona": persona})

    async def _process_request(self, request: AgentRequest, meter: Meter) -> object:
        """Return the agent's response, while heartbeats report that it works."""
        with meter.live or nullcontext():
            async with heartbeating(meter.heartbeat):
                await self._prepare(request.provider_name)
                agent = self._agent(request, meter)
                if request.conversation is not None and not agent.converses:
                    raise AgentRefused(
                        f"agent {request.task!r} has a type that does not support conversations"
                    )
                return await agent.process(request.inputs)

    async def _prepare(self, provider: str) -> None:
        """Create a provider in a thread; importing its SDK takes seconds without a heartbeat.

        Do so once: a thread is a twelfth of the CPU of a turn.
        """
        if provider and provider not in self._prepared:
            with suppress(ProviderFailure):  # the agent meets it again, where it belongs
                await TURN_THREADS.run(self._providers.get, provider)
                self._prepared.add(provider)

    def _live(self, request: AgentRequest, meter: Meter) -> LiveText | None:
        """Return where the answer of a persona that streams is shown."""
        if request.persona is None or not request.persona.stream or request.compaction is not None:
            return None
        return LiveText.of_activity(self._known, meter.beat)

    def _agent(self, request: AgentRequest, meter: Meter) -> BaseAgent:
        services, persona = self._services(request, meter), request.persona
        asks = None if request.agent_class else ASKS_MODEL.get(request.agent_type or "")
        if asks is None or persona is None or persona.execution_plan:
            agent = self._made_by_factory(request, services)
        else:
            agent = asks.of(persona, request.task, services)
        return agent if request.compaction is None else compacting(agent)

    def _made_by_factory(self, request: AgentRequest, services: AgentServices) -> BaseAgent:
        """Return the agent of a user's package, or raise why there is none."""
        task: Json = {"name": request.task, "agent_type": request.agent_type}
        personas: dict[str, JsonValue] = {}
        if request.agent_class is not None:
            task["agent_class"] = request.agent_class
        else:
            task["persona_key"] = request.task
        if (persona := request.persona) is not None:
            personas[request.task] = persona.model_dump(
                mode="json", by_alias=True, exclude_defaults=True
            )
        factory = AgentFactory(
            {"llm_config": {"personas": personas, "agents": request.legacy_config or {}}},
            self._agent_types,
            agent_packages=self._agent_packages,
            functions=self._inner_calls.contracts,
            services=services,
        )
        return factory.create_agent(task)

    def _services(self, request: AgentRequest, meter: Meter) -> AgentServices:
        reasks = request.reask.number if request.reask else 0
        label = f"{request.team}/{request.task}#{request.visit}.{reasks}"
        call, inner = self._call_function, self._inner_calls
        own = None if request.persona is None else request.persona.context_window
        windows = ContextWindows(self._pricing, own)
        return AgentServices(
            providers=self._access(request, meter, windows),
            windows=windows,
            compaction=request.compaction,
            call_function=None
            if call is None
            else InnerCaller(call, inner, meter, request.untrusted),
            label=label,
            key=_key_of(request, label),
            conversation=self._conversation(request),
            media=self._media(request),
            reask=request.reask,
            tool_turn=request.tool_turn,
            on_text=None if meter.live is None else meter.live.write,
            notices=request.notices,
            said=request.said,
            user_code=self._user_code,
            timeout=own_seconds(),
            runner=self._runner,
        )

    def _access(
        self, request: AgentRequest, meter: Meter, windows: ContextWindows
    ) -> ProviderAccess:
        if request.persona is not None and request.persona.batch:
            return BatchedProviders(self._providers, meter, windows, request.started)
        return MeteredProviders(self._providers, meter, windows)

    def _media(self, request: AgentRequest) -> StoredMedia | None:
        if self._blobs is None:
            return None
        return StoredMedia(InheritedBlobs(self._blobs, request.origins), _within())

    def _conversation(self, request: AgentRequest) -> OpenConversation | None:
        if request.conversation is None:
            return None
        if self._conversations is None:
            raise AgentRefused(
                f"agent {request.task!r} is in a conversation, but this worker has no storage for "
                "it: set COTERIE_STORAGE on all workers to the same shared folder or to "
                "s3://bucket"
            )
        within = _within()
        conversations = self._conversations.of_run(within, request.origins)
        return OpenConversation(conversations, request.conversation, within)


def _key_of(request: AgentRequest, label: str) -> str:
    """Return the key of a turn: the same in all its attempts, and of no later run."""
    execution, info = request.execution, activity.info() if activity.in_activity() else None
    turn = label if info is None else info.activity_id
    if execution:
        return f"{_within()}/{execution}/{turn}"
    return turn if info is None else f"{info.workflow_run_id}/{turn}"


def _within() -> str:
    """Return the run that stored values belong to."""
    return (activity.info().workflow_id if activity.in_activity() else None) or "local"


def refuse_elsewhere(provider: str, queues: Mapping[str, OwnQueue]) -> None:
    """Redirect a call to the queue of its rate-limited provider, before any model call."""
    queue = queues.get(provider)
    if queue is None or not activity.in_activity() or activity.info().task_queue == queue.name:
        return
    raise ApplicationError(
        f"{provider} has a rate limit: calls must go through its queue {queue.name}",
        queue.model_dump(),
        type=FailureType.OWN_QUEUE,
        non_retryable=True,
        category=ApplicationErrorCategory.BENIGN,
    )
