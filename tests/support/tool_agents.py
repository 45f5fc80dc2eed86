"""Plans of agents that use tools, and models that answer as a test says."""

from collections.abc import Callable, Mapping
from typing import cast

from coterie.activities.contracts import (
    AgentError,
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.tools.asked_input import AskedInput
from coterie.dsl.tool_loop.exchange import ToolCallRequest
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.scope import Call, CallFailed
from tests.support.simulation.stopping import StoppingScope, World

READ: Json = {"effect": "read", "timeout": 60, "retries": 0}
QUERY: Json = {
    "type": "object",
    "properties": {"query": {"type": "string"}},
    "required": ["query"],
    "additionalProperties": False,
}
MODEL: Json = {"provider": "scripted", "model": "demo"}


def function_tool(function: str = "Discovery.collect", **more: JsonValue) -> Json:
    """A tool made of a tool function."""
    return {"skill": function, "terms": READ, **more}


def persona(*tools: str, **more: JsonValue) -> Json:
    """A persona with tools."""
    prompts: Json = {"system": "You act.", "user": "Do {{ input }}."}
    return {**MODEL, "prompts": prompts, "tools": list(tools), **more}


def tool_plan(
    tools: Mapping[str, Json],
    personas: Mapping[str, Json],
    *,
    step: Json | None = None,
    tasks: list[Json] | None = None,
    teams: Mapping[str, Json] | None = None,
    **more: JsonValue,
) -> Plan:
    """A plan whose team `work` has a task `act` by the persona `actor`."""
    act: Json = {
        "name": "act",
        "agent_type": "generic_tool_calling",
        "persona_key": "actor",
        "input": "it",
        **(step or {}),
    }
    act = {key: value for key, value in act.items() if value is not None}
    work: Json = {"id": "work", "steps": [act, *(tasks or ())]}
    return Plan.model_validate(
        {
            "name": "test",
            "entry_team": "work",
            "tools": dict(tools),
            "personas": dict(personas),
            "teams": {"work": work, **(teams or {})},
            **more,
        }
    ).with_digest()


def calls(*asked: tuple[str, Json], text: str = "") -> AgentResponse:
    """A turn that asks for calls."""
    return AgentResponse(
        data={"text": text} if text else None,
        tool_calls=tuple(ToolCallRequest(tool=tool, arguments=given) for tool, given in asked),
    )


def answer(text: str) -> AgentResponse:
    """A turn that answers."""
    return AgentResponse(data={"text": text})


def unusable(problem: str) -> AgentResponse:
    """A turn whose answer does not match."""
    return AgentResponse(
        success=False, error=AgentError(type="AnswerUnusable", message=problem), data=None
    )


class ModelWorld(World):
    """What is outside of the run: models that take turns, and tool functions."""

    def __init__(
        self,
        model: Callable[[AgentRequest, int], AgentResponse],
        function: Callable[[FunctionRequest], JsonValue | FunctionResult],
    ) -> None:
        super().__init__(answer=lambda _: {})
        self.model = model
        """Takes a request and the number of the turn in its conversation."""
        self.function = function
        self.requests: list[AgentRequest] = []
        self.made: list[FunctionRequest] = []
        self.turns: dict[str, int] = {}


class ModelScope(StoppingScope):
    """A scope whose models take turns of tool loops; a conversation's head is its turn's name."""

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        world = cast("ModelWorld", self.world)
        world.calls.append(call.id)
        world.seconds += 1
        world.requests.append(request)
        asked = request.conversation
        head = "" if asked is None or asked.head is None else asked.head
        number = world.turns.get(head, 0) + 1
        response = world.model(request, number)
        if not response.success and not (
            response.error is not None and response.error.type == "AnswerUnusable"
        ):
            return response
        name = f"{call.id}"
        world.turns[name] = number
        return response.model_copy(update={"conversation": name})

    async def call_function(self, request: FunctionRequest, call: Call) -> FunctionResult:
        world = cast("ModelWorld", self.world)
        world.calls.append(call.id)
        world.seconds += 1
        world.made.append(request)
        found = world.function(request)
        if isinstance(found, dict) and "fails" in found:
            asked = AskedInput.model_validate(found["asks"]) if "asks" in found else None
            message = str(found.get("message", "on purpose"))
            raise CallFailed(str(found["fails"]), message, asked=asked)
        return found if isinstance(found, FunctionResult) else FunctionResult(data=found)


class ExtendingScope(ModelScope):
    """Ann extends each budget."""

    @property
    def boundaries(self) -> list[bool]:
        """Of each wait, whether the run might continue as new meanwhile."""
        return [wait.boundary for wait in self.noted_waits]

    def decision_about(self, request: Pending) -> DecideInput:
        given: Json = {"extend_by": 5}
        return DecideInput(id=request.id, decision="approve", by="ann", payload=given)
