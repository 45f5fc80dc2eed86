"""A worker's agents with tools and a model that takes turns as a test says."""

from collections.abc import Callable, Sequence

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.contracts import AgentRequest, AgentResponse, Conversation, TokenUsage
from coterie.activities.providers.message_model import (
    ModelMessage,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.storage.blobs import MemoryBlobs
from coterie.dsl.model.plan import Persona
from coterie.dsl.tool_loop.exchange import OfferedTool, ToolResult, ToolTurn

SEARCH = OfferedTool(name="search", description="Finds.", input_schema={"type": "object"})
ACTOR = Persona(
    provider="scripted",
    model="demo",
    prompts={"system": "You are {{ context.role }}.", "user": "{{ input }}"},
)
Says = Callable[[ModelRequest], Sequence[Part]]


class Model:
    """Takes turns as the test says, and keeps what it was asked."""

    def __init__(
        self, *turns: Sequence[Part], stop: str = "end", usage: TokenUsage | None = None
    ) -> None:
        self.turns = list(turns)
        self.usage = usage or TokenUsage()
        self.asked: list[ModelRequest] = []
        self.stop = stop

    def get(self, name: str) -> "Model":
        return self

    async def complete(self, request: ModelRequest) -> Completion:
        self.asked.append(request)
        content = tuple(self.turns.pop(0))
        calling = any(isinstance(part, ToolCallPart) for part in content)
        stop = "tool_calls" if calling and self.stop == "end" else self.stop
        return Completion(content, stop, request.model, self.usage)  # type: ignore[arg-type]

    async def close(self) -> None:
        pass


def wants(*queries: str) -> tuple[Part, ...]:
    return tuple(
        ToolCallPart(f"c{i}", "search", f'{{"query": "{query}"}}')
        for i, query in enumerate(queries)
    )


def says(text: str) -> tuple[Part, ...]:
    return (TextPart(text),)


class Agents:
    """A worker's agents, and one conversation."""

    def __init__(self, model: Model, blobs: MemoryBlobs | None = None) -> None:
        self.blobs = blobs or MemoryBlobs()
        self.model = model
        self.activities = AgentActivities(model, blobs=self.blobs)
        self.head: str | None = None

    async def first(
        self, given: str = "Go.", role: str = "kind", persona: Persona = ACTOR, **turn: object
    ) -> AgentResponse:
        """The first turn of a step."""
        return await self.turn(
            persona=persona,
            inputs={"input": given, "context": {"role": role}},
            tool_turn=ToolTurn.model_validate({"offered": (SEARCH,), **turn}),
        )

    async def later(
        self, *results: str, notices: tuple[str, ...] = (), **turn: object
    ) -> AgentResponse:
        """A later turn of the step."""
        found = tuple(ToolResult(text=text) for text in results)
        made = ToolTurn.model_validate({"continues": True, "results": found, **turn})
        return await self.turn(notices=notices, tool_turn=made, provider="scripted")

    async def turn(self, **given: object) -> AgentResponse:
        """Take one turn of the conversation."""
        request = AgentRequest.model_validate(
            {
                "team": "t",
                "task": "act",
                "agent_type": "generic_tool_calling",
                "conversation": Conversation(head=self.head),
                **given,
            }
        )
        response = await self.activities.run_agent(request)
        self.head = response.conversation or self.head
        return response


def texts(message: ModelMessage) -> list[str]:
    return [part.text for part in message.content if isinstance(part, TextPart | ToolResultPart)]
