"""A run that calls an MCP server where nobody has signed in waits for a person, and continues."""

import time
from pathlib import Path
from typing import Any

from temporalio.testing import WorkflowEnvironment

from coterie.activities.mcp_client.server_pool import McpServers
from coterie.activities.mcp_client.server_settings import McpServer
from coterie.activities.mcp_client.sign_ins import StoredSignIn
from coterie.dsl.model.sections.mcp_document import McpServerSection
from coterie.settings import load
from coterie.worker.sign_in_files import SignInFile
from tests.support.engine import engine
from tests.support.runs import asked, scheduled
from tests.support.servers.mcp_oauth import oauth_server
from tests.support.servers.mcp_tools import listing_of
from tests.workflow.tool_loops.test_mcp_calls import plan_with, replay

TEAM = """
orchestration:
  entry_team: work
  teams: { work: { tasks: [{ name: go, type: tool, tool: t, arguments: { a: 1 } }] } }
tools: { t: { mcp: demo/add } }
"""


async def test_a_run_waits_for_a_sign_in_without_an_activity_and_then_calls_once(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with oauth_server() as oauth:
        section = McpServerSection.model_validate({"url": oauth.url, "auth": {"type": "login"}})
        store = SignInFile(load({}, tmp_path), "demo")
        sign_in = StoredSignIn(
            url=oauth.url,
            token_endpoint=f"{oauth.origin}/token",
            client_id="c",
            access_token="of-ann",
            expires=time.time() + 600,
        )
        oauth.valid.add("of-ann")
        store.write(sign_in)
        server = McpServer("demo", section, tmp_path, sign_ins=store)
        servers = McpServers({"demo": server}, dict)
        try:
            plan = plan_with(section, await listing_of(servers, "demo"), TEAM)
            store.delete()
            async with engine(env, tmp_path, [], servers=servers) as running:
                handle: Any = await running.start(plan)
                request = await asked(handle)
                assert "run `coterie mcp login demo`" in request["prompt"]
                open_calls = (await handle.describe()).raw_description.pending_activities
                assert (list(open_calls), oauth.calls) == ([], [])
                store.write(sign_in)
                answer = {"id": request["id"], "decision": "approve", "by": "ann"}
                await handle.execute_update("decide", answer)
                assert (await handle.result())["output"] == {"go": {"result": "added 1"}}
                assert len(await scheduled(handle)) == 2
                await replay(handle)
                events = (await handle.fetch_history()).events
                history = b"".join(event.SerializeToString() for event in events)
        finally:
            await servers.close()
    assert oauth.calls == ["add 1"]
    assert b"coterie mcp login" in history
    assert b"of-ann" not in history
