"""No door lets a caller give a run the id of the registry, the audit run or a bulk action."""

import asyncio
import time
from typing import Any

import httpx2
import pytest
from temporalio.service import RPCError

from coterie.gateway.identity.program_tokens import create_token
from tests.e2e.gateway.test_agui import body, posted
from tests.e2e.gateway.test_openai_door import origin
from tests.support.project import Project

IDS = (
    "coterie-registry-other",
    "coterie-audit-other",
    "coterie-bulk-retry-1",
    "hook/chore/paid/7",
    "schedule/coterie/chore/night-1",
)


async def is_free(served: Project, id: str) -> bool:
    try:
        await (await served.client()).get_workflow_handle(id).describe()
    except RPCError:
        return True
    return False


@pytest.mark.parametrize("id", IDS)
async def test_no_client_of_ag_ui_names_one(app: object, served: Project, id: str) -> None:
    for team, asked in (("chore", body(id, "t")), ("talk", body("r", id))):
        status, report = await posted(app, team, asked)
        assert (status, report["code"]) == (422, "reserved_id"), report
    assert await is_free(served, id)


async def test_no_client_of_openai_mcp_or_a2a_names_one(served: Project) -> None:
    file = served.folder / ".coterie/tokens.json"
    secret = create_token(file, "namer", ["starter", "viewer"], ["*"], time.time(), 600)
    headers = {"authorization": f"Bearer {secret}"}

    async def sent(http: httpx2.AsyncClient, path: str, asked: dict[str, Any]) -> str:
        given = {"a2a-version": "1.0", "accept": "application/json, text/event-stream"}
        return (await http.post(path, json=asked, headers=given)).text

    url = origin(served)
    async with httpx2.AsyncClient(
        base_url=url, headers=headers, trust_env=False, timeout=60
    ) as http:
        for id in IDS:
            said = {"model": "talk", "messages": [{"role": "user", "content": "hello"}]}
            named = await sent(http, "/v1/chat/completions", {**said, "metadata": {"session": id}})
            assert "heard hello" in named, named
            message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
            for key in ("taskId", "contextId"):
                call = {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "SendMessage",
                    "params": {"message": {**message, "messageId": key + id, key: id}},
                }
                await sent(http, "/a2a/talk", call)
            call = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "chore", "arguments": {"id": id}},
            }
            await sent(http, "/mcp", call)
            assert await is_free(served, id)


@pytest.mark.parametrize("id", IDS[:3])
async def test_no_command_names_one(served: Project, id: str) -> None:
    refused = await asyncio.to_thread(served.coterie, "start", "chore", "--id", id)
    assert "are reserved; use another one" in refused.stderr
    assert refused.returncode == 2
    assert await is_free(served, id)
