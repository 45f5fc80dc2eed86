"""Models and tools that do whatever real ones have ever done, behind the real activities."""

import asyncio
import errno
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue, TypeAdapter

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
    StopReason,
)
from coterie.activities.providers.message_model import ModelMessage, TextPart, ToolCallPart
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.translation.request_checks import check_request
from coterie.activities.storage.blobs import MemoryBlobs
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.tool_functions.function_registry import AnyFunction
from coterie.activities.tool_functions.function_results import MAX_RESULT_SIZE
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction, Workspace
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.dsl.model.capabilities import Effect
from coterie.dsl.model.plan import Plan
from coterie.dsl.tool_loop.result_texts import LOST
from coterie.runs.in_process.local_scope import World
from coterie.workflows.core.scope import Call
from coterie.workflows.core.state import RunState
from tests.support.simulation.skipping import RetryingScope

Behaviour = Literal[
    "answers",
    "counts",
    "says nothing",
    "says much",
    "is too large",
    "breaks its contract",
    "is no JSON",
    "fails",
    "fails for good",
    "refuses",
    "is lost",
    "hangs",
    "has no disk",
]
"""What one call of a tool does."""

HOURS = 10 * 3600.0
_LARGE = "x" * 50_000
_TOO_LARGE = "x" * (MAX_RESULT_SIZE + 1)


@dataclass(frozen=True)
class Says:
    """A turn of a model: a text, cut or not."""

    text: str
    stop_reason: StopReason = "end"


@dataclass(frozen=True)
class Wants:
    """A turn of a model: calls, as names and raw arguments."""

    calls: tuple[tuple[str, str], ...]
    text: str = ""


@dataclass(frozen=True)
class Breaks:
    """A turn without an answer."""

    type: str
    retryable: bool


Turn = Says | Wants | Breaks


@dataclass
class WildModel:
    """Stands in for every provider; each agent plays its turns again and again."""

    turns: tuple[Turn, ...]
    whole: str
    """The agent that nothing interrupts: each of its calls has a result."""
    faults: list[str] = field(default_factory=list[str])
    """Requests that no vendor takes, and conversations that were changed afterwards."""
    _next: dict[str, "cycle[Turn]"] = field(default_factory=dict[str, "cycle[Turn]"])
    _sent: dict[str, tuple[ModelMessage, ...]] = field(
        default_factory=dict[str, tuple[ModelMessage, ...]]
    )
    _asked: int = 0

    def get(self, name: str) -> "WildModel":
        """Return itself, whatever the provider's name."""
        return self

    async def complete(self, request: ModelRequest) -> Completion:
        """Play the agent's next turn.

        Raises:
            ProviderFailure: the turn is a failure.
        """
        agent = request.label.rpartition(".")[0]
        self._look(agent, request)
        self._asked += 1
        await asyncio.sleep(1)
        task = agent.rpartition("#")[0]
        turn = next(self._next.setdefault(task, cycle(self.turns)))
        match turn:
            case Breaks(type, retryable):
                raise ProviderFailure(type, "on purpose", retryable=retryable)
            case Says(text, stop_reason):
                return Completion.of(text, stop_reason, request.model)
            case Wants(calls, text):
                parts = (
                    ToolCallPart(f"call_{self._asked}_{number}", name, given)
                    for number, (name, given) in enumerate(calls)
                )
                said = (TextPart(text),) if text else ()
                return Completion((*said, *parts), "tool_calls", request.model)

    def _look(self, agent: str, request: ModelRequest) -> None:
        """Note what is wrong with a request."""
        try:
            check_request(request)
        except ProviderFailure as failure:
            self.faults.append(failure.message)
        parts = request.messages[-1].content
        if self.whole in agent and any(getattr(part, "text", "") == LOST for part in parts):
            self.faults.append(f"a call of {agent} was left without a result")
        before = self._sent.get(agent, ())
        if request.messages[: len(before)] != before:
            self.faults.append(f"the conversation of {agent} has changed")
        self._sent[agent] = request.messages

    async def close(self) -> None:
        """Nothing is held open."""


_RESULTS: dict[Behaviour, Any] = {
    "answers": {"ok": True},
    "says nothing": {},
    "says much": {"text": _LARGE},
    "is too large": {"text": _TOO_LARGE},
    "breaks its contract": [1, 2],
    "is no JSON": {"text": "\ud83d"},
}
_FAILURES: dict[Behaviour, Exception] = {
    "fails": FunctionFailure("on purpose", may_pass=True),
    "fails for good": FunctionFailure("on purpose"),
    "refuses": FunctionRefusal("on purpose"),
    "has no disk": OSError(errno.ENOSPC, "No space left on device"),
}


def wild_function(
    name: str, effect: Effect, behaviours: Sequence[Behaviour]
) -> ToolFunction[dict[str, JsonValue], dict[str, JsonValue]]:
    """Return a function whose calls behave one after another as the list says, again and again."""
    ways, numbers = cycle(behaviours), count()

    async def run(value: dict[str, JsonValue], context: FunctionContext) -> dict[str, JsonValue]:
        number, way = next(numbers), next(ways)
        if way in _FAILURES:
            raise _FAILURES[way]
        if way == "is lost":
            raise FunctionFailure("nobody knows" if effect == "once" else "gone")
        if way == "hangs":
            await asyncio.sleep(HOURS)
        return _RESULTS.get(way, {"n": number})

    any_object: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])
    return ToolFunction(name, "Does anything.", effect, any_object, any_object, run)


class WildWorld:
    """The real activities, of a wild model and wild functions; counts the attempts of each call."""

    def __init__(
        self,
        model: WildModel,
        functions: Mapping[str, AnyFunction],
    ) -> None:
        blobs = MemoryBlobs()
        self._agents = AgentActivities(model, blobs=blobs)
        self._functions = FunctionActivities(Workspace(Path.cwd()), functions, blobs)
        self.attempts: Counter[int] = Counter()
        """By the identity of the request, which all attempts of a call share."""

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        """Take a model turn."""
        self.attempts[id(request)] += 1
        return await self._agents.run_agent(request)

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        """Call a tool function."""
        self.attempts[id(request)] += 1
        return await self._functions.call_function(request)


class CountingScope(RetryingScope):
    """Keeps every call that the run makes, with its request."""

    def __init__(self, plan: Plan, state: RunState, world: World) -> None:
        super().__init__(plan, state, world)
        self.turns: list[tuple[Call, AgentRequest]] = []
        self.calls: list[tuple[Call, FunctionRequest]] = []

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        self.turns.append((call, request))
        return await super().run_agent(request, call)

    async def call_function(self, request: FunctionRequest, call: Call) -> FunctionResult:
        self.calls.append((call, request))
        return await super().call_function(request, call)
