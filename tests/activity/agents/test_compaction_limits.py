"""Compaction where something is missing: services, prompts, storage, numbers of older workers."""

from dataclasses import replace

import pytest

from coterie.activities.agents.agent_base import AgentServices
from coterie.activities.agents.conversation_compaction import CompactingAgent
from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.contracts import AgentResponse, CompactionTurn, Conversation
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.storage.blobs import BlobsUnusable, MemoryBlobs
from coterie.activities.storage.conversations import Conversations
from coterie.activities.storage.open_conversation import OpenConversation
from coterie.activities.storage.turn_records import Turn
from coterie.dsl.model.plan import Persona
from coterie.dsl.tool_loop.exchange import ToolResult, ToolTurn
from coterie.dsl.values import Json
from tests.support.agents import RecordingModel
from tests.support.simulation.stored_turns import ACTOR, SEARCH, Agents, Model, says, wants

WRITER = Persona(provider="scripted", model="demo", prompts={"user": "{{ input }}"})
SHORT = CompactionTurn(keep_turns=1, limit=100_000)
WARM = ACTOR.model_copy(
    update={"temperature": 0.5, "top_p": 0.9, "thinking": 2048, "effort": "high"}
)


class FullBlobs(MemoryBlobs):
    """A storage that becomes full."""

    full = False

    async def put(self, data: bytes, within: str) -> str:
        if self.full:
            raise BlobsUnusable("the disk is full")
        return await super().put(data, within)


class RenamedModel(Model):
    """A model whose server reports a name of its own."""

    async def complete(self, request: ModelRequest) -> Completion:
        return replace(await super().complete(request), model=f"{request.model}-2026")


async def compact(agents: Agents, **more: object) -> AgentResponse:
    """Compact before the second turn of a step of `ACTOR`."""
    turn = ToolTurn(continues=True, results=(ToolResult(text="two"),))
    given = {"tool_turn": turn, "provider": "scripted", "compaction": SHORT}
    return await agents.turn(**{**given, **more})


async def two_turns(agents: Agents, persona: Persona = ACTOR) -> Agents:
    await agents.first("Find it.", persona=persona)
    await agents.later("one")
    return agents


def summing(*, model: Model | None = None, blobs: MemoryBlobs | None = None) -> Agents:
    """Agents whose model calls twice and then sums up."""
    return Agents(model or Model(wants("a"), wants("b"), says("Known.")), blobs)


@pytest.mark.parametrize("missing", ["providers", "conversation", "compaction"])
async def test_a_turn_without_what_compaction_needs_is_refused(missing: str) -> None:
    services = AgentServices(
        providers=RecordingModel(),
        conversation=OpenConversation(Conversations(MemoryBlobs()), Conversation(), "run"),
        compaction=SHORT,
    )
    agent = CompactingAgent(WRITER.model_dump(mode="json"), "writer", {})
    agent.attach(services._replace(**{missing: None}))
    with pytest.raises(AgentRefused, match="has no conversation to compact"):
        await agent.process({})


async def written(agents: Agents, inputs: Json, **more: object) -> AgentResponse:
    given = {"persona": WRITER, "inputs": inputs, "agent_type": "generic_single_shot"}
    return await agents.turn(**given, **more)


async def test_a_prompt_that_cannot_be_filled_is_the_failure_of_the_turn() -> None:
    agents = Agents(Model(says("A.")))
    await written(agents, {"input": "one"})
    response = await written(agents, {}, compaction=SHORT)
    assert response.error is not None
    assert response.error.type == "TemplateFailed"
    assert len(agents.model.asked) == 1


async def test_an_empty_conversation_has_nothing_to_sum_up() -> None:
    agents = Agents(Model())
    response = await written(agents, {"input": "one"}, compaction=SHORT)
    assert response.data == {"summarised": 0, "kept": 0}


async def test_a_summary_alone_is_not_summed_up_again() -> None:
    agents = Agents(Model(says("A."), says("Known.")))
    none = CompactionTurn(keep_turns=0, limit=100_000)
    await written(agents, {"input": "one"})
    first = await written(agents, {"input": "two"}, compaction=none)
    again = await written(agents, {"input": "two"}, compaction=none)
    assert first.data == {"summary": "Known.", "summarised": 1, "kept": 0}
    assert again.data == {"summarised": 0, "kept": 1}


async def test_a_step_that_begins_sums_up_what_its_own_agent_has_seen() -> None:
    agents = Agents(Model(says("A."), says("B."), says("C."), says("Known.")))
    other = ACTOR.model_copy(update={"max_tokens": 17})
    await agents.first("one")
    await agents.first("two", role="strict", persona=other)
    await agents.first("three", role="strict", persona=other)
    given: Json = {"input": "four", "context": {"role": "kind"}}
    begins = ToolTurn(offered=(SEARCH,))
    await agents.turn(persona=ACTOR, inputs=given, tool_turn=begins, compaction=SHORT)
    first, *_, summary = agents.model.asked
    assert summary.system == first.system == "You are kind."
    assert summary.messages[:1] == first.messages


@pytest.mark.parametrize(
    ("other", "settings"), [(False, (0.5, 0.9, 2048, "high")), (True, (None, None, None, None))]
)
async def test_only_the_agent_s_own_model_gets_its_settings(
    other: bool, settings: tuple[object, ...]
) -> None:
    agents = await two_turns(summing(), WARM)
    await compact(agents, compaction=SHORT.model_copy(update={"other_model": other}))
    asked = agents.model.asked[-1]
    assert (asked.temperature, asked.top_p, asked.thinking, asked.effort) == settings


async def test_turns_of_an_older_worker_are_counted() -> None:
    agents = Agents(Model(says("Known.")))
    conversations = Conversations(agents.blobs)
    for answer in "abc":
        turn = Turn(parent=agents.head, prompt="?", answer=answer)
        agents.head = await conversations.add(turn, "")
    await written(agents, {"input": "four"}, compaction=SHORT)
    assert agents.model.asked[-1].turn == 4


async def test_a_summary_that_cannot_be_stored_is_a_failure_that_is_paid() -> None:
    blobs = FullBlobs()
    agents = await two_turns(summing(blobs=blobs))
    blobs.full = True
    response = await compact(agents)
    assert response.error is not None
    assert response.error.type == "StorageUnusable"
    assert response.usage is not None
    assert (response.usage.total > 0, response.estimated) == (True, 1)


@pytest.mark.parametrize(("kind", "name"), [(Model, None), (RenamedModel, "demo-2026")])
async def test_a_summary_names_its_model_where_it_is_another_one(
    kind: type[Model], name: str | None
) -> None:
    agents = await two_turns(summing(model=kind(wants("a"), wants("b"), says("Known."))))
    assert (await compact(agents)).model == name
