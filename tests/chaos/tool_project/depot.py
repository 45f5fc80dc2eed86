"""An MCP server on standard input and output, with a tool of each kind of effect.

It continues a call of `fire` as a task. Its files are its memory, so another process of it knows
the task.
"""

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import MCPServer

sys.path.append(str(Path(__file__).parent))  # the worker lets Python import nothing from there

import effects

TASKS = Path("fires.txt")
_WORK_SECONDS = 1.0
"""How long a task goes on after its call has returned."""


class TaskParams(types.RequestParams):
    task_id: str


class Fires(Extension):
    """Continues calls of `fire` as tasks."""

    identifier = "io.modelcontextprotocol/tasks"

    def methods(self) -> list[MethodBinding]:
        handlers = {"tasks/get": get_task, "tasks/cancel": cancel_task}
        return [MethodBinding(name, TaskParams, handler) for name, handler in handlers.items()]

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        if params.name != "fire":
            return await call_next(ctx)
        id, seconds = params.arguments["id"], params.arguments["seconds"]
        await asyncio.to_thread(effects.act, "fire", id, seconds)
        effects.append(str(TASKS), id, time.time() + _WORK_SECONDS)
        return {**described(id, "working"), "resultType": "task"}


def described(id: str, status: str) -> dict[str, Any]:
    return {
        "taskId": id,
        "status": status,
        "createdAt": "2026-11-24T00:00:00Z",
        "lastUpdatedAt": "2026-11-24T00:00:00Z",
        "ttlMs": None,
        "pollIntervalMs": 300,
    }


def end_of(id: str) -> float | None:
    """Return when a task ends, or has ended."""
    lines = TASKS.read_text().splitlines() if TASKS.exists() else []
    ends = dict(line.split() for line in lines)
    return float(ends[id]) if id in ends else None


async def get_task(context: Any, params: TaskParams) -> dict[str, Any]:
    end = end_of(params.task_id)
    if end is None:
        raise MCPError(types.INVALID_PARAMS, "there is no such task")
    if time.time() < end:
        return described(params.task_id, "working")
    content = [{"type": "text", "text": f"receipt of {params.task_id}"}]
    return {**described(params.task_id, "completed"), "result": {"content": content}}


async def cancel_task(context: Any, params: TaskParams) -> dict[str, Any]:
    return {}


server = MCPServer("depot", extensions=[Fires()])


@server.tool()
async def stock(id: str, number: int, seconds: float) -> int:
    """Counts what is in stock."""
    effects.append("journal.txt", time.time(), "stock", id)
    await asyncio.sleep(seconds)
    return number + 1000


@server.tool(structured_output=False)
async def label(id: str, seconds: float) -> str:
    """Puts a label on something; again, it is the same."""
    await asyncio.to_thread(effects.act, "label", id, seconds)
    return f"{id} has a label"


@server.tool(structured_output=False)
async def send(id: str, seconds: float) -> str:
    """Sends something, which must not happen twice."""
    await asyncio.to_thread(effects.act, "send", id, seconds)
    return f"receipt of {id}"


@server.tool(structured_output=False)
async def fire(id: str, seconds: float) -> str:
    """Fires something for a while, which must not happen twice."""
    raise NotImplementedError("its calls are tasks")


if __name__ == "__main__":
    effects.append("depots.txt", os.getpid())
    server.run()
