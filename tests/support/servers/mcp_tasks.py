"""An MCP server of protocol 2026-07-28 for tests that continues calls as tasks, run as a script.

Its folder is its memory, so that it can be killed: `ledger` has what it was asked, `state` says
where its task stands (`working` if absent), and `forgotten` makes it forget its task.
"""

import sys
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import MCPServer

FOLDER = Path(sys.argv[1])
QUESTION = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "Which one?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}


class TaskParams(types.RequestParams):
    task_id: str
    input_responses: dict[str, Any] | None = None


def note(line: str) -> None:
    with (FOLDER / "ledger").open("a") as ledger:
        ledger.write(f"{line}\n")


def task() -> dict[str, Any]:
    number = len([line for line in (FOLDER / "ledger").read_text().splitlines() if line == "call"])
    return {
        "taskId": f"t-{number}",
        "status": "working",
        "createdAt": "2026-11-24T00:00:00Z",
        "lastUpdatedAt": "2026-11-24T00:00:00Z",
        "ttlMs": None,
        "pollIntervalMs": 100,
    }


async def get(context: Any, params: TaskParams) -> dict[str, Any]:
    note(f"get {params.task_id}")
    if (FOLDER / "forgotten").exists():
        (FOLDER / "forgotten").unlink()
        raise MCPError(types.INVALID_PARAMS, "there is no such task")
    file = FOLDER / "state"
    state = file.read_text() if file.exists() else "working"
    more: dict[str, Any] = {}
    match state:
        case "completed":
            more = {"result": {"content": [{"type": "text", "text": "built"}]}}
        case "wrong":
            state, text = "completed", [{"type": "text", "text": "it broke"}]
            more = {"result": {"content": text, "isError": True}}
        case "failed":
            more = {"error": {"code": -32603, "message": "no disk"}}
        case "input_required":
            more = {"inputRequests": {"which": QUESTION}}
        case _:
            pass
    return {**task(), "status": state, **more}


async def update(context: Any, params: TaskParams) -> dict[str, Any]:
    [(key, answer)] = (params.input_responses or {}).items()
    note(f"update {params.task_id} {key} {answer['content']['name']}")
    (FOLDER / "state").write_text("completed")
    return {}


async def cancel(context: Any, params: TaskParams) -> dict[str, Any]:
    note(f"cancel {params.task_id}")
    return {}


class Tasks(Extension):
    identifier = "io.modelcontextprotocol/tasks"

    def methods(self) -> list[MethodBinding]:
        handlers = {"tasks/get": get, "tasks/update": update, "tasks/cancel": cancel}
        return [MethodBinding(name, TaskParams, handler) for name, handler in handlers.items()]

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        note("call")
        return {**task(), "resultType": "task"}


server = MCPServer("tasks", extensions=[Tasks()])


@server.tool(structured_output=False)
def build() -> str:
    """Builds for a long time."""
    return "never here"


if __name__ == "__main__":
    server.run()
