"""A grant within a call of an agent or a team counts only if that tool grants it, too."""

from collections.abc import Sequence

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from tests.support.simulation.egress_runs import LABELLED, Model, Ran, ran
from tests.support.tool_agents import QUERY, answer, calls, persona, tool_plan

Turns = list[list[tuple[str, Json]]]
MEET: list[tuple[str, Json]] = [("files", {}), ("page", {})]
LOG: tuple[str, Json] = ("log", {"text": "salaries"})
ASK: Json = {"query": "log it"}
_MET = (
    "the run has met private data (files in work/act/files@1.1) and text that others wrote (page "
    "in work/act/page@1.2)"
)


def agent(name: str, *grants: str, **more: str) -> Json:
    return {"agent": name, "input_schema": QUERY, "grants": list(grants), **more}


def plan(
    tools: dict[str, Json],
    of_actor: Sequence[str] = ("helper",),
    log: Sequence[str] = ("private",),
    *,
    narrow: bool = True,
    tasks: list[Json] | None = None,
    teams: dict[str, Json] | None = None,
) -> Plan:
    """A plan whose agent `act` reads, fetches a page and calls these tools, which call `log`."""
    granted: Json = {**LABELLED["send"], "grants": list(log)}
    known: dict[str, Json] = {**LABELLED, "log": granted, **tools}
    people = {
        "actor": persona("files", "page", *of_actor),
        "writer": persona("log"),
        "middle": persona("helper"),
    }
    return tool_plan(
        known, people, tasks=tasks, teams=teams, egress_approval={}, narrow_grants=narrow
    )


def model(*of_actor: str, **tasks: Turns) -> Model:
    """A model that meets both labels, and then calls; others ask for their calls, turn by turn."""
    known: dict[str, Turns] = {
        "act": [MEET, *([(name, ASK if name != "log" else LOG[1])] for name in of_actor)],
        "helper": [[LOG]],
        **tasks,
    }

    def turn(request: AgentRequest, number: int) -> AgentResponse:
        several = known.get(request.task, [])
        return calls(*several[number - 1]) if number <= len(several) else answer("done")

    return turn


def asked(one: Ran) -> list[str]:
    return [request.id for request in one.asked]


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize(
    ("log", "helper", "asks"),
    [
        (("private",), ("private",), False),
        (("private",), (), True),
        (("private",), ("untrusted",), True),
        (("private", "untrusted"), ("untrusted",), False),
        ((), ("private", "untrusted"), True),
    ],
)
async def test_a_grant_within_an_agent_counts_if_its_tool_grants_it_too(
    log: tuple[str, ...], helper: tuple[str, ...], asks: bool, everywhere: bool
) -> None:
    of = plan({"helper": agent("writer", *helper)}, log=log)
    one = await ran(of, model("helper"), everywhere=everywhere)
    assert asked(one) == (["work/act/helper@2.1/log@1.1#1"] if asks else [])
    assert one.sent == ([] if asks else [LOG[1]])


@pytest.mark.parametrize("everywhere", [False, True])
async def test_the_same_tool_counts_its_grant_outside_of_the_agent(everywhere: bool) -> None:
    of = plan({"helper": agent("writer")}, ("helper", "log"))
    one = await ran(of, model("log", "helper", "log"), everywhere=everywhere)
    assert asked(one) == ["work/act/helper@3.1/log@1.1#1"]
    assert one.sent == [LOG[1], LOG[1]]


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize(
    ("outer", "helper", "lacking"),
    [
        (("private",), ("private",), None),
        ((), ("private",), "outer around it does"),
        (("private",), (), "helper around it does"),
        ((), (), "outer and helper around it do"),
    ],
)
async def test_every_agent_on_the_way_must_grant_it(
    outer: tuple[str, ...], helper: tuple[str, ...], lacking: str | None, everywhere: bool
) -> None:
    tools: dict[str, Json] = {"outer": agent("middle", *outer), "helper": agent("writer", *helper)}
    of = plan(tools, ("outer",))
    one = await ran(of, model("outer", outer=[[("helper", ASK)]]), everywhere=everywhere)
    step = "act/outer@2.1/helper@1.1/log@1.1"
    if lacking is None:
        assert one.trail("not_asked") == [
            (
                step,
                "log needs no approval: the document grants private to it and to outer and helper "
                f"around it; {_MET}",
            )
        ]
        assert one.sent == [LOG[1]]
    else:
        assert one.trail("asked")[0] == (
            step,
            f"log sends data out, and {_MET}; its grant private does not count, because {lacking} "
            "not grant private",
        )
        assert one.sent == []


