"""Answer the methods of A2A over runs. Everything that lasts stands in them."""

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager

from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import Event
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import (
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.message import Message as ProtobufMessage

from coterie.activities.workspace.web_access import WebAccess
from coterie.audit.sent_records import audit_record
from coterie.dsl.model.plan import Plan
from coterie.gateway.doors.a2a.agent_cards import extended_card_of, offered_team
from coterie.gateway.doors.a2a.call_scope import TeamCall, call_of
from coterie.gateway.doors.a2a.door_errors import a2a_error
from coterie.gateway.doors.a2a.message_contents import (
    session_context,
    session_value,
    status_answered,
    task_context,
)
from coterie.gateway.doors.a2a.new_tasks import start_task, task_id
from coterie.gateway.doors.a2a.push_configs import (
    DEFAULT_ID,
    checked_push,
    receivers_of,
    set_push,
)
from coterie.gateway.doors.a2a.stream_progress import StreamProgress
from coterie.gateway.doors.a2a.task_answers import MessageOnTask, answer_task, message_key
from coterie.gateway.doors.a2a.task_listing import list_tasks
from coterie.gateway.doors.a2a.task_messages import (
    check_ids,
    config_message,
    content_of,
    metadata_of,
    task_message,
)
from coterie.gateway.doors.a2a.task_streams import LiveTexts, TaskFollower
from coterie.gateway.doors.a2a.task_views import TaskView, TaskViews, context_of
from coterie.gateway.identity.identity import Role
from coterie.gateway.operations.error_reports import Rejection, unknown_run
from coterie.gateway.operations.expected_errors import EXPECTED_ERRORS
from coterie.gateway.operations.operation import SteeringAsked
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform, permitted_run
from coterie.gateway.operations.permissions import may
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.operations.run_listing import VIEWERS
from coterie.gateway.operations.run_permissions import require
from coterie.gateway.sessions.session_runs import MessageToSession, plan_for, run_of_team
from coterie.gateway.streams.stream_hub import StreamHub
from coterie.workflows.core.messages import PushInput


class TaskHandler(RequestHandler):
    """The methods of A2A; a task is a run of the team."""

    def __init__(
        self, access: RunAccess, hub: StreamHub, issuer: str | None, web: WebAccess
    ) -> None:
        """Take the runs, what follows them, the provider that cards name, the allowed hosts."""
        self._web = web
        self._access = access
        self._issuer = issuer
        self._views = TaskViews(access)
        self._follower = TaskFollower(access, hub, self._views)

    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        """Return a task as it is."""
        call = call_of(context)
        async with _translated_errors(params):
            found = await self._task(call, params.id, VIEWERS, "get_task")
            return task_message(await self._views.view(found))

    async def on_list_tasks(
        self, params: ListTasksRequest, context: ServerCallContext
    ) -> ListTasksResponse:
        """Return tasks of the team."""
        call = call_of(context)
        async with _translated_errors(params):
            return await list_tasks(self._access, self._views, call.team, call.identity, params)

    async def on_cancel_task(
        self, params: CancelTaskRequest, context: ServerCallContext
    ) -> Task | None:
        """Cancel a run; wait for its cleanup, but not forever."""
        call = call_of(context)
        async with _translated_errors(params):
            found = await self._task(call, params.id, VIEWERS, "cancel_task")
            if not found.is_open:
                raise TaskNotCancelableError(f"the task {found.run.id!r} has ended")
            asked = SteeringAsked(run=found.run.id, why="cancelled by an A2A client")
            await perform(self._access, operation_named("cancel"), asked, call.identity)
            return task_message(await self._follower.ended(found, call.identity))

    async def on_message_send(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Task | Message:
        """Start a task, or continue it; wait until it stops, unless the client does not want to."""
        call = call_of(context)
        async with _translated_errors(params):
            found = await self._receive_message(call, params)
            if params.configuration.return_immediately:
                return task_message(await self._views.view(found))
            return task_message(await self._follower.settled(found, call.identity))

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """Start a task, or continue it; then stream it."""
        call = call_of(context)
        async with _translated_errors(params):
            found = await self._receive_message(call, params)
            async for event in self._events(call, found):
                yield event

    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """Stream a task from now on; its first event is the task with all outputs so far."""
        call = call_of(context)
        async with _translated_errors(params):
            found = await self._task(call, params.id, VIEWERS, "subscribe")
            if not found.is_open:
                raise UnsupportedOperationError(f"the task {found.run.id!r} has ended: get it")
            async for event in self._events(call, found):
                yield event

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        """Return the card with the schemas of inputs and result."""
        call = call_of(context)
        async with _translated_errors(params):
            team = await offered_team(self._access, call.team, call.identity)
            return extended_card_of(team, call.url, self._issuer, pushes=bool(self._web.push_hosts))

    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Keep a push configuration in the run."""
        call = call_of(context)
        async with _translated_errors(params):
            self._check_push()
            found = await self._task(call, params.task_id, VIEWERS, "push")
            await self._push(call, found, params)
            return config_message(found, params.id or DEFAULT_ID, params.url)

    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Return a push configuration; never its token."""
        call = call_of(context)
        async with _translated_errors(params):
            found = await self._task(call, params.task_id, VIEWERS, "push")
            for one in await receivers_of(found):
                if one.id == call.id(params.id):
                    return config_message(found, one.id, one.url)
            raise TaskNotFoundError(f"the task has no push configuration {params.id!r}")

    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        """Return the push configurations of a task: a run has few."""
        call = call_of(context)
        async with _translated_errors(params):
            found = await self._task(call, params.task_id, VIEWERS, "push")
            configs = [config_message(found, it.id, it.url) for it in await receivers_of(found)]
            return ListTaskPushNotificationConfigsResponse(configs=configs)

    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Remove a push configuration; one that is not there is removed already."""
        call = call_of(context)
        async with _translated_errors(params):
            found = await self._task(call, params.task_id, VIEWERS, "push")
            removed = PushInput(id=call.id(params.id), removed=True)
            await set_push(self._access, call.identity, found, removed)

    def _check_push(self) -> None:
        if not self._web.push_hosts:
            raise PushNotificationNotSupportedError(
                "this gateway sends no push notifications; `worker.web.push_hosts` allows them"
            )

    async def _push(
        self, call: TeamCall, found: FoundRun, params: TaskPushNotificationConfig
    ) -> None:
        """Give a configuration to the run of a task."""
        has_credentials = params.HasField("authentication")
        credentials = "given" if has_credentials else ""
        given = checked_push(params, credentials, self._web)
        await set_push(self._access, call.identity, found, given)

    async def _receive_message(self, call: TeamCall, params: SendMessageRequest) -> FoundRun:
        """Give a message to its task, or start one; return the run.

        Raises:
            CommandError: The identity may not, or the message does not fit.
        """
        message = params.message
        check_ids(message)
        wants_push = params.configuration.HasField("task_push_notification_config")
        push = params.configuration.task_push_notification_config
        if wants_push:
            self._check_push()
            checked_push(push, "", self._web)
        found = await self._take_message(call, message)
        if wants_push and found.is_open:
            await self._push(call, found, push)
        return found

    async def _take_message(self, call: TeamCall, message: Message) -> FoundRun:
        """Return the run that a message starts or continues."""
        if message.task_id:
            found = await self._task(call, message.task_id, VIEWERS, "send_message")
            if message.context_id and message.context_id != context_of(found.description):
                raise Rejection(
                    422,
                    "invalid",
                    f"the task {found.run.id!r} belongs to another context",
                    "Leave `contextId` out, or send that of the task.",
                )
            await self._continue(call, found, message)
            return await self._access.existing(found.run.id)
        self._require_viewer(call)
        team = await offered_team(self._access, call.team, call.identity)
        if team.is_session:
            return await self._talk(call, team.plan, message)
        content = content_of(message)
        id = task_id(call.team, call.identity, f"message {message.message_id}")
        found = await run_of_team(self._access, call.team, id)
        if found is not None:  # the same message again
            return found
        context = task_context(team.plan, team.name, content)
        return await start_task(
            self._access, call.identity, call.team, id, message.context_id, context
        )

    async def _talk(self, call: TeamCall, plan: Plan, message: Message) -> FoundRun:
        """Send a message to the session of its context, which starts with the first one."""
        access, identity = self._access, call.identity
        thread = message.context_id or message.message_id
        id = task_id(call.team, identity, f"context {thread}")
        found = await run_of_team(access, call.team, id)
        if found is not None:
            plan = await plan_for(access, call.team, identity, found)
        value = session_value(plan, content_of(message))
        if found is None:
            context = session_context(metadata_of(message))
            await start_task(access, identity, call.team, id, message.context_id, context)
        key = message_key(id, message.message_id)
        await MessageToSession(access, identity, id, key, value).take()
        return await access.existing(id)

    async def _continue(self, call: TeamCall, found: FoundRun, message: Message) -> None:
        view = await self._views.view(found)
        received = MessageOnTask(
            message.message_id, content_of(message), status_answered(metadata_of(message))
        )
        await answer_task(self._access, call.identity, found, view, received)

    async def _events(self, call: TeamCall, found: FoundRun) -> AsyncGenerator[Event]:
        """Yield the task, then what is new in it, until nothing follows by itself."""
        progress: StreamProgress | None = None
        async for one in self._follower.changes(found, call.identity):
            match one:
                case TaskView() if progress is None or progress.is_void(one):
                    progress = StreamProgress()
                    progress.note(one)
                    yield task_message(one)
                case TaskView():
                    for event in progress.events(one) if progress is not None else ():
                        yield event
                case LiveTexts():
                    for event in progress.chunks(one.answers) if progress is not None else ():
                        yield event

    async def _task(self, call: TeamCall, id: str, roles: Collection[Role], asked: str) -> FoundRun:
        """Return the run of a task of the team.

        Raises:
            CommandError: There is none, or the identity may not see it.
        """
        run = call.id(id)
        found = await permitted_run(self._access, run, roles, call.identity, asked)
        if found.team != call.team:
            raise unknown_run(run)
        return found

    def _require_viewer(self, call: TeamCall) -> None:
        """Raise `Rejection` unless the identity may see the task that it starts."""
        try:
            require(may(call.identity, VIEWERS, call.team))
        except Rejection as error:
            self._access.audit.note(audit_record("refused", "send_message", error.code))
            raise


@asynccontextmanager
async def _translated_errors(params: ProtobufMessage) -> AsyncGenerator[None]:
    """Refuse parameters that lack something; report expected errors as the protocol does.

    The SDK looks at each value of a message, which takes a while: others are answered meanwhile.
    """
    await asyncio.to_thread(validate_proto_required_fields, params)
    try:
        yield
    except EXPECTED_ERRORS as error:
        raise a2a_error(error) from None
