"""What the person at an MCP client decides is signed by the gateway that verified the client."""

import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from coterie.dsl.model.sections.access_document import RoleName
from coterie.failures import ExitCode
from coterie.gateway.identity.program_tokens import create_token
from coterie.signing.key_files import generate, write_key
from coterie.signing.signers import issue
from tests.e2e.gateway.conftest import said
from tests.support.cli import DESK
from tests.support.project import project, until

TEAM = """
orchestration:
  entry_team: only
  teams:
    only:
      tasks: [{name: sign, type: approval, prompt: "Pay?", show: {amount: 120}, via: mcp}]
"""


async def test_a_signed_run_takes_what_a_person_decides_at_an_mcp_client(tmp_path: Path) -> None:
    root = generate("root")
    key = issue(root, "gateway", "desk", life=timedelta(hours=1), now=datetime.now(UTC))
    with project(tmp_path / "desk", sample=DESK) as desk:
        for file in (desk.folder / "config/teams").iterdir():
            file.unlink()  # the client needs roles for all
        (desk.folder / "config/teams/pay.yml").write_text(TEAM)
        desk.configure(worker={"decisions": {"signed": "required", "root": root.public}})
        write_key(desk.folder / "desk.key", key)
        file = desk.folder / ".coterie/tokens.json"
        token = create_token(file, "desk", get_args(RoleName), ["*"], time.time(), 600)
        serve = ("serve", "--port", "0", "--no-browser", "--no-worker", "--key", "desk.key")
        gateway = desk.begin(*serve)
        until(lambda: "open " in said(desk), "the gateway")
        url = f"{re.findall(r'serving +(http://[^ ;]+);', said(desk))[0]}/mcp"
        asked: list[str] = []

        async def person(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
            asked.append(params.message)
            return types.ElicitResult(action="accept", content={"comment": "paid"})

        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http,
            Client(
                streamable_http_client(url, http_client=http), elicitation_callback=person
            ) as client,
        ):
            done: dict[str, Any] = (await client.call_tool("pay", {})).structured_content or {}
        assert (done["state"], len(asked)) == ("done", 1), done
        verified = desk.coterie("verify", done["run"], "--root", root.public)
        assert verified.returncode == ExitCode.DONE, verified.stderr
        assert "approved only/sign#1: token desk by token at" in verified.stdout
        gateway.kill()
        gateway.wait()
