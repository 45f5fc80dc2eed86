"""Calls that send data out, in one process: when a run asks, and what an approval covers."""

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from tests.support.simulation.egress_runs import LABELLED, Model, ran
from tests.support.tool_agents import answer, calls, persona, tool_plan


def plan(
    tools: dict[str, Json] | None = None, personas: dict[str, Json] | None = None, **more: JsonValue
) -> Plan:
    """A plan whose agent may call all labelled tools, and these."""
    known = {**LABELLED, **(tools or {})}
    actor = persona(*known, **more)
    people = {"actor": actor, **(personas or {})}
    return tool_plan(known, people, egress_approval={})


def turns(*several: list[tuple[str, Json]]) -> Model:
    """A model that asks for these calls, turn by turn, and then answers."""

    def model(_: AgentRequest, number: int) -> AgentResponse:
        return calls(*several[number - 1]) if number <= len(several) else answer("done")

    return model


READ: tuple[str, Json] = ("files", {"path": "salaries.txt"})
PAGE: tuple[str, Json] = ("page", {"url": "https://a.example"})
SEND: tuple[str, Json] = ("send", {"text": "salaries"})


@pytest.mark.parametrize("everywhere", [False, True])
async def test_a_call_that_sends_asks_when_both_labels_are_met(everywhere: bool) -> None:
    one = await ran(plan(), turns([READ], [PAGE], [SEND]), everywhere=everywhere)
    (request,) = one.asked
    assert request.id == "work/act/send@3.1#1"
    assert request.show == {"text": "salaries"}
    assert request.call is not None
    sends = LABELLED["send"]
    assert request.call.name in sends.values()
    assert request.prompt == (
        "May the tool 'send' send this out? The run has met private data (files in "
        "work/act/files@1.1) and text that others wrote (page in work/act/page@2.1)."
    )
    assert [(met.label, met.tool, met.step) for met in request.met] == [
        ("private", "files", "work/act/files@1.1"),
        ("untrusted", "page", "work/act/page@2.1"),
    ]
    assert one.sent == []
    results = one.world.requests[-1].tool_turn
    assert results is not None
    assert results.results[0].text == "Rejected: ann rejected it: so"
    assert results.results[0].failed


@pytest.mark.parametrize("everywhere", [False, True])
async def test_an_approval_covers_one_call_with_these_arguments(everywhere: bool) -> None:
    model = turns([READ, PAGE], [SEND], [SEND], [("send", {"text": "more"})])
    one = await ran(plan(), model, lambda _: "approve", everywhere=everywhere)
    assert [request.show for request in one.asked] == [
        {"text": "salaries"},
        {"text": "salaries"},
        {"text": "more"},
    ]
    assert one.sent == [{"text": "salaries"}, {"text": "salaries"}, {"text": "more"}]
    assert one.state.progress.sending_calls == {}


async def test_calls_of_one_turn_do_not_know_each_others_results() -> None:
    one = await ran(plan(), turns([PAGE], [SEND, READ]))
    assert one.asked == []
    assert one.sent == [{"text": "salaries"}]


async def test_one_label_alone_asks_nobody() -> None:
    one = await ran(plan(), turns([READ], [SEND], [("fetch", {"url": "x"})], [SEND]))
    assert [request.id for request in one.asked] == ["work/act/send@4.1#1"]
    assert len(one.sent) == 2


async def test_a_plan_of_an_earlier_version_asks_nobody() -> None:
    older = plan().model_copy(update={"egress_approval": None}).with_digest()
    one = await ran(older, turns([READ], [PAGE], [SEND]))
    assert (one.asked, one.sent) == ([], [SEND[1]])
    assert one.state.labels.met == []
    assert one.trail("met") == []
