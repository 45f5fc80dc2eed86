"""Long conversations, in one process: when they are compacted, and what the run remembers."""

from collections.abc import Callable

import pytest

from coterie.activities.contracts import (
    AgentError,
    AgentRequest,
    AgentResponse,
    ContextUse,
    FunctionRequest,
    TokenUsage,
)
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.causes.agent_causes import ConversationCompacted
from coterie.workflows.core.causes.trail_because import trail_because
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.scope import CallFailed, Interrupted
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import TeamResult
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import carried, fresh
from tests.support.tool_agents import (
    QUERY,
    ModelScope,
    ModelWorld,
    answer,
    calls,
    function_tool,
    persona,
    tool_plan,
)

TOOLS: dict[str, Json] = {"search": function_tool(input_schema=QUERY)}
POLICY: Json = {"at": 1_000, "keep_turns": 1}
Model = Callable[[AgentRequest, int], AgentResponse]


def plan(step: Json | None = None, **of_persona: JsonValue) -> Plan:
    actor = persona("search", **{"compaction": POLICY, **of_persona})
    return tool_plan(TOOLS, {"actor": actor}, step=step)


def found(request: FunctionRequest) -> JsonValue:
    return "x" * 404


def full(response: AgentResponse, tokens: int, turns: int) -> AgentResponse:
    """A response of a conversation with so many tokens."""
    used = ContextUse(tokens=tokens, window=100_000, turns=turns)
    return response.model_copy(update={"context": used})


def summary(tokens: int = 100) -> AgentResponse:
    data: JsonValue = {"summary": "Known.", "summarised": 2, "kept": 1}
    used = ContextUse(tokens=tokens, turns=1)
    usage = TokenUsage(input_tokens=900, output_tokens=30)
    return AgentResponse(data=data, context=used, usage=usage)


def filling(turns: int = 4, each: int = 450) -> Model:
    """A model whose conversation grows with each turn until it is compacted."""
    state = {"tokens": 0, "turns": 0, "taken": 0}

    def model(request: AgentRequest, number: int) -> AgentResponse:
        if request.compaction is not None:
            state.update(tokens=100, turns=1)
            return summary()
        state.update(tokens=state["tokens"] + each, turns=state["turns"] + 1)
        state["taken"] += 1
        made = calls(("search", {"query": f"{state['taken']}"}))
        response = made if state["taken"] < turns else answer("done")
        return full(response, state["tokens"], state["turns"])

    return model


async def ran(of: Plan, model: Model) -> tuple[TeamResult, ModelWorld, RunState]:
    world, state = ModelWorld(model, found), fresh(of, {})
    return await run(ModelScope(of, state, world, None)), world, state


def compactions(state: RunState) -> list[ConversationCompacted]:
    return [one.cause for one in state.trail if isinstance(one.cause, ConversationCompacted)]


async def test_a_loop_is_compacted_before_the_turn_that_would_be_too_large() -> None:
    result, world, state = await ran(plan(), filling())
    assert result.output == {"act": {"text": "done"}}
    assert world.calls == [
        "0001.work.act.t1",
        "0002.work.search@1.1",
        "0003.work.act.t2",
        "0004.work.search@2.1",
        "0005.work.act.t3.compact",
        "0006.work.act.t3",
        "0007.work.search@3.1",
        "0008.work.act.t4",
    ]
    (cause,) = compactions(state)
    assert cause == ConversationCompacted("compaction_due", 1001, 1000, "scripted/demo", 2, 1)
    assert trail_because(cause) == (
        "the next request would have about 1,001 tokens, more than 1,000; scripted/demo sums 2 "
        "turns up, and the latest 1 stay"
    )


async def test_a_summary_that_counts_no_turns_is_noted_with_none() -> None:
    growing = filling()

    def model(request: AgentRequest, number: int) -> AgentResponse:
        response = growing(request, number)
        if request.compaction is None:
            return response
        return response.model_copy(update={"data": {"summary": "Known.", "kept": "all"}})

    _, _, state = await ran(plan(), model)
    (cause,) = compactions(state)
    assert (cause.summarised, cause.kept) == (0, 0)


async def test_the_turn_continues_the_new_conversation_with_its_results() -> None:
    _, world, _ = await ran(plan(), filling())
    asked = next(one for one in world.requests if one.compaction is not None)
    after = world.requests[world.requests.index(asked) + 1]
    assert asked.conversation is not None
    assert asked.conversation.head == "0003.work.act.t2"
    assert asked.notices == ()
    assert after.conversation is not None
    assert after.conversation.head == "0005.work.act.t3.compact"
    assert after.tool_turn is not None
    assert [one.text for one in after.tool_turn.results] == ["x" * 404]


