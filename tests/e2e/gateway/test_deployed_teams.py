"""Deployed versions at the gateway: who starts which, and who sees them listed."""

import asyncio
import json
import re
import time
from collections import Counter
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from coterie.deployed.registry import Registry
from coterie.failures import ExitCode
from coterie.gateway.app import application
from coterie.gateway.doors.a2a.a2a_door import A2aDoor
from coterie.gateway.doors.a2a.agent_cards import offered_team
from coterie.gateway.doors.agui.agui_door import agui_routes
from coterie.gateway.doors.openai.exposed_teams import exposed_teams
from coterie.gateway.doors.openai.openai_door import OpenAiDoor
from coterie.gateway.doors.webhooks.webhook_door import WebhookDoor
from coterie.gateway.identity.identity import Role
from coterie.gateway.identity.program_tokens import create_token
from coterie.gateway.operations.run_access import RunAccess
from coterie.server.connection import open_connection
from coterie.settings import load
from coterie.workflows.core.registry_messages import RegistryState
from tests.e2e.gateway.conftest import said
from tests.support.gateway import ALL, by_header, client_of, described, person
from tests.support.project import Project
from tests.support.webhook_senders import SECRET, github, payload

TEAM = """
orchestration:
  entry_team: only
  context: {{ weight: {{ type: number }} }}
  output: {{ price: "{{{{ context.weight * {factor} }}}}" }}
  teams: {{ only: {{ tasks: [{{ name: mark, type: set, values: {{ a: 1 }} }}] }} }}
triggers:
  night: {{ schedule: {{ cron: "0 4 * * *", context: {{ weight: 1 }} }} }}
"""


BEARER = {"authorization": "Bearer x"}
"""Of a program; `by_header` says who it is."""


async def deploy(served: Project, factor: int, team: str = "freight") -> None:
    (served.folder / f"{team}.yml").write_text(TEAM.format(factor=factor))
    done = await asyncio.to_thread(served.coterie, "deploy", f"{team}.yml")
    assert done.returncode == ExitCode.DONE, done.stderr


async def remove(served: Project, team: str) -> None:
    done = await asyncio.to_thread(served.coterie, "deploy", "--remove", team)
    assert done.returncode == ExitCode.DONE, done.stderr


async def output(served: Project, run: str) -> object:
    done = await asyncio.to_thread(served.coterie, "result", run, "--json")
    return json.loads(done.stdout)["output"]


async def lists_what_is_only_deployed(http: httpx2.AsyncClient) -> None:
    (own,) = [one for one in (await http.get("/v1/teams")).json()["teams"] if one["is_own"]]
    assert own == {"team": "freight", "file": "", "is_own": True, "version": "freight@2"}
    described = (await http.get("/v1/teams/freight")).json()
    assert (described["file"], described["version"]) == ("", "freight@2")
    assert described["context_schema"]["required"] == ["weight"]


async def test_models_and_cards_name_teams_that_are_only_deployed(served: Project) -> None:
    await deploy(served, 2, "barge")
    (served.folder / "barge.yml").unlink()
    settings = load(served.environment, served.folder)
    access = RunAccess(settings, await open_connection(settings))
    counted = Counter[str]()
    state = Registry.state

    async def counting(registry: Registry) -> RegistryState:
        counted["reads"] += 1
        return await state(registry)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Registry, "state", counting)
        both = await asyncio.gather(*(exposed_teams(access, ALL) for _ in range(20)))
        assert counted["reads"] == 1, "requests of one moment share one look"
    assert all("barge" in [team.name for team in one] for one in both)
    assert "barge" not in [team.name for team in await exposed_teams(access, person("ann"))]
    app = application(access, by_header, A2aDoor(access).routes)
    async with client_of(app, ALL) as http:
        agents = (await http.get("/a2a", headers=BEARER)).json()["agents"]
        assert "barge" in [agent["name"] for agent in agents]
    async with client_of(app, person("ben", Role.STARTER, teams="other")) as http:
        assert "barge" not in (await http.get("/a2a", headers=BEARER)).text
    await remove(served, "barge")


async def test_the_tool_of_a_deployed_team_starts_what_is_deployed_now(served: Project) -> None:
    await deploy(served, 2, "sledge")
    tokens = served.folder / ".coterie/tokens.json"
    secret = create_token(tokens, "tool", ["viewer", "starter"], ["sledge"], time.time(), 600)
    (address,) = re.findall(r"serving +(http://[^;]+);", said(served))
    headers = {"Authorization": f"Bearer {secret}"}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
    ):
        for factor in (2, 5):
            if factor == 5:
                await deploy(served, factor, "sledge")
            assert "sledge" in [tool.name for tool in (await client.list_tools()).tools]
            await until_called(client, "sledge", {"price": 3 * factor})
        (served.folder / "sledge.yml").unlink()  # which the name would start next
        await remove(served, "sledge")
        await until_called(client, "sledge", None)


async def until_called(client: Client, tool: str, result: object) -> None:
    """Call a tool until its runs have this result; None: until there is no such tool.

    The gateway looks at the registry once a second.
    """
    async with asyncio.timeout(60):
        while True:
            answer = await client.call_tool(tool, {"weight": 3})
            done: dict[str, Any] = answer.structured_content or {}
            if answer.is_error if result is None else done.get("result") == result:
                return


