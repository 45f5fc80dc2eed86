"""A hostile MCP server for tests, run as a script: it breaks the protocol where it can.

The first argument says how: `noise` writes garbage between its messages, `flood` lists without end,
`lies` breaks its output schema, `silent` never answers a call, `garbled` answers with nonsense,
`many` lists too many tools that cannot be offered, `errors` answers a call with the code that it is
given, or asks a question first, `endless` answers a call with a line that does not end,
`malformed` lists every tool of `malformed_tools.json` between two sound ones,
`beside` says more than its structured content,
`half` cuts a character of an answer in its middle. FLOODS write without end: `asking` asks without
reading, `unasked` answers what nobody asked, `dense` sends messages of many values.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

WAY = sys.argv[1]
OBJECT = {"type": "object", "properties": {"n": {"type": "integer"}}}
EVIL = {"type": "object", "properties": {"s": {"type": "string", "pattern": "^(a+)+$"}}}
QUESTION: dict[str, Any] = {
    "message": "Which one?",
    "requestedSchema": {"type": "object", "properties": {}},
}
TOOLS: list[dict[str, Any]] = [
    {"name": "good", "description": "\x1b[2J\u202egood", "inputSchema": OBJECT},
    {"name": "evil", "inputSchema": EVIL, "outputSchema": EVIL},
    {"name": "bad\x1bname", "inputSchema": OBJECT},
    {"name": "huge", "description": "x" * 200_000, "inputSchema": OBJECT},
    {"name": "wrong", "inputSchema": {"type": "object", "properties": {"n": {"type": "objekt"}}}},
]

FLOODS: dict[str, Callable[[int], dict[str, object]]] = {
    "asking": lambda number: {"id": f"q{number}", "method": "ping"},
    "unasked": lambda number: {"id": f"q{number}", "result": {}},
    "dense": lambda _: {"method": "notifications/message", "params": {"data": [{}] * 600_000}},
}
BROKEN: dict[str, object] = {"content": [], "structuredContent": {"s": "a" * 40 + "!"}}
BESIDE: dict[str, object] = {
    "content": [{"type": "text", "text": "The whole file."}],
    "structuredContent": {"path": "a.txt"},
}
MALFORMED = Path(__file__).parents[2] / "data" / "malformed_tools.json"


def malformed() -> list[Any]:
    items = json.loads(MALFORMED.read_text())
    first, last = TOOLS[0], {"name": "last", "inputSchema": OBJECT}
    return [first, *(one["item"] for one in items), last]


def send(message: dict[str, object]) -> None:
    if WAY == "noise":
        sys.stdout.write(
            'hello\n{"jsonrpc": "1.0"}\n[[[\n{"jsonrpc": "2.0", "id": 99, "result": {}}\n'
        )
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def result_of(method: str) -> dict[str, object] | None:
    match method:
        case "initialize":
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "hostile", "version": "1"},
            }
        case "tools/list" if WAY == "flood":
            return {"tools": TOOLS[:1], "nextCursor": "again"}
        case "tools/list" if WAY == "many":
            return {"tools": TOOLS[2:3] * 600, "nextCursor": "more"}
        case "tools/list" if WAY == "infinite":
            schema = {"type": "object", "properties": {"n": {"default": float("inf")}}}
            return {"tools": [TOOLS[0], {"name": "odd", "inputSchema": schema}]}
        case "tools/list":
            return {"tools": malformed() if WAY == "malformed" else TOOLS}
        case "tools/call" if WAY == "silent":
            return None
        case "tools/call" if WAY == "garbled":
            return {"content": [{"type": "hologram", "text": 3}]}
        case "tools/call" if WAY == "infinite":
            return {"content": [], "structuredContent": {"s": [1, float("nan")]}}
        case "tools/call":
            return BESIDE if WAY == "beside" else BROKEN
        case _:
            return {}


def fail_call(asked: dict[str, Any]) -> None:
    """Answer with an error, after a question if the call wants one."""
    code = asked["params"]["arguments"]["n"]
    if code == 0:
        send({"id": 7, "method": "elicitation/create", "params": QUESTION})
        sys.stdin.readline()
    send({"id": asked["id"], "error": {"code": code or -32603, "message": "it broke"}})


for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "tools/call" and WAY == "errors":
        fail_call(asked)
        continue
    if asked["method"] == "tools/call" and WAY == "half":
        content = [{"type": "text", "text": "\ud83d"}]
        send({"id": asked["id"], "result": {"content": content}})
        continue
    if asked["method"] == "tools/call" and WAY in FLOODS:
        for number in range(1_000_000):
            send(FLOODS[WAY](number))
    if asked["method"] == "tools/call" and WAY == "endless":
        while True:
            sys.stdout.write("x" * 1_000_000)
    if asked["method"] == "server/discover":
        send({"id": asked["id"], "error": {"code": -32601, "message": "unknown method"}})
        continue
    result = result_of(asked["method"])
    if result is not None:
        send({"id": asked["id"], "result": result})