async def test_the_summary_is_paid_and_counted() -> None:
    result, _, state = await ran(plan(), filling())
    (tally,) = (one for one in state.tallies.values() if one.model)
    assert result.model_calls == tally.calls == 5
    assert tally.input_tokens == 900


async def test_no_compaction_repeats_wherever_a_run_continues_as_new() -> None:
    whole, _, before = await ran(plan(), filling(9))
    world, state = ModelWorld(filling(9), found), fresh(plan(), {})
    for _ in range(1000):
        try:
            parts = await run(ModelScope(plan(), state, world, 1))
            break
        except Interrupted:
            state = carried(state)
    else:
        raise AssertionError("the run never ended")
    assert parts.output == whole.output
    assert parts.trail_digest == whole.trail_digest
    assert len(world.calls) == len(set(world.calls))
    assert len(compactions(before)) > 1


async def test_a_request_that_the_worker_refuses_is_sent_again_after_a_compaction() -> None:
    refused: list[str] = []

    def model(request: AgentRequest, number: int) -> AgentResponse:
        if request.compaction is not None:
            return summary()
        if number == 2 and not refused:
            refused.append("once")
            raise CallFailed("ContextWindowExceeded", "too large")
        return calls(("search", {"query": "a"})) if number == 1 and not refused else answer("done")

    result, world, state = await ran(plan(), model)
    assert result.output == {"act": {"text": "done"}}
    assert world.calls[2:] == [
        "0003.work.act.t2",
        "0004.work.act.t2.compact",
        "0005.work.act.t2.again",
    ]
    (cause,) = compactions(state)
    assert cause == ConversationCompacted("window_exceeded", 0, 1000, "scripted/demo", 2, 1)


async def test_a_request_that_stays_too_large_is_the_failure() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        if request.compaction is not None:
            return summary()
        if number > 1:
            raise CallFailed("ContextWindowExceeded", "too large")
        return calls(("search", {"query": "a"}))

    with pytest.raises(RunFailed) as failed:
        await ran(plan(), model)
    assert failed.value.result.error is not None
    assert "too large" in str(failed.value.result.error)


@pytest.mark.parametrize(
    ("at", "failure"),
    [(1, "ContextWindowExceeded"), (2, "ProviderRefused")],
    ids=["nothing came before", "another failure"],
)
async def test_a_request_that_no_summary_would_help_fails_at_once(at: int, failure: str) -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        if number == at:
            raise CallFailed(failure, "too large")
        return calls(("search", {"query": "a"}))

    world = ModelWorld(model, found)
    with pytest.raises(RunFailed):
        await run(ModelScope(plan(), fresh(plan(), {}), world, None))
    assert [one.compaction for one in world.requests] == [None] * at


async def test_the_turn_whose_results_wait_is_not_summed_up_alone() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        made = calls(("search", {"query": "a"})) if number == 1 else answer("done")
        return full(made, 2_000, 1)

    _, world, _ = await ran(plan(), model)
    assert world.calls == ["0001.work.act.t1", "0002.work.search@1.1", "0003.work.act.t2"]


async def test_a_summary_that_made_nothing_shorter_leaves_the_conversation() -> None:
    growing = filling()

    def model(request: AgentRequest, number: int) -> AgentResponse:
        response = growing(request, number)
        if request.compaction is None:
            return response
        return response.model_copy(update={"context": None})

    _, world, state = await ran(plan(), model)
    asked = next(one for one in world.requests if one.compaction is not None)
    after = world.requests[world.requests.index(asked) + 1]
    assert after.conversation is not None
    assert after.conversation.head == "0003.work.act.t2"
    assert compactions(state) == []


@pytest.mark.parametrize("kind", ["generic_single_shot", "generic_tool_calling"])
async def test_a_conversation_stays_compacted_when_the_turn_after_it_fails(kind: str) -> None:
    step: Json = {"conversation": "talk", "agent_type": kind}
    again: Json = {
        "name": "again",
        "persona_key": "actor",
        "input": "more",
        "on_failure": "continue",
        **step,
    }
    of = tool_plan({}, {"actor": persona(compaction=POLICY)}, step=step, tasks=[again])

    def model(request: AgentRequest, number: int) -> AgentResponse:
        if request.compaction is not None:
            return summary()
        if request.task == "again":
            raise CallFailed("ProviderRefused", "on purpose")
        return full(answer("done"), 2_000, 2)

    _, _, state = await ran(of, model)
    assert state.conversations == {"talk": "0002.work.again.t1.compact"}
    assert state.conversation_sizes["talk"].tokens == 100


