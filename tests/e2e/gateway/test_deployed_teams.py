"""Deployed versions at the gateway: who starts which, and who sees them listed."""

import asyncio
import json

from coterie.failures import ExitCode
from coterie.gateway.identity.identity import Role
from tests.support.gateway import client_of, described, person
from tests.support.project import Project

TEAM = """
orchestration:
  entry_team: only
  context: {{ weight: {{ type: number }} }}
  output: {{ price: "{{{{ context.weight * {factor} }}}}" }}
  teams: {{ only: {{ tasks: [{{ name: mark, type: set, values: {{ a: 1 }} }}] }} }}
triggers:
  night: {{ schedule: {{ cron: "0 4 * * *", context: {{ weight: 1 }} }} }}
"""


async def deploy(served: Project, factor: int) -> None:
    (served.folder / "freight.yml").write_text(TEAM.format(factor=factor))
    done = await asyncio.to_thread(served.coterie, "deploy", "freight.yml")
    assert done.returncode == ExitCode.DONE, done.stderr


async def output(served: Project, run: str) -> object:
    done = await asyncio.to_thread(served.coterie, "result", run, "--json")
    return json.loads(done.stdout)["output"]


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
    for teams in ("other", "*@1", "freight@*"):
        async with client_of(app, person("ben", Role.STARTER, teams=teams)) as http:
            refused = await http.post("/v1/runs", json={"team": "freight@1", "context": {}})
            assert refused.status_code == 403, refused.text
            assert (await http.get("/v1/versions")).json() == {"teams": []}
    done = await asyncio.to_thread(served.coterie, "deploy", "--remove", "freight")
    assert done.returncode == ExitCode.DONE, done.stderr
