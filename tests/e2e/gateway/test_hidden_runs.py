"""A run that an identity may not see answers word for word as one that does not exist."""

import re
from typing import Any

import pytest
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    SubscribeToTaskRequest,
)
from a2a.utils.errors import TaskNotFoundError

from coterie.gateway.identity.identity import Role
from coterie.gateway.operations.operations_table import OPERATIONS
from tests.e2e.gateway.conftest import said
from tests.e2e.gateway.test_a2a_door import token
from tests.e2e.gateway.test_operations import mcp_client, said_by, sent
from tests.support.gateway import begun, client_of, described, person
from tests.support.programs.a2a_client import a2a_client, events
from tests.support.programs.a2a_client import sent as a2a_message
from tests.support.project import Project

NONE = "there-is-none"


@pytest.fixture
async def hidden(app: object) -> str:
    """A run of the team `chore`."""
    run = await begun(app, "chore")
    await described(app, run, "completed")
    return run


async def test_each_operation_about_a_run_says_the_same(app: object, hidden: str) -> None:
    async with client_of(app, person("eve", *Role, teams="another")) as http:

        async def answer(method: str, path: str, parts: dict[str, Any]) -> tuple[int, str]:
            response = await http.request(method, path, **parts)
            return response.status_code, response.text

        def asked(run: str) -> dict[str, tuple[str, str, dict[str, Any]]]:
            cases = {
                operation.name: (operation.method, *sent(operation, run))
                for operation in OPERATIONS
                if operation.about == "run" or operation.name == "bulk_progress"
            }
            choice = {"run": run, "run_id": "x", "is_open": True}
            return {
                **{name: (method, f"/v1{path}", it) for name, (method, path, it) in cases.items()},
                "requests": ("GET", "/v1/requests", {"params": {"run": run}}),
                "events": ("GET", f"/v1/runs/{run}/events", {}),
                "bulk": ("POST", "/v1/bulk", {"json": {"action": "cancel", "runs": [choice]}}),
                "console": ("GET", f"/runs/{run}", {}),
                "AG-UI": (
                    *("POST", "/agui/another"),
                    {
                        "json": {
                            "threadId": "t",
                            "runId": "r",
                            "state": {},
                            "messages": [],
                            "tools": [],
                            "context": [],
                            "forwardedProps": {},
                            "resume": [
                                {"interruptId": f"{run}:a%2Fb%231:d", "status": "cancelled"}
                            ],
                        }
                    },
                ),
            }

        unknown = asked(NONE)
        for name, request in asked(hidden).items():
            status, text = await answer(*request)
            about_none = await answer(*unknown[name])
            assert (status, text.replace(hidden, NONE)) == about_none, name
            assert status in (404, 422) or name == "bulk", (name, status, text)
            assert NONE in about_none[1] or name == "AG-UI", name


async def test_each_tool_of_mcp_about_a_run_says_the_same(served: Project, hidden: str) -> None:
    async with mcp_client(served, "eve", "viewer", "operator", teams="another") as client:
        for tool in ("result", "status", "why", "show", "cost", "pending"):
            more = {"name": "x"} if tool == "show" else {}
            answers = [
                said_by(await client.call_tool(tool, {"run": run, **more}))
                for run in (hidden, NONE)
            ]
            assert answers[0].replace(hidden, NONE) == answers[1], tool
            assert NONE in answers[1], tool


async def test_each_method_of_a2a_about_a_task_says_the_same(served: Project, hidden: str) -> None:
    (url,) = set(re.findall(r"serving +(http://[^ ;]+);", said(served)))
    secret = token(served, "eve-a2a", teams="talk")
    async with a2a_client(url, "talk", secret) as client:

        async def refusal(method: str, task: str) -> str:
            with pytest.raises(TaskNotFoundError) as error:  # noqa: PT012
                match method:
                    case "get":
                        await client.get_task(GetTaskRequest(id=task))
                    case "cancel":
                        await client.cancel_task(CancelTaskRequest(id=task))
                    case "subscribe":
                        async for _ in client.subscribe(SubscribeToTaskRequest(id=task)):
                            pass
                    case "push":
                        about = ListTaskPushNotificationConfigsRequest(task_id=task)
                        await client.list_task_push_notification_configs(about)
                    case _:
                        await events(client, a2a_message("approve", task=task))
            return str(error.value)

        for method in ("get", "cancel", "subscribe", "push", "message"):
            told = await refusal(method, hidden)
            assert told.replace(hidden, NONE) == await refusal(method, NONE), method
            assert hidden in told, method