async def test_without_a_policy_a_request_that_is_too_large_fails() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        raise CallFailed("ContextWindowExceeded", "too large")

    with pytest.raises(RunFailed):
        await ran(plan(compaction=None), model)


async def test_a_summary_that_fails_fails_the_step() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        if request.compaction is not None:
            error = AgentError(type="AnswerTruncated", message="cut off")
            return AgentResponse(success=False, error=error)
        return full(calls(("search", {"query": f"{number}"})), 2_000, number)

    with pytest.raises(RunFailed) as failed:
        await ran(plan(), model)
    assert "cut off" in str(failed.value.result.error)


async def test_another_model_writes_the_summary() -> None:
    policy: Json = {**POLICY, "model": "other/small", "prompt": "Be brief."}
    _, world, state = await ran(plan(compaction=policy), filling())
    asked = next(one for one in world.requests if one.compaction is not None)
    assert (asked.provider, asked.model) == ("other", "small")
    assert asked.compaction is not None
    assert (asked.compaction.prompt, asked.compaction.other_model) == ("Be brief.", True)
    assert {one.model for one in state.tallies.values() if one.model} == {
        "scripted/demo",
        "other/small",
    }


@pytest.mark.parametrize("kind", ["generic_tool_calling", "generic_single_shot"])
async def test_a_named_conversation_is_compacted_by_the_step_that_continues_it(kind: str) -> None:
    step: Json = {"conversation": "talk", "agent_type": kind}
    again: Json = {"name": "again", "persona_key": "actor", "input": "more", **step}
    tools: list[JsonValue] = ["search"] if kind == "generic_tool_calling" else []
    of = tool_plan(
        TOOLS,
        {"actor": {**persona(compaction=POLICY), "tools": tools}},
        step=step,
        tasks=[again],
    )

    def model(request: AgentRequest, number: int) -> AgentResponse:
        if request.compaction is not None:
            return summary()
        return full(answer("done"), 2_000, 2)

    _, world, state = await ran(of, model)
    assert world.calls == [
        "0001.work.act" + (".t1" if tools else ""),
        *(["0002.work.again.t1.compact", "0003.work.again" + (".t1" if tools else "")]),
    ]
    (first, asked, second) = world.requests
    assert first.persona is not None
    assert asked.persona is not None
    assert asked.conversation is not None
    assert asked.conversation.head == world.calls[0]
    assert second.conversation is not None
    assert second.conversation.head == "0002.work.again.t1.compact"
    assert state.conversations == {"talk": world.calls[2]}
    assert state.conversation_sizes["talk"].tokens == 2_000


async def test_a_turn_of_a_persona_without_compaction_counts_for_the_next_one() -> None:
    shared: Json = {"conversation": "talk", "agent_type": "generic_single_shot"}
    personas = {
        "actor": persona(compaction=POLICY),
        "other": persona(),
    }
    tasks: list[Json] = [
        {"name": "between", "persona_key": "other", "input": "b", **shared},
        {"name": "again", "persona_key": "actor", "input": "c", **shared},
    ]
    of = tool_plan({}, personas, step=shared, tasks=tasks)

    def model(request: AgentRequest, number: int) -> AgentResponse:
        if request.compaction is not None:
            return summary()
        if request.task == "between":
            usage = TokenUsage(input_tokens=3_000, output_tokens=10)
            return answer("long").model_copy(update={"usage": usage})
        return full(answer("done"), 10, 1)

    _, _, state = await ran(of, model)
    (cause,) = compactions(state)
    assert cause.tokens > 3_010


async def test_labels_of_the_conversation_stay_with_the_run() -> None:
    search = function_tool(input_schema=QUERY, labels=["untrusted"])
    post = function_tool("Web.post", labels=["egress"])
    actor = persona("search", compaction=POLICY)
    terms: Json = {}
    of = tool_plan({"search": search, "post": post}, {"actor": actor}, egress_approval=terms)
    _, _, state = await ran(of, filling())
    assert len(compactions(state)) == 1
    assert [one.label for one in state.labels.met] == ["untrusted"]
