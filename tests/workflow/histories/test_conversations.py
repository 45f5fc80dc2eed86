"""A conversation is kept once, grows by its turns, and is the same after whatever happens."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.agents.agent_base import ProviderAccess
from coterie.activities.contracts import AgentRequest, Conversation, FailureType
from coterie.activities.providers.message_model import ModelMessage
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.storage.blobs import BlobsUnusable, MemoryBlobs
from coterie.activities.storage.conversations import Conversations, Turn
from coterie.activities.storage.open_conversation import AddedTurn, OpenConversation
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.workspace.function_base import Workspace
from coterie.dsl.values import Json
from coterie.storage.large_values import directory_storage
from tests.support.engine import engine, plan_of
from tests.support.runs import failure, scheduled
from tests.support.simulation.local_run import run_local

HEAD = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {system: You write., user: "Round {{ input }}."}}
orchestration:
  entry_team: work
  max_total_teams: 500
  teams:
    work:
      tasks:
"""
LOOP = (
    HEAD
    + """
        - name: rounds
          type: loop
          iterate_on: "{{ range(6) }}"
          loop_variable: number
          concurrency: AT_ONCE
          body:
            - {name: talk, agent_type: generic_single_shot, persona_key: writer,
               input: "{{ number }}", conversation: NAME}
"""
)


def loop(name: str = "one", at_once: int = 1, extra: str = "") -> str:
    shown = LOOP.replace("NAME", f'"{name}"{extra}')
    return shown.replace("AT_ONCE", str(at_once))


class Model:
    """Answers with what it was asked, and keeps it."""

    def __init__(self) -> None:
        self.asked: list[tuple[ModelMessage, ...]] = []

    def get(self, name: str) -> "Model":
        return self

    async def complete(self, request: ModelRequest) -> Completion:
        self.asked.append(request.messages)
        await asyncio.sleep(0)
        return Completion.of(f"to {request.messages[-1].text}", "end", request.model)

    async def close(self) -> None:
        pass


class World:
    """The activities of a worker, called directly."""

    def __init__(self, model: ProviderAccess, folder: Path) -> None:
        self.run_agent = AgentActivities(model, blobs=MemoryBlobs()).run_agent
        self.call_function = FunctionActivities(Workspace(root=folder, commands={})).call_function


async def asked(document: str, folder: Path) -> list[list[str]]:
    """What the model was asked with, in order: the texts of all messages."""
    model = Model()
    await run_local(plan_of(document), {}, World(model, folder))
    return [[message.text for message in messages] for messages in model.asked]


def grown(numbers: Sequence[int]) -> list[list[str]]:
    """What is asked by a conversation over these rounds."""
    calls: list[list[str]] = []
    said: list[str] = []
    for number in numbers:
        prompt = f"Round {number}."
        calls.append([*said, prompt])
        said += [prompt, f"to {prompt}"]
    return calls


async def test_each_turn_is_asked_with_the_turns_before_it(tmp_path: Path) -> None:
    assert await asked(loop(), tmp_path) == grown(range(6))


async def test_turns_of_one_conversation_wait_for_each_other(tmp_path: Path) -> None:
    assert await asked(loop(at_once=6), tmp_path) == grown(range(6))


async def test_conversations_of_other_names_begin_anew(tmp_path: Path) -> None:
    calls = await asked(loop("{{ number % 2 }}"), tmp_path)
    assert sorted(calls) == sorted(grown([0, 2, 4]) + grown([1, 3, 5]))


async def test_only_so_many_turns_are_sent_as_the_task_says(tmp_path: Path) -> None:
    calls = await asked(loop(extra=", conversation_turns: 2"), tmp_path)
    assert calls == [messages[-5:] for messages in grown(range(6))]


@pytest.mark.parametrize("name", ["{{ '' }}", "{{ [1] }}", "{{ 'x' * 201 }}"])
async def test_conversation_with_an_invalid_name_fails_the_task(
    env: WorkflowEnvironment, tmp_path: Path, name: str
) -> None:
    async with engine(env, tmp_path, []) as here:
        handle: Any = await here.start(loop(name))
        assert "NotAName: the conversation of 'talk' has no name" in (await failure(handle)).message
        assert await scheduled(handle) == []


