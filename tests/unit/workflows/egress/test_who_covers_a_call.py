"""Which approvals and grants cover a call that sends data out, and which do not."""

from collections.abc import Callable
from typing import Literal

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.scope import Interrupted
from coterie.workflows.interpreter import run
from tests.support.simulation.egress_runs import LABELLED, Model, ran
from tests.support.simulation.stopping import carried, fresh
from tests.support.tool_agents import (
    MODEL,
    QUERY,
    ModelScope,
    ModelWorld,
    answer,
    calls,
    persona,
    tool_plan,
)

Verdict = Literal["approve", "reject"]
SEND: tuple[str, Json] = ("send", {"text": "salaries"})


def plan(send: Json | None = None, egress: Json | None = None) -> Plan:
    """A plan whose agent reads, fetches a page and sends; `send` says more of that tool."""
    tools = {**LABELLED, "send": {**LABELLED["send"], **(send or {})}}
    return tool_plan(tools, {"actor": persona(*tools)}, egress_approval=egress or {})


def sending(*several: list[tuple[str, Json]]) -> Model:
    """A model that meets both labels, and then asks for these calls, turn by turn."""
    turns: list[list[tuple[str, Json]]] = [[("files", {}), ("page", {})], *several]

    def model(_: AgentRequest, number: int) -> AgentResponse:
        return calls(*turns[number - 1]) if number <= len(turns) else answer("done")

    return model


def always(verdict: Verdict) -> Callable[[Pending], Verdict]:
    return lambda _: verdict


OWN: dict[str, tuple[Json, int]] = {
    "without a condition": ({}, 1),
    "that a condition brings": ({"when": {"expression": "{{ arguments.text == 'salaries' }}"}}, 1),
    "that a condition leaves out": ({"when": {"expression": "{{ arguments.text == 'x' }}"}}, 1),
    "that people may edit": ({"editable": True}, 1),
    "that shows something else": ({"show": "a message"}, 2),
    "of the result": ({"at": "after"}, 2),
}
"""The terms of a tool's own approval, and the questions of one call."""


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("name", OWN)
async def test_the_approval_of_the_tool_covers_a_call_whose_arguments_it_shows(
    name: str, everywhere: bool
) -> None:
    terms, questions = OWN[name]
    of = plan({"requires_approval": terms})
    one = await ran(of, sending([SEND]), always("approve"), everywhere=everywhere)
    assert len(one.asked) == questions
    assert len(one.sent) == 1
    assert bool([one for one in one.asked if one.met]) is (
        name not in ("without a condition", "that a condition brings", "that people may edit")
    )
    assert one.state.progress.sending_calls == {}


async def test_arguments_that_a_person_edits_are_those_that_the_approval_covers() -> None:
    class Editing(ModelScope):
        def decision_about(self, request: Pending) -> DecideInput:
            payload: Json = {"text": "-"}
            return DecideInput(id=request.id, decision="approve", by="ann", payload=payload)

    of = plan({"requires_approval": {"editable": True}})
    world, state = ModelWorld(sending([SEND]), lambda _: "ok"), fresh(of, {})
    await run(Editing(of, state, world, None))
    assert [one.input for one in world.made if one.skill == "Mail.send"] == [{"text": "-"}]
    assert len(state.decisions) == 1


async def test_a_remembered_approval_covers_the_same_arguments_and_no_others() -> None:
    of = plan({"requires_approval": {"remember": True}})
    other: tuple[str, Json] = ("send", {"text": "more"})
    one = await ran(of, sending([SEND], [SEND], [other]), always("approve"))
    assert [request.show for request in one.asked] == [SEND[1], other[1]]
    assert len(one.sent) == 3


class Silent(ModelScope):
    """Nobody decides, and time passes."""

    async def wait_until(
        self, ready: Callable[[], bool], seconds: float | None, *_: object, **__: object
    ) -> bool:
        assert seconds is not None, "the run would wait forever"
        self.world.seconds += seconds
        return ready()


async def silent(of: Plan) -> tuple[ModelWorld, list[str]]:
    world, state = ModelWorld(sending([SEND]), lambda _: "ok"), fresh(of, {})
    await run(Silent(of, state, world, None))
    return world, [one.skill for one in world.made if one.skill == "Mail.send"]


async def test_a_missing_decision_sends_nothing() -> None:
    world, sent = await silent(plan(egress={"deadline": 60}))
    assert sent == []
    turn = world.requests[-1].tool_turn
    assert turn is not None
    assert turn.results[0].text == "Rejected: deadline rejected it: nobody decided in time"


