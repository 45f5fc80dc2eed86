"""What a watcher reports of a run with a task graph, an agent with tools, and a request."""

from datetime import UTC, datetime

from coterie.activities.contracts import LiveTail, TokenUsage
from coterie.activities.contracts.call_suffixes import step_of_id
from coterie.runs.live_texts import LiveAnswer
from coterie.runs.run_view import RunNews, RunView
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.views import RunStatus, TrailEntry

AT = "2026-01-02T03:04:05.000+00:00"
BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NOW = datetime(2026, 1, 2, 3, 4, 17, tzinfo=UTC)
CALL = "agent/work/0/act/shell@1.1"
ASKED = f"{CALL}#1"


def entries(*given: dict[str, object]) -> list[TrailEntry]:
    common = {"at": AT, "team": "agent", "visit": 1, "kind": "step"}
    return [
        TrailEntry.model_validate({"number": number, **common, **one})
        for number, one in enumerate(given, 1)
    ]


def status_of(**fields: object) -> RunStatus:
    given: dict[str, object] = {
        "plan": "agent_loop",
        "digest": "d",
        "state": "running",
        "team": "agent",
        "visit": 1,
        "teams_run": 1,
        "max_total_teams": 30,
        "visits": {"agent": 1},
        "model_calls": 2,
        "function_calls": 1,
        "usage": TokenUsage(input_tokens=500, output_tokens=267),
        "cost": 0.25,
        "events": 4,
        **fields,
    }
    return RunStatus.model_validate(given)


def asked(show: object = "make test", **fields: object) -> Pending:
    given: dict[str, object] = {"id": ASKED, "prompt": "May it be called?", "since": AT}
    return Pending.model_validate({**given, "show": show, "digest": "d1", **fields})


def writes(text: str, call: str = "7.agent/plan") -> LiveAnswer:
    return LiveAnswer(call, step_of_id(call, {}), LiveTail(text=text))


def started(task: str) -> dict[str, object]:
    return {"code": "task_next", "task": task}


TRAIL = entries(
    {"kind": "team"},
    {"step": "plan", "status": "success", "seconds": 0.9, "tokens": 496},
    {"step": "work/0", "status": "started", "cause": started("read"), "because": "it is next"},
    {
        "step": "work/0/act",
        "status": "turn",
        "because": "turn 1 calls shell",
        "cause": {"code": "turn_called", "number": 1, "calls": ["shell"]},
    },
)
DOING = [
    {"step": "agent/work", "since": AT},
    {"step": "agent/work/0/act", "since": AT, "turn": 1},
    {"step": CALL, "since": AT},
]
GRAPH = {
    "step": "agent/work",
    "counts": {"in_progress": 1, "pending": 1},
    "tasks": [
        {"id": "read", "status": "in_progress", "because": "it is next"},
        {"id": "mend", "status": "pending", "because": "it waits for 'read'"},
    ],
}


def working(*pending: Pending, **fields: object) -> RunView:
    """A run in the middle of the first of two tasks."""
    seen = RunView("r1", BEGAN)
    news = status_of(**{"doing": DOING, "graphs": [GRAPH], **fields})
    seen.take(RunNews(news, TRAIL, pending))
    return seen
