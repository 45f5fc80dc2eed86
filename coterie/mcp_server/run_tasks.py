"""Runs as tasks of clients that poll: the id of a task is that of its run. Knows no protocol.

So a task outlives its client and this process, and any later client finds it.
"""

from pathlib import Path
from typing import Literal

from temporalio.client import WorkflowExecutionStatus

from coterie.dsl.values import Frozen
from coterie.mcp_server.client_questions import ClientQuestion, FormReply, McpClient, questions_for
from coterie.mcp_server.run_reports import RunReport
from coterie.mcp_server.team_tools import TeamTools

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
    record, run = await tools.host.find(id)
    report = await tools.report(record, run)
    if report.state == "failed":
        described = await run.describe()
        cancelled = described.status == WorkflowExecutionStatus.CANCELED
        return RunTask(report=report, status="cancelled" if cancelled else "completed")
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
    _, run = await tools.host.find(id)
    await tools.decide(run, replies, client)


async def cancel_task(tools: TeamTools, id: str, client: McpClient) -> None:
    """Cancel the run of a task; raises like `task_of`."""
    _, run = await tools.host.find(id)
    described = await run.describe()
    if described.status == WorkflowExecutionStatus.RUNNING:
        await run.cancel(f"cancelled by {client.by}")
