"""The MCP server of the SDK over the tools, for every transport.

Only this file, `client_protocols.py` and `http_protocol.py` import the SDK.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast

import mcp_types as types
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import JsonValue, ValidationError
from temporalio.client import WorkflowExecutionStatus

from coterie.dsl.model.capabilities import ServerTool
from coterie.dsl.values import Frozen, Json
from coterie.dsl.visible import visible
from coterie.failures import CommandError
from coterie.http_server.http_connections import REQUEST_SENDER, REQUEST_SIGNER
from coterie.mcp_server.client_questions import ClientQuestion, FormReply, McpClient, questions_for
from coterie.mcp_server.run_host import RunHost
from coterie.mcp_server.run_reports import RunReport, report_text, visible_value
from coterie.mcp_server.served_teams import ServedTeam
from coterie.mcp_server.team_tools import (
    ANSWERS,
    CANCELS,
    READS,
    CallReport,
    QuestionReplies,
    TeamTools,
)
from coterie.mcp_server.tool_sets import CALLER, CallerLacksRole, ToolSet, VerifiedCaller
from coterie.server.message_senders import login_sender, sent_by
from coterie.settings import Settings
from coterie.version import own_version
from coterie.workflows.core.senders import Sender

POLL_SECONDS = 2.0
"""How often a client should ask."""


class RunTask(Frozen):
    """Where a task stands."""

    report: RunReport
    status: Literal["working", "input_required", "completed", "cancelled"]
    questions: tuple[ClientQuestion, ...] = ()
    """With `input_required`: what the client's person may answer."""


async def task_of(tools: TeamTools, id: str, client: McpClient) -> RunTask:
    """Return where a task stands.

    Raises:
        CommandError: There is none with this id, or its run does not answer.
    """
    record, run = await tools.find(id, client, READS)
    report = await tools.report(record, run)
    if report.state == "failed":
        description = await run.describe()
        is_cancelled = description.status == WorkflowExecutionStatus.CANCELED
        return RunTask(report=report, status="cancelled" if is_cancelled else "completed")
    if report.state == "done":
        return RunTask(report=report, status="completed")
    if report.state == "waiting":
        questions = questions_for(await tools.pending(run), client, Path(record.trusted.workspace))
        if questions:
            return RunTask(report=report, status="input_required", questions=questions)
    return RunTask(report=report, status="working")


async def answer_task(
    tools: TeamTools, id: str, replies: dict[str, FormReply], client: McpClient
) -> None:
    """Answer what the run of a task asks; raises like `task_of`, and if an answer is refused."""
    _, run = await tools.find(id, client, READS, ANSWERS)
    await tools.decide(run, replies, client)


async def cancel_task(tools: TeamTools, id: str, client: McpClient) -> None:
    """Cancel the run of a task; raises like `task_of`."""
    _, run = await tools.find(id, client, CANCELS)
    description = await run.describe()
    if description.status == WorkflowExecutionStatus.RUNNING:
        await run.cancel(f"cancelled by {client.by}")


TASKS = "io.modelcontextprotocol/tasks"
"""The extension for long calls."""

_log = logging.getLogger("coterie")

_INSTRUCTIONS = (
    "Each team is a tool that starts a durable run. A run outlives this connection: `status` "
    "lists the runs, `result` returns what one came to, and `answer` sends a message to a "
    "session or the answer to a question. Approvals are decided by people, never by a tool."
)
_UNEXPECTED = "the call failed unexpectedly; the log of the server has the reason"
_NO_CAPABILITY = -32021
"""The client calls what it has not declared."""

Context = ServerRequestContext[Any]


class TaskParams(types.RequestParams):
    """The parameters of `tasks/get` and `tasks/cancel`."""

    task_id: str


class TaskUpdateParams(TaskParams):
    """The parameters of `tasks/update`."""

    input_responses: dict[str, Any]


