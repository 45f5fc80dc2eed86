"""Report runs to MCP clients: small, and without control characters.

What a run says comes from models, tools and people. A client shows it, or gives it to its own
model, so nothing in it may control a terminal, and no report is large.
"""

import json
from collections.abc import Sequence
from pathlib import Path as Folder
from typing import Literal, cast

from pydantic import Field, JsonValue, TypeAdapter
from temporalio.client import WorkflowExecutionStatus

from coterie.activities.changes.shown_changes import shortened_diff
from coterie.arguments import login_name
from coterie.dsl.paths import MISSING, Path, get
from coterie.dsl.values import Documented, Json
from coterie.dsl.visible import shortened_text, visible
from coterie.failures import CommandError
from coterie.mcp_server.served_teams import ServedTeam
from coterie.rendering.decision_commands import decision_commands, show_command
from coterie.rendering.request_text import asked_change
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.records import RunRecord
from coterie.runs.run_client import Run
from coterie.runs.run_list import open_state
from coterie.workflows.core.extract import extract, written
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.views import RunStatus

MAX_RESULT_SIZE = 50_000
"""Bytes of JSON of one page of a result."""
_MAX_SHOW_SIZE = 4_000
_MAX_TEXT_LENGTH = 2_000
_MAX_LISTED = 20


class WaitingApproval(Documented):
    """A question to a person."""

    id: str
    prompt: str
    show: JsonValue = None
    """What the person decides about, shortened."""
    diff: str = ""
    """The unified diff of the files that it would change; names the hunks that it hides."""
    asked_because: str = ""
    """What the condition of the approval found."""
    decide: str
    """The commands with which a person decides."""
    is_question: bool = False
    """Whether it only asks: the tool `answer` may bring your user's answer."""
    digest: str = ""
    """Of a question as it is shown here; `answer` sends it back."""
    form: Json | None = None
    """JSON Schema of the answer to a question."""


class RunReport(Documented):
    """Where a run stands."""

    run: str
    """The run's id, for `status`, `answer` and `result`."""
    team: str
    """The tool that started it."""
    begun: str
    state: Literal[
        "running", "waiting", "awaiting_message", "paused", "stopping", "done", "failed", "unknown"
    ]
    """`waiting`: for a person's decision; `awaiting_message`: `answer` sends one; `unknown`: the
    server does not say, and `because` says why."""
    result: JsonValue = None
    """The result of a run that is done; a part that is too large names the `path` for `result`."""
    whole: bool = True
    """Whether `result` is complete."""
    next_start: int | None = None
    """The `start` with which the tool `result` returns the next page."""
    because: str = ""
    """Why it failed, or why it is where it is."""
    doing: tuple[str, ...] = ()
    """The steps in progress."""
    approvals: tuple[WaitingApproval, ...] = ()
    reply: JsonValue = None
    """The reply to the message that `answer` has sent."""
    message_id: str | None = None
    """With an answer: the same message again has this id."""
    next: str = ""
    """What to do next."""


class RunList(Documented):
    """The latest runs that MCP clients started, latest first."""

    runs: tuple[RunReport, ...] = Field(default=())


def report_schema(team: ServedTeam | None = None) -> Json:
    """Return the JSON Schema of a report, with the known part of the result's schema."""
    schema = cast("Json", TypeAdapter(RunReport).json_schema(mode="serialization"))
    if team is not None and team.result:
        result_schema: Json = {"anyOf": [team.result, {"type": "null"}]}
        schema["properties"] = {**cast("Json", schema["properties"]), "result": result_schema}
    return schema


async def report_of(
    record: RunRecord,
    run: Run,
    messages: frozenset[str],
    path: Path = (),
    start: int = 0,
) -> RunReport:
    """Ask a run where it stands.

    Args:
        record: Of the run.
        run: The run.
        messages: The steps of its plan that wait for a message.
        path: Of the part of the result to return.
        start: Where the page of that part begins.

    Raises:
        CommandError: The run does not answer, or the path leads nowhere.
    """
    description = await run.describe()
    if description.status != WorkflowExecutionStatus.RUNNING:
        return ended_report(record, await run.end(), path, start)
    status = await run.status()
    pending = await run.pending() if status.waiting_for else ()
    return open_report(record, status, pending, messages)


