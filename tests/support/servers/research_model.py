"""The model of the `research` run as a server: it thinks, calls tools of each kind, and answers."""

from coterie.dsl.values import Json, JsonValue
from tests.support.servers.model_server import ModelServer

_RESEARCHER = "You are a researcher"
_CHECKER = "You check a draft"
_USAGE: Json = {"prompt_tokens": 9, "completion_tokens": 20, "total_tokens": 29}
ANSWER: Json = {
    "answer": "80.33, and an activity that blocks runs in a thread.",
    "sources": [{"file": "README.md", "line": 16, "supports": "the discount"}],
    "open": [],
}
_TURNS: list[list[tuple[str, Json]]] = [
    [
        ("passages", {"query": "How do I run blocking code in an activity?", "top_k": 2}),
        ("search", {"pattern": "discount", "ignore_case": True, "include": ["*.md"]}),
    ],
    [
        ("read", {"path": "README.md"}),
        ("calculate", {"expression": "60 * 1.25 * 0.9"}),
        ("calculate", {"expression": "1 / 0"}),
    ],
    [("fact_checker", {"query": "60 pens cost 67.50 before tax."})],
]


def play(server: ModelServer) -> None:
    """Let the server think and call tools in three turns, and answer in the fourth."""
    server.answer("The lines support it.", system=_CHECKER, usage=_USAGE)
    after: str | None = None
    for turn, calls in enumerate(_TURNS, 1):
        made: list[JsonValue] = [
            {"id": f"call_{turn}_{number}", "name": name, "arguments": arguments}
            for number, (name, arguments) in enumerate(calls, 1)
        ]
        server.add(
            {
                "match": _match(after),
                "response": {
                    "content": f"Step {turn}.",
                    "toolCalls": made,
                    "reasoning": f"Thought {turn}.",
                    "reasoningSignature": f"signature {turn}",
                    "usage": _USAGE,
                },
            }
        )
        after = f"call_{turn}_{len(calls)}"
    server.add({"match": _match(after), "response": {"content": ANSWER, "usage": _USAGE}})


def _match(after: str | None) -> Json:
    """The first turn, or the one after the result of this call."""
    if after is None:
        return {"systemMessage": _RESEARCHER, "hasToolResult": False}
    return {"toolCallId": after}
