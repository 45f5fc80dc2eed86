"""Half of a surrogate pair, which JSON cannot carry, is refused by a sentence at every way in."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client

from coterie import InvalidTeam, Team, TeamRunError
from coterie.agents import AgentContext
from coterie.agents.agent_runs import AgentRun
from coterie.dsl.values import JsonValue
from coterie.failures import CommandError
from coterie.runs.run_client import Run
from coterie.runs.sessions import send_message
from coterie.workflows.core.messages import AmendInput, DecideInput, SessionInput, SkipInput
from tests.support.programs.python_agents import PlainAgent, plain_of

BAD = "a\ud800b"
TEAM = """
orchestration:
  entry_team: a
  teams: {a: {tasks: [{name: s, type: set, values: {x: 1}}]}}
"""
VALUES: Mapping[str, JsonValue] = {"text": BAD, "below": {"list": [1, BAD]}, "key": {BAD: 1}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "team.yml"
    made.write_text(TEAM)
    return made


@pytest.mark.parametrize("kind", VALUES)
async def test_the_context_of_a_team_is_refused(kind: str, file: Path) -> None:
    with pytest.raises(InvalidTeam, match=r"in the context, .* half of a surrogate pair"):
        await Team.load(file).run({"given": VALUES[kind]})
    with pytest.raises(InvalidTeam, match="is not JSON: given"):
        await Team.load(file).run({"given": {1, 2}})


@pytest.mark.parametrize("id", [BAD, "", "a\nb", "x" * 2000])
async def test_the_id_of_a_run_is_refused_before_anything_starts(id: str, file: Path) -> None:
    with pytest.raises(TeamRunError, match="a run cannot have the id"):
        await Team.load(file).run({}, id=id)
    assert not (file.parent / ".coterie").exists()


@pytest.mark.parametrize("name", ["target", "model", "workspace", "override", "address"])
def test_every_argument_of_load_is_refused(name: str, file: Path) -> None:
    given: dict[str, Any] = {"target": file, name: f"/{BAD}"}
    with pytest.raises(InvalidTeam, match=r"\\ud800") as refused:
        Team.load(**given)
    assert BAD not in str(refused.value)


def agent(**more: Any) -> PlainAgent:
    return PlainAgent(agent_id="plain", tools=["Person.ask"], **more)


AGENT: Mapping[str, Callable[[AgentContext], Awaitable[object]]] = {
    "run": lambda around: agent().run(BAD, context=around),
    "begin": lambda around: agent().begin(BAD, context=around).result(),
    "start": lambda around: agent().start(BAD, context=around),
    "id of start": lambda around: agent().start("Go?", id=BAD, context=around),
    "system_message": lambda around: agent(system_message=BAD).run("Go?", context=around),
    "agent_id": lambda around: PlainAgent(agent_id=BAD).run("Go?", context=around),
    "tools": lambda around: PlainAgent(tools=[BAD]).run("Go?", context=around),
}


@pytest.mark.parametrize("way", AGENT)
async def test_every_way_into_an_agent_refuses_it(way: str, tmp_path: Path) -> None:
    around = plain_of(tmp_path, ("person_ask", {"question": "Where?"}), "Rome")
    with pytest.raises((ValueError, CommandError)) as refused:
        await AGENT[way](around)
    assert not isinstance(refused.value, UnicodeError)
    said = str(refused.value)
    assert any(words in said for words in ("half of a surrogate pair", r"\ud800")), said
    assert not (tmp_path / ".coterie").exists()


DECISIONS: Mapping[str, Callable[[AgentRun], object]] = {
    "answer": lambda run: run.answer("ann", BAD),
    "a part of an answer": lambda run: run.answer("ann", {"answer": [BAD]}),
    "who answers": lambda run: run.answer(BAD, "Rome"),
    "who rejects": lambda run: run.reject(BAD),
    "why": lambda run: run.reject("ann", BAD),
}


async def test_every_decision_about_a_run_in_the_process_is_refused(tmp_path: Path) -> None:
    around = plain_of(tmp_path, ("person_ask", {"question": "Where?"}), "Rome")
    run = agent().begin("Go?", context=around)
    await run.result()
    for decide in DECISIONS.values():
        with pytest.raises(ValueError, match=r"in the decision, .* half of a surrogate pair"):
            decide(run)
    assert (await run.answer("ann", "Rome").result()).status == "completed"


CLIENT: Mapping[str, Callable[[Run], Awaitable[object]]] = {
    "decide": lambda run: run.decide(
        DecideInput(id="a", decision="approve", by="ann", payload=BAD)
    ),
    "skip": lambda run: run.skip(SkipInput(task="a", by="ann", value={"x": BAD})),
    "amend": lambda run: run.amend(AmendInput(by="ann", updates={"x": [BAD]})),
    "signal": lambda run: run.signal("skip", SkipInput(task="a", by="ann", value={BAD: 1})),
    "message": lambda run: send_message(run, SessionInput(message=BAD), "m1"),
    "request": lambda run: run.request(BAD),
}


@pytest.mark.parametrize("way", CLIENT)
async def test_every_message_of_the_client_of_a_run_is_refused_before_it_is_sent(way: str) -> None:
    run = Run(await Client.connect("127.0.0.1:1", lazy=True), "r1")
    with pytest.raises(CommandError, match=r"sends, .* half of a surrogate pair"):
        await CLIENT[way](run)