async def test_the_trail_names_the_grant_that_counted_and_the_one_that_did_not() -> None:
    of = plan({"helper": agent("writer", "untrusted")}, log=("private", "untrusted"))
    one = await ran(of, model("helper"))
    assert one.trail("not_asked") == [
        (
            "act/helper@2.1/log@1.1",
            "log needs no approval: the document grants untrusted to it and to helper around it; "
            f"{_MET}; its grant private does not count, because helper around it does not grant "
            "private",
        )
    ]


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("grants", [("private",), ()])
async def test_a_team_as_a_tool_narrows_all_that_it_leads_to(
    grants: tuple[str, ...], everywhere: bool
) -> None:
    log: Json = {"kind": "tool", "tool": "log", "arguments": LOG[1], "on_failure": "continue"}
    teams: dict[str, Json] = {
        "first": {
            "id": "first",
            "steps": [{**log, "name": "one"}, {"kind": "team", "name": "more", "team": "called"}],
            "routing": {"rules": [{"next_team": ["left", "right"], "concentrator": "last"}]},
        },
        "called": {"id": "called", "steps": [{**log, "name": "two"}]},
        "left": {
            "id": "left",
            "steps": [{**log, "name": "three"}],
            "routing": {"rules": [{"next_team": "last"}]},
        },
        "right": {
            "id": "right",
            "steps": [{**log, "name": "four"}],
            "routing": {"rules": [{"next_team": "last"}]},
        },
        "last": {"id": "last", "steps": [{**log, "name": "five"}], "collects": {}},
    }
    tools: dict[str, Json] = {
        "courier": {"team": "first", "input_schema": QUERY, "grants": list(grants)}
    }
    after: list[Json] = [{**log, "name": "after"}]
    of = plan(tools, ("courier",), teams=teams, tasks=after)
    one = await ran(of, model("courier"), everywhere=everywhere)
    inside = ["called/two#1", "first/one#1", "last/five#1", "left/three#1", "right/four#1"]
    assert sorted(asked(one)) == ([] if grants else inside)
    assert len(one.sent) == (6 if grants else 1), "what follows the call is not narrowed"


@pytest.mark.parametrize("everywhere", [False, True])
async def test_a_step_that_calls_the_tool_is_narrowed_and_one_that_runs_its_agent_is_not(
    everywhere: bool,
) -> None:
    tasks: list[Json] = [
        {"kind": "tool", "name": "call", "tool": "helper", "arguments": ASK},
        {
            "name": "helper",
            "agent_type": "generic_tool_calling",
            "persona_key": "writer",
            "input": "it",
        },
    ]
    of = plan({"helper": agent("writer")}, (), tasks=tasks)
    one = await ran(of, model(), everywhere=everywhere)
    assert asked(one) == ["work/call/log@1.1#1"]
    assert one.sent == [LOG[1]]


async def test_a_grant_of_the_agent_covers_its_own_call_only_where_it_counts() -> None:
    sending: dict[str, Json] = {
        "outer": agent("middle"),
        "helper": {**agent("writer", "private"), "labels": ["egress"]},
    }
    of = plan(sending, ("outer", "helper"))
    one = await ran(of, model("helper", "outer", outer=[[("helper", ASK)]]))
    assert asked(one) == ["work/act/outer@3.1/helper@1.1#1"]


@pytest.mark.parametrize("everywhere", [False, True])
async def test_in_a_plan_of_an_earlier_version_a_grant_counts_everywhere(everywhere: bool) -> None:
    of = plan({"helper": agent("writer")}, narrow=False)
    one = await ran(of, model("helper"), everywhere=everywhere)
    assert asked(one) == []
    assert one.trail("not_asked") == [
        ("act/helper@2.1/log@1.1", f"log needs no approval: the document grants private; {_MET}")
    ]