def open_report(
    record: RunRecord, status: RunStatus, pending: tuple[Pending, ...], messages: frozenset[str]
) -> RunReport:
    """Report a run that has not ended."""
    state = open_state(status)
    doing = tuple(current.step for current in status.doing)
    folder = Folder(record.trusted.workspace)
    approvals = tuple(
        waiting_approval(record.id, request, folder) for request in pending[:_MAX_LISTED]
    )
    awaits = state == "running" and any(step in messages for step in doing)
    return RunReport(
        run=record.id,
        team=record.mcp_tool,
        begun=record.begun,
        state="awaiting_message" if awaits else state,
        because=_text(status.last_because),
        doing=tuple(_text(step) for step in doing[:_MAX_LISTED]),
        approvals=approvals,
        next=_next(awaits=awaits, approvals=approvals, paused=state == "paused"),
    )


def ended_report(record: RunRecord, end: RunEnd, where: Path, start: int) -> RunReport:
    """Report a run that has ended; raises like `report_of`."""
    if not end.completed or end.result is None:
        return RunReport(
            run=record.id,
            team=record.mcp_tool,
            begun=record.begun,
            state="failed",
            because=_text(incomplete_reason(end)),
        )
    value = get({"result": end.result.output}, ("result", *where))
    if value is MISSING:
        raise CommandError(
            f"nothing lies at {'.'.join(where)!r} in the result of run {record.id!r}; call "
            "`result` without a path to see what it has"
        )
    part = extract(value, where, start, MAX_RESULT_SIZE)
    more = part.next is not None
    hint = f"for the next page, call `result` with start {part.next}" if more else ""
    return RunReport(
        run=record.id,
        team=record.mcp_tool,
        begun=record.begun,
        state="done",
        result=visible_value(part.value),
        whole=part.whole,
        next_start=part.next,
        because=_text(end.result.because),
        next=hint or ("" if part.whole else f"call `result` with a path{_where(where)}"),
    )


def unknown_report(record: RunRecord, why: str) -> RunReport:
    """Report a run of which the server says nothing."""
    return RunReport(
        run=record.id,
        team=record.mcp_tool,
        begun=record.begun,
        state="unknown",
        because=_text(why),
    )


def report_text(report: RunReport | RunList) -> str:
    """Return a report as JSON for clients that read only text."""
    data = report.model_dump(mode="json", exclude_defaults=True)
    return visible(json.dumps(data, indent=2, ensure_ascii=False))


def visible_value(value: JsonValue) -> JsonValue:
    """Return a value whose texts have their control characters escaped."""
    match value:
        case str():
            return visible(value)
        case list():
            return [visible_value(item) for item in value]
        case dict():
            return {visible(key): visible_value(item) for key, item in value.items()}
        case _:
            return value


def _where(path: tuple[str, ...]) -> str:
    return f" below {written(path)!r}" if path else ""


def _text(text: str) -> str:
    return visible(shortened_text(text, _MAX_TEXT_LENGTH))


def waiting_approval(run: str, request: Pending, workspace: Folder | None) -> WaitingApproval:
    """Return a waiting request, with the commands by which a person decides it.

    Args:
        run: Id of the run.
        request: The request.
        workspace: Folder of the files that it would change; None if it is elsewhere.
    """
    id = visible(request.id)
    asks = request.is_question and not request.approvers
    return WaitingApproval(
        id=id,
        prompt=_text(request.prompt),
        show=visible_value(extract(request.show, (), 0, _MAX_SHOW_SIZE).value),
        diff=shortened_diff(asked_change(request), workspace, show_command(run, request.id)),
        asked_because=_text(request.asked_because),
        decide=visible(decision_commands(run, request, login_name())),
        is_question=asks,
        digest=request.digest if request.is_question else "",
        form=cast("Json", visible_value(request.payload_schema)) if asks else None,
    )


def _next(*, awaits: bool, approvals: Sequence[WaitingApproval], paused: bool) -> str:
    if awaits:
        return "send the next message with `answer`"
    if any(approval.is_question for approval in approvals):
        return "ask your user, and send the answer with `answer`; then call `result`"
    if approvals:
        return (
            "a person must decide, at a terminal in the project's folder, with the commands in "
            "`approvals`; no tool decides. Then call `result`"
        )
    if paused:
        return "a person paused the run; call `result` later"
    return "call `result` to wait for the end"