async def test_the_gateway_starts_and_lists_what_is_deployed_by_role(
    served: Project, app: object
) -> None:
    await deploy(served, 2)
    await deploy(served, 5)
    starter = person("ann", Role.STARTER, teams="freight")
    async with client_of(app, starter) as http:
        for team, price in (("freight", 15), ("freight@1", 6)):
            begun = await http.post("/v1/runs", json={"team": team, "context": {"weight": 3}})
            assert begun.status_code == 200, begun.text
            assert begun.json()["team"] == "freight"
            seen = await described(app, begun.json()["run"], "completed")
            assert seen["team"] == "freight", "whose roles count for it from now on"
            assert await output(served, begun.json()["run"]) == {"price": price}
            status = await asyncio.to_thread(served.coterie, "status", begun.json()["run"])
            assert f"freight@{1 if price == 6 else 2}" in status.stdout
        lacking = await http.post("/v1/runs", json={"team": "freight@1"})
        assert lacking.status_code == 422
        assert "weight is missing" in lacking.json()["message"]
        unknown = await http.post("/v1/runs", json={"team": "freight@9", "context": {}})
        assert unknown.status_code in (404, 422), unknown.text
        assert "the registry keeps freight@1, freight@2" in unknown.json()["message"]
        listed = (await http.get("/v1/versions")).json()["teams"]
        (freight,) = [team for team in listed if team["team"] == "freight"]
        assert [one["version"] for one in freight["versions"]] == ["freight@2", "freight@1"]
        assert [one["is_current"] for one in freight["versions"]] == [True, False]
        (schedule,) = freight["schedules"]
        assert schedule["times"] == "0 4 * * * in UTC"
        assert len(schedule["next"]) == 10
        await lists_what_is_only_deployed(http)
    for teams in ("other", "*@1", "freight@*"):
        async with client_of(app, person("ben", Role.STARTER, teams=teams)) as http:
            refused = await http.post("/v1/runs", json={"team": "freight@1", "context": {}})
            assert refused.status_code == 403, refused.text
            assert (await http.get("/v1/versions")).json() == {"teams": []}
            assert "freight" not in (await http.get("/v1/teams")).text
            assert (await http.get("/v1/teams/freight")).status_code in (403, 404)
    done = await asyncio.to_thread(served.coterie, "deploy", "--remove", "freight")
    assert done.returncode == ExitCode.DONE, done.stderr


HELD = """
orchestration:
  entry_team: only
  context: {{ {field}: {{ type: string }} }}
  teams:
    only:
      tasks:
        - {{ name: mark, type: set, values: {{ a: "{{{{ context.{field} }}}}" }} }}
triggers:
  come:
    webhook:
      verify: github
      secret_env: HELD_SECRET
      event_id: "{{{{ payload.id }}}}"
      context: {{ {field}: "{{{{ payload.text }}}}" }}
"""


@pytest.mark.parametrize("later", [HELD.format(field="other"), None], ids=["edited", "removed"])
async def test_every_door_starts_the_deployed_version_whatever_the_file_says_now(
    served: Project, later: str | None
) -> None:
    file = served.folder / "held.yml"
    file.write_text(HELD.format(field="message"))
    done = await asyncio.to_thread(served.coterie, "deploy", "held.yml")
    assert done.returncode == ExitCode.DONE, done.stderr
    file.unlink()
    own = served.folder / "config/teams/held.yml"
    if later is not None:
        own.write_text(later)
    settings = load({**served.environment, "HELD_SECRET": SECRET}, served.folder)
    access = RunAccess(settings, await open_connection(settings))
    routes = [*WebhookDoor(access).routes(), *agui_routes(access)]
    routes += OpenAiDoor(access, "http://test").routes()
    app = application(access, by_header, routes)
    mark = uuid4().hex[:8]
    try:
        async with client_of(app, ALL) as http:
            event = payload(id=mark, text="hello")
            delivered = await http.post("/hooks/held/come", content=event, headers=github(event))
            assert delivered.json() == {"outcome": "started", "run": f"hook/held/come/{mark}"}
            said = {"role": "user", "content": "hello"}
            completed = await http.post(
                "/v1/chat/completions", json={"model": "held", "messages": [said]}
            )
            assert completed.status_code == 200, completed.text
            asked: dict[str, object] = {
                "threadId": "t",
                "runId": f"held-{mark}",
                "state": {},
                "forwardedProps": {},
                "tools": [],
                "context": [],
                "messages": [{"id": "m", **said}],
            }
            spoken = await http.post("/agui/held", json=asked)
            assert spoken.status_code == 200, spoken.text
        offered = await offered_team(access, "held", ALL)
        assert offered.inputs["required"] == ["message"]
        for run in (quote(f"hook/held/come/{mark}", safe=""), f"held-{mark}"):
            await described(app, run, "completed")
    finally:
        own.unlink(missing_ok=True)
        done = await asyncio.to_thread(served.coterie, "deploy", "--remove", "held")
        assert done.returncode == ExitCode.DONE, done.stderr