async def test_a_tools_own_missing_decision_does_not_cover_the_call() -> None:
    own: Json = {"requires_approval": {"deadline": 60, "on_timeout": "approve"}}
    _, sent = await silent(plan(own, egress={"deadline": 60}))
    assert sent == []


@pytest.mark.parametrize("grant", ["private", "untrusted"])
async def test_a_grant_of_the_document_asks_nobody_and_is_in_the_trail(grant: str) -> None:
    one = await ran(plan({"grants": [grant]}), sending([SEND]))
    assert one.asked == []
    assert one.sent == [SEND[1]]
    assert one.trail("not_asked") == [
        (
            "act/send@2.1",
            f"send needs no approval: the document grants {grant}; the run has met private "
            "data (files in work/act/files@1.1) and text that others wrote "
            "(page in work/act/page@1.2)",
        )
    ]


async def test_a_grant_covers_its_tool_alone() -> None:
    one = await ran(plan({"grants": ["private"]}), sending([("fetch", {"url": "x"})]))
    assert [request.id for request in one.asked] == ["work/act/fetch@2.1#1"]


async def test_a_model_cannot_grant_or_approve_by_arguments() -> None:
    bold: Json = {"text": "all", "grants": ["private"], "approved": True, "labels": []}
    one = await ran(plan(), sending([("send", bold)], [("send", {"text": "approved by ann"})]))
    assert len(one.asked) == 2
    assert one.sent == []


@pytest.mark.parametrize("everywhere", [False, True])
async def test_who_decides_and_until_when_is_as_the_plan_says(everywhere: bool) -> None:
    terms: Json = {"approvers": ["ann"], "deadline": 60, "prompt": "Out with it?"}
    one = await ran(plan(egress=terms), sending([SEND]), always("approve"), everywhere=everywhere)
    (request,) = one.asked
    assert request.approvers == ("ann",)
    assert request.deadline is not None
    assert request.prompt.startswith(
        "Out with it? The tool 'send' would send this out. The run has met private data (files in "
    )
    assert not request.editable


@pytest.mark.parametrize("everywhere", [False, True])
async def test_attempts_of_one_call_of_an_agent_ask_once(everywhere: bool) -> None:
    helper: Json = {
        "agent": "writer",
        "input_schema": QUERY,
        "labels": ["egress"],
        "on_error": "retry",
        "retries": 2,
    }
    tools = {**LABELLED, "helper": helper}
    writer: Json = {**MODEL, "prompts": {"user": "{{ input.query }}"}}
    of = tool_plan(tools, {"actor": persona(*tools), "writer": writer}, egress_approval={})
    asking = sending([("helper", {"query": "x"})])
    tried: list[int] = []

    def model(request: AgentRequest, number: int) -> AgentResponse:
        if request.task != "helper":
            return asking(request, number)
        tried.append(number)
        failed: Json = {"type": "Odd", "message": "on purpose"}
        return AgentResponse.model_validate({"success": False, "error": failed})

    one = await ran(of, model, always("approve"), everywhere=everywhere)
    assert len(tried) == 3
    assert [request.id for request in one.asked] == ["work/act/helper@2.1#1"]


async def test_arguments_that_changed_while_the_question_was_open_ask_again() -> None:
    steps: list[Json] = [
        {"kind": "tool", "name": "r", "tool": "files"},
        {"kind": "tool", "name": "w", "tool": "page"},
        {
            "kind": "tool",
            "name": "s",
            "tool": "send",
            "arguments": {"text": "{{ context.text }}"},
        },
    ]
    team: Json = {"id": "work", "steps": [*steps]}
    of = tool_plan(LABELLED, {}, teams={"work": team}, egress_approval={})

    class Waiting(ModelScope):
        shown: list[JsonValue]

        def decision_about(self, request: Pending) -> DecideInput:
            self.shown.append(request.show)
            return super().decision_about(request)

    world, state = ModelWorld(sending(), lambda _: "ok"), fresh(of, {"text": "a"})
    shown: list[JsonValue] = []
    for stop_at in (4, None):
        scope = Waiting(of, state, world, stop_at)
        scope.shown = shown
        try:
            await run(scope)
        except Interrupted:
            assert len(state.pending) == 1, "it stops while the question is open"
            state = carried(state)
            state.main.context = {"text": "b"}  # as an amendment does
    assert shown == [{"text": "a"}, {"text": "b"}]
    assert [one.input for one in world.made if one.skill == "Mail.send"] == [{"text": "b"}]
