"""One person, or one program, counts once in a quorum: by page, API and MCP, with any token."""

import json
from html import unescape
from pathlib import Path

from temporalio.testing import WorkflowEnvironment

from coterie.dsl.model.sections.access_document import RoleName
from coterie.failures import CommandError
from coterie.gateway.app import application
from coterie.gateway.console.console_routes import console_routes
from coterie.gateway.doors.mcp_door import caller_of
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.identity.program_tokens import TokenRecord
from coterie.gateway.operations.run_access import RunAccess
from coterie.mcp_server.client_questions import FormReply, McpClient, decisions_of, question_key
from coterie.runs.run_client import Run
from coterie.server.connection import Connection
from coterie.settings import load
from coterie.workflows.core.messages import TeamInput
from tests.support.engine import plan_of
from tests.support.gateway import by_header, client_of, person
from tests.support.runs import asked
from tests.workflow.approvals.signed_fleet import SignedFleet

QUORUM = """
orchestration:
  entry_team: only
  teams:
    only:
      tasks:
        - {name: sign, type: approval, prompt: "Pay?", show: "120 EUR", quorum: 2, via: mcp,
           approvers: [ann@example.com, token desk, ben@example.com]}
"""
ID = "only/sign#1"
CLIENT: tuple[RoleName, ...] = ("approver", "starter", "viewer", "operator")


class Doors:
    """The ways by which somebody approves the request of a run; each returns the refusal."""

    def __init__(self, env: WorkflowEnvironment, folder: Path) -> None:
        access = RunAccess(load({}, folder), Connection(env.client, "test", None))
        self._client = env.client
        self._app = application(access, by_header, console_routes(access))

    async def by_api(self, run: str, digest: str, identity: Identity) -> str:
        body = {"request": ID, "decision": "approve", "digest": digest}
        async with client_of(self._app, identity) as http:
            answer = await http.post(f"/v1/runs/{run}/decisions", json=body)
        return "" if answer.status_code == 200 else answer.json()["message"]

    async def by_page(self, run: str, digest: str, identity: Identity) -> str:
        pick = json.dumps({"run": run, "request": ID, "digest": digest})
        async with client_of(self._app, identity) as http:
            answer = await http.post("/decide", data={"pick": pick, "decision": "approve"})
        return "" if answer.status_code == 303 else unescape(answer.text)

    async def by_mcp(self, run: str, _: str, identity: Identity) -> str:
        caller = caller_of(identity, ["only"])
        client = McpClient(name=caller.name, approver=caller.approver, answers=True)
        pending = await Run(self._client, run).pending()
        replies = {question_key(one): FormReply(action="accept", content={}) for one in pending}
        decisions = decisions_of(pending, replies, client)
        try:
            for decision in decisions:
                await Run(self._client, run).decide(decision)
        except CommandError as refused:
            return str(refused)
        return "" if decisions else "may not decide"


def token(name: str) -> Identity:
    """Whom a token of `coterie tokens` stands for."""
    record = TokenRecord(name=name, digest="0" * 64, roles=CLIENT, created=0, expires=1)
    return record.identity.model_copy(update={"expires": None})


async def test_a_person_and_a_program_count_once_by_every_door(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    fleet, doors = SignedFleet(env, tmp_path, root=None), Doors(env, tmp_path)
    ways = (doors.by_api, doors.by_page, doors.by_mcp)
    desk, ann = token("desk"), person("ann@example.com", Role.APPROVER)
    async with fleet.worker():
        for way in ways:
            handle = await fleet.start(TeamInput(plan=plan_of(QUORUM)))
            digest = (await asked(handle))["digest"]
            for other in (token("ann"), token("ann.example.com")):
                for attempt in ways:
                    assert "may not decide" in await attempt(handle.id, digest, other)
            assert await way(handle.id, digest, desk) == ""
            for again in ways:
                refusal = await again(handle.id, digest, desk)
                assert "token desk has already approved" in refusal
            assert await doors.by_page(handle.id, digest, ann) == ""
            (decision,) = (await handle.result())["decisions"]
            assert decision["by"] == "token desk, ann@example.com"