async def test_a_history_holds_the_name_of_a_turn_and_not_its_words(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    answers: list[Json] = [{"task": "talk", "answer": "word " * 1000}]
    storage = directory_storage(tmp_path / "blobs")
    assert storage.blobs is not None
    async with engine(env, tmp_path, answers, blobs=storage.blobs) as here:
        handle: Any = await here.start(loop())
        await handle.result()
        calls = await scheduled(handle)
    assert calls[0]["input"]["conversation"] == {}
    assert all(len(call["input"]["conversation"]["head"]) == 64 for call in calls[1:])
    assert max(len(str(call["input"])) for call in calls) < 1000
    turns = await asyncio.to_thread(lambda: sorted((tmp_path / "blobs").glob("*/*")))
    assert len(turns) == 6, "one for each turn"
    assert sum(turn.stat().st_size for turn in turns) < 6 * 5500


async def test_two_hundred_turns_cost_two_hundred_turns(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    """A small version of `python -m bench conversation`."""
    answers: list[Json] = [{"task": "talk", "answer": "word " * 200}]
    sizes: list[int] = []
    async with engine(env, tmp_path, answers) as here:
        for rounds in (10, 20, 40):
            document = loop().replace("range(6)", f"range({rounds})")
            handle: Any = await here.start(document)
            await handle.result()
            events = (await handle.fetch_history()).events
            sizes.append(sum(event.ByteSize() for event in events[:-3]))
    first, second = (sizes[1] - sizes[0]) / 10, (sizes[2] - sizes[1]) / 20
    assert second < 1.02 * first


def request(head: str | None) -> AgentRequest:
    return AgentRequest(
        team="work",
        task="talk",
        visit=1,
        persona=plan_of(loop()).personas["writer"],
        inputs={"input": 1},
        conversation=Conversation(head=head),
    )


async def test_a_turn_that_is_gone_is_reported_in_one_sentence_and_read_again() -> None:
    agents = AgentActivities(Model(), blobs=MemoryBlobs())
    with pytest.raises(ApplicationError) as error:
        await agents.run_agent(request("0" * 64))
    assert error.value.type == FailureType.STORAGE_UNUSABLE
    assert not error.value.non_retryable, "it may come back"
    assert error.value.message.startswith(
        "task 'talk' cannot continue its conversation: the value 000000000000 is not stored"
    )


async def test_a_storage_that_is_away_is_asked_again_before_a_model_is_paid() -> None:
    model = Model()
    agents = AgentActivities(model, blobs=Away())
    with pytest.raises(ApplicationError) as error:
        await agents.run_agent(request("0" * 64))
    assert not error.value.non_retryable
    assert model.asked == []


async def test_an_answer_that_cannot_be_kept_is_a_failure_that_tells_what_was_used() -> None:
    response = await AgentActivities(Model(), blobs=Away()).run_agent(request(None))
    assert response.error is not None
    assert response.error.type == FailureType.STORAGE_UNUSABLE
    assert "could not store the model's answer: the disk is full" in response.error.message
    assert response.usage is not None


class Away(MemoryBlobs):
    """A place that cannot be reached."""

    async def put(self, data: bytes, within: str) -> str:
        raise BlobsUnusable("the disk is full")

    async def get(self, name: str, within: str) -> bytes:
        raise BlobsUnusable("nobody answers")


async def test_a_worker_without_a_storage_refuses_a_conversation() -> None:
    agents = AgentActivities(Model())
    with pytest.raises(ApplicationError, match="this worker has no storage for it"):
        await agents.run_agent(request(None))


async def test_an_attempt_that_is_repeated_gives_the_same_chain() -> None:
    conversations = Conversations(MemoryBlobs())

    def open_at(head: str | None) -> OpenConversation:
        return OpenConversation(conversations, Conversation(head=head), "run")

    first = await open_at(None).add(AddedTurn("a", "b"))
    assert await open_at(None).add(AddedTurn("a", "b")) == first
    second = await open_at(first).add(AddedTurn("c", "d"))
    assert second == await open_at(first).add(AddedTurn("c", "d"))
    assert [message.text for message in await open_at(second).earlier()] == ["a", "b", "c", "d"]


async def test_another_worker_reads_what_the_first_one_kept() -> None:
    blobs = MemoryBlobs()
    first, other = Conversations(blobs), Conversations(blobs)
    head = await first.add(Turn(prompt="a", answer="b"), "run")
    turns = await OpenConversation(other, Conversation(head=head), "run").earlier()
    assert turns == (ModelMessage.of("user", "a"), ModelMessage.of("assistant", "b"))