async def serve_clients(
    settings: Settings,
    teams: Mapping[str, ServedTeam],
    wait: float,
    speak: Callable[[Server], Coroutine[Any, Any, None]],
    local_tools: Callable[[RunHost], Sequence[ToolSet]] | None = None,
) -> None:
    """Serve the tools, and the runs that they start, until the transport ends.

    Args:
        settings: The project.
        teams: The teams, by the names of their tools.
        wait: Seconds that a call waits for its run.
        speak: Serves clients over a transport.
        local_tools: Returns further tools for callers whom no HTTP server has verified.

    Raises:
        CommandError: There is no Temporal server.
    """
    host = RunHost(settings)
    hosting = asyncio.create_task(host.serve())
    sets = () if local_tools is None else tuple(local_tools(host))
    speaking = asyncio.create_task(speak(protocol_server(TeamTools(host, teams, wait), sets)))
    try:
        await asyncio.wait({hosting, speaking}, return_when=asyncio.FIRST_COMPLETED)
        if hosting.done():
            await hosting  # it only ends by an error
        await speaking
    finally:
        speaking.cancel()
        hosting.cancel()
        await asyncio.wait({hosting, speaking})


def protocol_server(tools: TeamTools, local_tools: Sequence[ToolSet] = ()) -> Server:
    """Return a server that offers the tools, and others that a caller brings or everybody has."""
    server = Server(
        "coterie",
        version=own_version(),
        instructions=_INSTRUCTIONS,
        on_list_tools=_lister(tools, local_tools),
        on_call_tool=_caller(tools, local_tools),
    )
    server.extensions = {TASKS: {}}
    server.add_request_handler("tasks/get", TaskParams, _for_tasks(_getter(tools)))
    server.add_request_handler("tasks/update", TaskUpdateParams, _for_tasks(_updater(tools)))
    server.add_request_handler("tasks/cancel", TaskParams, _for_tasks(_canceller(tools)))
    return server


def _lister(tools: TeamTools, local_tools: Sequence[ToolSet]) -> Any:
    async def list_tools(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        listing = tools.listing(_client_of(context))
        for tool_set in _tool_sets(context, local_tools):
            listing += tool_set.listing()
        return types.ListToolsResult(tools=[_tool(tool) for tool in listing])

    return list_tools


def _caller(tools: TeamTools, local_tools: Sequence[ToolSet]) -> Any:
    async def call_tool(context: Context, params: types.CallToolRequestParams) -> Any:
        client = _client_of(context)
        arguments = params.arguments or {}
        try:
            for tool_set in _tool_sets(context, local_tools):
                if params.name in tool_set.names:
                    return _value_result(await tool_set.call(params.name, arguments))
            replies = _replies(params.request_state, params.input_responses)
            with sent_by(_sender_of(context)):
                call_report = await tools.call(params.name, arguments, client, replies)
            if call_report.as_task and isinstance(call_report.report, RunReport):
                return {
                    **_task(RunTask(report=call_report.report, status="working")),
                    "resultType": "task",
                }
            return _answer(call_report)
        except CommandError as error:
            _note_refusal(context, error)
            return _error(visible(str(error)))
        except Exception:
            _log.exception("the MCP tool %s failed", params.name)
            return _error(_UNEXPECTED)

    return call_tool


def _tool_sets(context: Context, local_tools: Sequence[ToolSet]) -> Sequence[ToolSet]:
    caller = _verified_caller(context)
    return local_tools if caller is None else caller.tool_sets


def _value_result(value: JsonValue) -> types.CallToolResult:
    shown = visible_value(value)
    text = shown if isinstance(shown, str) else json.dumps(shown, indent=1, ensure_ascii=False)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=shown if isinstance(shown, dict) else None,
    )


def _for_tasks(handle: Callable[[Any, McpClient], Awaitable[Json]]) -> Any:
    """Return a handler of a method for tasks, with the errors that its specification names."""

    async def handler(context: Context, params: Any) -> Json:
        client = _client_of(context)
        if not client.follows_tasks:
            data: Json = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
            raise MCPError(_NO_CAPABILITY, f"declare the extension {TASKS}", data)
        try:
            with sent_by(_sender_of(context)):
                return await handle(params, client)
        except CommandError as error:
            _note_refusal(context, error)
            raise MCPError(types.INVALID_PARAMS, visible(str(error))) from None

    return handler


def _getter(tools: TeamTools) -> Callable[[TaskParams, McpClient], Awaitable[Json]]:
    async def get(params: TaskParams, client: McpClient) -> Json:
        return _task(await task_of(tools, params.task_id, client))

    return get


def _updater(tools: TeamTools) -> Callable[[TaskUpdateParams, McpClient], Awaitable[Json]]:
    async def update(params: TaskUpdateParams, client: McpClient) -> Json:
        await answer_task(tools, params.task_id, _form_replies(params.input_responses), client)
        return {}

    return update


