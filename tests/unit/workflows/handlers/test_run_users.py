"""Whose run it is, and whose memory its calls use: settled as it starts, chosen by no model."""

import json

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse, FunctionRequest
from coterie.dsl.errors import InvalidPlan, RunRefused
from coterie.dsl.model.memory_terms import MemoryOwner
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.handlers.run_users import starter_of, user_of_run
from tests.support.compiling import plan_of, problems_of
from tests.support.simulation.egress_runs import ran
from tests.support.tool_agents import answer, calls


def header(**fields: JsonValue) -> bytes:
    sender = {"subject": "ann@example.com", "method": "oidc", "door": "api", **fields}
    return json.dumps(sender).encode()


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (None, None),
        (header(), "ann@example.com"),
        (header(name="Ann"), "Ann"),
        (header(method="token", door="openai"), "ann@example.com"),
        (header(method="client"), "ann@example.com"),
        (header(method="slack", door="slack"), "ann@example.com"),
        (header(method="login", door="host"), "login:ann@example.com"),
        (header(method="local", subject="local user ann", door="console"), "login:ann"),
        (header(method="login", door="schedule"), None),
        (header(method="github", door="webhook"), None),
        (header(method="hmac", door="webhook"), None),
        (header(method="magic"), None),
        (b"nonsense", None),
    ],
)
def test_the_starter_is_whom_the_gateway_verified(sent: bytes | None, expected: str | None) -> None:
    assert starter_of(sent) == expected


@pytest.mark.parametrize(
    ("source", "context", "expected"),
    [
        (None, {"a": "ann"}, None),
        ("starter", {"starter": "ben"}, "eve"),
        ("{{ context.a }}", {"a": "ann"}, "ann"),
        ("{{ context.a.b }}", {"a": {"b": 7}}, "7"),
        ("{{ context.a[0] }}", {"a": ["ann"]}, "ann"),
    ],
)
def test_the_user_is_the_starter_or_stands_in_the_context(
    source: str | None, context: Json, expected: str | None
) -> None:
    assert user_of_run(source, context, "eve") == expected


def test_a_run_that_nobody_verified_has_no_user() -> None:
    assert user_of_run("starter", {}, None) is None


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ({}, "context.a names the user of the run, and is missing"),
        ({"a": None}, "is not a text or a whole number"),
        ({"a": True}, "is not a text or a whole number"),
        ({"a": 1.5}, "is not a text or a whole number"),
        ({"a": ["ann"]}, "is not a text or a whole number"),
        ({"a": " "}, "is not a text or a whole number"),
        ({"a": "x" * 201}, "at most 200 characters"),
        ({"a": "an\nn"}, "no control characters"),
        ({"a": "an\u202en"}, "no control characters"),
        ({"a": "an\ud800n"}, "no control characters"),
    ],
)
def test_a_run_without_its_user_is_refused(context: Json, words: str) -> None:
    with pytest.raises(RunRefused, match=words):
        user_of_run("{{ context.a }}", context, "eve")


@pytest.mark.parametrize("source", ["ann", "{{ settings.a }}", "{{ context.a | upper }}", "{{ x"])
def test_a_plan_that_says_something_else_is_refused(source: str) -> None:
    with pytest.raises(InvalidPlan, match="neither `starter` nor a path of the context"):
        user_of_run(source, {"a": "ann"}, "eve")


DOCUMENT = """
name: support
llm_config:
  default_provider: scripted
  default_model: m
  personas:
    clerk: { prompts: { user: Work. }, tools: [recall, remember, ours, all] }
tools:
  remember: { skill: Memory.store, memory: { scope: user, expires: 30d } }
  recall: { skill: Memory.search, memory: { scope: user } }
  ours: { skill: Memory.search, memory: { scope: team } }
  all: { skill: Memory.search }
orchestration:
  user: "{{ context.customer }}"
  context: { customer: { type: string } }
  entry_team: work
  teams:
    work:
      tasks:
        - { name: change, type: set, values: { x: 1 }, context_updates: { customer: ben } }
        - { name: act, persona_key: clerk }
"""


async def requests_of(*asked: tuple[str, Json]) -> list[FunctionRequest]:
    """The calls that a run makes whose model asks for these."""
    made: list[FunctionRequest] = []

    def model(_: AgentRequest, turn: int) -> AgentResponse:
        return calls(*asked) if turn == 1 else answer("done")

    def function(request: FunctionRequest) -> JsonValue:
        made.append(request)
        return {"memories": []} if request.skill == "Memory.search" else STORED

    one = await ran(plan_of(DOCUMENT), model, function=function, context={"customer": "ann"})
    assert one.result.end == "completed"
    return made


STORED: Json = {"id": "x", "topic": "general", "replaced": False, "forgotten": 0}


async def test_calls_use_the_memory_that_the_document_chose() -> None:
    query: Json = {"query": "tea"}
    made = await requests_of(
        ("remember", {"text": "tea"}), ("recall", query), ("ours", query), ("all", query)
    )
    assert {one.skill: one.memory for one in made[:1]} == {
        "Memory.store": MemoryOwner(scope="user", name="ann", expires=30 * 86_400)
    }
    assert [one.memory for one in made[1:]] == [
        MemoryOwner(scope="user", name="ann"),
        MemoryOwner(scope="team", name="support"),
        None,
    ]


async def test_a_model_cannot_choose_a_memory() -> None:
    choices: list[Json] = [{"scope": "project"}, {"user": "ben"}, {"memory": {"scope": "team"}}]
    for more in choices:
        assert await requests_of(("recall", {"query": "tea", **more})) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('user: "{{ context.customer }}"', "user: customer", "does not say who the user"),
        ('user: "{{ context.customer }}"', 'user: "{{ context.absent }}"', "absent"),
        ('user: "{{ context.customer }}"', "max_total_teams: 3", "does not say who that is"),
        ("scope: team", "scope: everybody", "everybody"),
        ("expires: 30d", "expires: 0s", "expires"),
        ("memory: { scope: team }", "memory: { scope: team, expires: 1d }", "stores nothing"),
        ("skill: Memory.search, memory: { scope: team }", "skill: Git.log, memory: {}", "has none"),
    ],
)
def test_a_document_whose_memories_cannot_work_is_refused(old: str, new: str, words: str) -> None:
    assert old in DOCUMENT
    found = problems_of(DOCUMENT.replace(old, new, 1))
    assert any(words in problem.message for problem in found), found
    assert all(problem.code.startswith("E") for problem in found[:1]), found


def test_the_path_of_the_user_counts_as_read() -> None:
    assert problems_of(DOCUMENT) == ()
