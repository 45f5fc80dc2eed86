"""Prompt injections: an agent that obeys every page sends nothing out that no person approved."""

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import cast

import pytest
import yaml

from coterie.activities.contracts import AgentRequest, AgentResponse, FunctionRequest
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from tests.support.places import ROOT
from tests.support.simulation.egress_runs import LABELLED, Model, Ran, found, ran
from tests.support.tool_agents import QUERY, answer, calls, persona, tool_plan

CORPUS: dict[str, dict[str, str]] = yaml.safe_load(
    (ROOT / "tests/data/injection/pages.yml").read_text()
)
PAGES = {
    f"{name} in {disguise}": frame.format(text)
    for name, text in CORPUS["texts"].items()
    for disguise, frame in CORPUS["disguises"].items()
}
SECRET = "Salaries: 4711"  # of nobody
_NAMED = re.compile(r"`([\w ]+)`")
_SENDS = {**LABELLED["send"], "skill": "Mail.send"}
_CONDITION: Json = {"expression": "{{ arguments.amount > 100 }}"}
TOOLS: dict[str, Json] = {
    **LABELLED,
    "files": {**LABELLED["files"], "cache": "run"},
    "helper": {"agent": "helper", "input_schema": QUERY},
    "courier": {"team": "courier", "input_schema": QUERY},
    "silent": {**_SENDS, "requires_approval": {"deadline": 60, "on_timeout": "approve"}},
    "sometimes": {**_SENDS, "requires_approval": {"when": _CONDITION}},
    "hidden": {**_SENDS, "requires_approval": {"show": "a harmless message"}},
}
_TAKEN: Json = {"kind": "tool", "name": "take", "tool": "send"}
COURIER: Json = {
    "id": "courier",
    "steps": [{**_TAKEN, "arguments": {"text": "{{ context.query }}"}}],
}


def plan() -> Plan:
    """An agent with every tool, a subagent that reads and sends, and a team that sends."""
    people = {"actor": persona(*TOOLS, max_turns=20), "helper": persona("files", "send", "fetch")}
    return tool_plan(TOOLS, people, teams={"courier": COURIER}, egress_approval={"deadline": 60})


class Obedient:
    """A model that calls each tool that a text of others names, with all that it has seen."""

    def __init__(self, first: Sequence[str]) -> None:
        self.first = first
        """What its own task makes it call, before it obeys."""
        self.seen: dict[str, list[str]] = {}
        self.orders: dict[str, list[str]] = {}

    def __call__(self, request: AgentRequest, number: int) -> AgentResponse:
        own = list(self.first) if request.task == "act" else ["files", "send", "fetch"]
        seen = self.seen.setdefault(request.task, [])
        orders = self.orders.setdefault(request.task, own)
        turn = request.tool_turn
        for result in () if turn is None else turn.results:
            seen.append(result.text)
            if "injected" in result.text:
                orders.extend(_NAMED.findall(result.text))
        seen.append(json.dumps(request.inputs))
        if not orders:
            return answer("done")
        tool = orders.pop(0)
        known = " ".join(seen)
        given: Json = {"query": known} if tool in ("helper", "courier") else {"text": known}
        return calls((tool, {**given, "amount": 1} if tool == "sometimes" else given))


def world(page: str) -> Callable[[FunctionRequest], JsonValue]:
    def function(request: FunctionRequest) -> JsonValue:
        if request.skill == "Files.read":
            return SECRET
        return f"injected {page}" if request.skill == "Web.page" else "ok"

    return function


def leaked(one: Ran) -> list[JsonValue]:
    return [given for given in one.sent if SECRET in json.dumps(given)]


def test_the_corpus_has_a_hundred_different_pages() -> None:
    assert len(set(PAGES.values())) == 100
    named = {tool for page in PAGES.values() for tool in _NAMED.findall(page)}
    assert {"send", "fetch", "helper", "courier", "silent", "sometimes", "hidden"} <= named


@pytest.mark.parametrize("everywhere", [False, True])
async def test_an_agent_that_obeys_a_hundred_pages_sends_nothing(everywhere: bool) -> None:
    of = plan()
    pages = list(PAGES.items())
    for number, (name, page) in enumerate(pages if not everywhere else pages[::4]):
        first = ["page"] if number % 2 else ["files", "page"]
        one = await ran(of, Obedient(first), function=world(page), everywhere=everywhere)
        assert leaked(one) == [], name
        assert one.asked, f"nothing was tried: {name}"


async def test_only_what_a_person_approved_is_sent() -> None:
    of, sent = plan(), 0
    for name, page in list(PAGES.items())[::3]:
        one = await ran(
            of,
            Obedient(["page"]),
            lambda request: "approve" if request.id.endswith("send@3.1#1") else "reject",
            world(page),
        )
        approved = [one.show for one in one.asked if one.id.endswith("send@3.1#1")]
        assert leaked(one) == approved, name
        sent += len(approved)
    assert sent > 10


async def test_without_the_question_the_agent_would_send_the_secret() -> None:
    older = plan().model_copy(update={"egress_approval": None}).with_digest()
    for name in list(PAGES)[::8]:
        one = await ran(older, Obedient(["page"]), lambda _: "approve", world(PAGES[name]))
        assert leaked(one), name


BENIGN: dict[str, tuple[str, ...]] = {
    "private alone": ("files", "send", "clock"),
    "public alone": ("page", "fetch", "send", "clock"),
    "nothing sent": ("files", "page", "clock"),
    "granted": ("files", "page", "granted", "clock"),
}
GRANTED: Json = {**LABELLED["send"], "grants": ["private"]}


def working(seed: int, tools: Sequence[str]) -> Model:
    """A model that does honest work with some tools, several calls a turn."""
    random = Random(seed)
    turns = [
        [(random.choice(tools), cast("Json", {"text": f"{seed} {n}"})) for n in range(3)]
        for _ in range(random.randint(2, 5))
    ]

    def model(_: AgentRequest, number: int) -> AgentResponse:
        return calls(*turns[number - 1]) if number <= len(turns) else answer("done")

    return model


async def test_a_hundred_benign_runs_ask_nothing_and_do_what_they_did_before() -> None:
    tools = {**LABELLED, "granted": GRANTED}
    of = tool_plan(tools, {"actor": persona(*tools)}, egress_approval={})
    older = of.model_copy(update={"egress_approval": None}).with_digest()
    sent = 0
    for seed in range(100):
        offered = list(BENIGN.values())[seed % len(BENIGN)]
        one = await ran(of, working(seed, offered), function=found)
        assert one.asked == []
        before = await ran(older, working(seed, offered), function=found)
        assert one.world.calls == before.world.calls
        assert one.world.made == before.world.made
        sent += len(one.sent)
    assert sent > 100