def _canceller(tools: TeamTools) -> Callable[[TaskParams, McpClient], Awaitable[Json]]:
    async def cancel(params: TaskParams, client: McpClient) -> Json:
        await cancel_task(tools, params.task_id, client)
        return {}

    return cancel


def _task(task: RunTask) -> Json:
    """Return a task as it goes over the wire."""
    report = task.report
    data: Json = {
        "taskId": report.run,
        "status": task.status,
        "statusMessage": "; ".join(part for part in (report.because, report.next) if part),
        "createdAt": report.begun,
        "lastUpdatedAt": datetime.now(UTC).isoformat(timespec="seconds"),
        "ttlMs": None,
        "pollIntervalMs": int(POLL_SECONDS * 1000),
    }
    match task.status:
        case "completed":
            result = _result(CallReport(report=report, is_error=report.state == "failed"))
            data["result"] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        case "input_required":
            requests = _requests(task.questions)
            data["inputRequests"] = {
                key: request.model_dump(mode="json", by_alias=True, exclude_none=True)
                for key, request in requests.items()
            }
        case "working" | "cancelled":
            pass
    return data


def _answer(call_report: CallReport) -> types.CallToolResult | types.InputRequiredResult:
    if call_report.questions and isinstance(call_report.report, RunReport):
        return types.InputRequiredResult(
            input_requests=cast("Any", _requests(call_report.questions)),
            request_state=call_report.report.run,
        )
    return _result(call_report)


def _requests(questions: tuple[ClientQuestion, ...]) -> dict[str, types.ElicitRequest]:
    return {
        question.key: types.ElicitRequest(
            params=types.ElicitRequestFormParams(
                message=question.message, requested_schema=question.form
            )
        )
        for question in questions
    }


def _replies(state: str | None, responses: Any) -> QuestionReplies | None:
    """Return what a repeated call carries. Any client may name any run, so its id needs no seal."""
    if state is None:
        return None
    return QuestionReplies(run=state, replies=_form_replies(responses or {}))


def _form_replies(responses: dict[str, Any]) -> dict[str, FormReply]:
    try:
        results = {
            key: types.ElicitResult.model_validate(result) for key, result in responses.items()
        }
    except ValidationError:
        raise CommandError("an answer is not a result of elicitation/create") from None
    return {key: _form_reply(result.action, result.content) for key, result in results.items()}


def _form_reply(action: Literal["accept", "decline", "cancel"], content: Any) -> FormReply:
    return FormReply(action=action, content=content)


def _result(call_report: CallReport) -> types.CallToolResult:
    report = call_report.report
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=report_text(report))],
        structured_content=report.model_dump(mode="json"),
        is_error=call_report.is_error,
    )


def _tool(listing: ServerTool) -> types.Tool:
    return types.Tool(
        name=listing.name,
        description=listing.description,
        input_schema=listing.input_schema,
        output_schema=listing.output_schema,
        annotations=types.ToolAnnotations.model_validate(listing.hints),
    )


def _error(text: str) -> types.CallToolResult:
    content = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=[*content], is_error=True)


def _client_of(context: Context) -> McpClient:
    params = context.session.client_params
    client_capabilities = context.session.client_capabilities or types.ClientCapabilities()
    modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    name = "client" if params is None else params.client_info.name
    caller = _verified_caller(context)
    return McpClient(
        name=name if caller is None else caller.name,
        approver=None if caller is None else caller.approver,
        answers=modern and client_capabilities.elicitation is not None,
        follows_tasks=modern and TASKS in (client_capabilities.extensions or {}),
        signer_for=_request_state(context).get(REQUEST_SIGNER),
        permits=None if caller is None else caller.permits,
    )


def _verified_caller(context: Context) -> VerifiedCaller | None:
    """Return whom the HTTP server has verified; None where it verifies nobody."""
    return _request_state(context).get(CALLER)


def _note_refusal(context: Context, error: CommandError) -> None:
    caller = _verified_caller(context)
    if caller is not None and isinstance(error, CallerLacksRole):
        caller.note_refusal()


def _sender_of(context: Context) -> Sender:
    """Return whom the HTTP server has verified, or else the login name of this process."""
    sender = _request_state(context).get(REQUEST_SENDER)
    return sender if isinstance(sender, Sender) else login_sender("mcp")


def _request_state(context: Context) -> Mapping[str, Any]:
    scope: Mapping[str, Any] = getattr(context.request, "scope", {})
    return scope.get("state", {})
