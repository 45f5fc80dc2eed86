"""What an agent with tools needs for a turn."""

from typing import Any

import pytest

from coterie.activities.agents.agent_base import AgentServices
from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.agents.tool_calling import GenericToolCallingAgent
from coterie.activities.contracts import Conversation
from coterie.activities.storage.blobs import MemoryBlobs
from coterie.activities.storage.conversations import Conversations
from coterie.activities.storage.open_conversation import OpenConversation
from coterie.dsl.tool_loop.exchange import ToolTurn
from coterie.dsl.values import Json
from tests.support.agents import RecordingModel, answer

CONFIG: Json = {"provider": "recorded", "model": "model-1", "prompts": {"user": "Go."}}


@pytest.mark.parametrize("missing", ["providers", "tool_turn", "conversation"])
async def test_a_turn_with_tools_needs_a_model_a_run_and_a_storage(missing: str) -> None:
    services = AgentServices(
        providers=RecordingModel(answer()),
        tool_turn=ToolTurn(),
        conversation=OpenConversation(Conversations(MemoryBlobs()), Conversation(), "run"),
    )
    absent: dict[str, Any] = {missing: None}
    agent = GenericToolCallingAgent(CONFIG, "one", {})
    agent.attach(services._replace(**absent))
    with pytest.raises(AgentRefused, match=r"needs model providers, a run .* and a storage"):
        await agent.process({})
