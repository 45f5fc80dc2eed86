"""Shipped teams in one process, with a model of which one persona misbehaves.

The agents are the real ones; tool functions return the shortest result that their contract allows.
"""

import ast
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FailureType,
    FunctionRequest,
    FunctionResult,
)
from coterie.activities.model_prices import Pricing
from coterie.activities.providers.message_model import ToolCallPart
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.storage.blobs import MemoryBlobs
from coterie.activities.tool_functions.function_registry import find_function
from coterie.dsl.json_schema.minimal_values import minimal_value
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.workflows.core.messages import DecideInput, SessionInput
from coterie.workflows.sessions.message_queue import receive
from tests.support.documents.shipped import model_calls
from tests.support.simulation.skipping import Skipped, SkippingScope, skipped_run

Fault = Literal["fails", "prose", "minimal"]
"""The persona's provider refuses; it answers prose; it answers the required keys only."""

FAILS = "fails"
"""A tool function's result that is a failure."""
REFUSAL = "the model is not well today"
PROSE = "Hm, let me think about that first."


class OneFault:
    """A model that answers each schema in the shortest way, except for one persona."""

    def __init__(
        self, plan: Plan, persona: str, fault: Fault, wanted: Mapping[str, JsonValue]
    ) -> None:
        self.asked: set[str] = set()
        """The personas that were asked."""
        self._persona, self._fault, self._wanted = persona, fault, wanted
        self._personas = {
            f"{team}/{step.name}": step.persona_key.partition("@")[0]
            for team, step, _ in model_calls(plan)
        }

    def get(self, name: str) -> "OneFault":
        """Return itself, whatever the provider's name."""
        return self

    async def close(self) -> None:
        """Nothing is held open."""

    async def complete(self, request: ModelRequest) -> Completion:
        """Answer, or misbehave."""
        persona = self._personas[request.label.partition("#")[0]]
        self.asked.add(persona)
        answers = persona != self._persona or self._fault == "minimal"
        if persona == "router" and answers and len(request.messages) == 1:
            call = ToolCallPart("c1", "retrieve_chunks", json.dumps({"query": "tax"}))
            return Completion((call,), "tool_calls", request.model)
        text = PROSE
        if not answers and self._fault == "fails":
            raise ProviderFailure(FailureType.PROVIDER_REFUSED, REFUSAL, retryable=False)
        if request.output_schema is not None and answers:
            text = json.dumps(self._shortest(request.output_schema))
        return Completion.of(text=text, stop_reason="end", model=request.model)

    def _shortest(self, schema: Json) -> JsonValue:
        value = minimal_value(schema)
        if not isinstance(value, dict):
            return value
        return {key: self._wanted.get(key, given) for key, given in value.items()}


class FaultyWorld:
    """The real agents with such a model, and tool functions that return little."""

    def __init__(self, model: OneFault, results: Mapping[str, JsonValue]) -> None:
        self._agents = AgentActivities(model, blobs=MemoryBlobs(), pricing=Pricing({}))
        self._results = results

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        """Run one model turn."""
        return await self._agents.run_agent(request)

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        """Return the result that the test names, else a short one."""
        if request.skill in self._results:
            result = self._results[request.skill]
            if result == FAILS:
                raise ApplicationError("no disk", type="FunctionFailed", non_retryable=True)
            return FunctionResult(data=result)
        if request.skill == "Python.run":
            assert isinstance(request.input, dict)
            return FunctionResult(data={"value": value_of(request.input), "output": ""})
        schema = find_function(request.skill).contract().output_schema
        return FunctionResult(data=minimal_value(schema))


def value_of(given: Json) -> JsonValue:
    """Return what our own rules come to; the sandbox has tests of its own."""
    *body, last = ast.parse(str(given["code"])).body
    assert isinstance(last, ast.Expr)
    inputs = given.get("inputs")
    names: dict[str, object] = {
        "re": re,
        "json": json,
        **(inputs if isinstance(inputs, dict) else {}),
    }
    exec(compile(ast.Module(body, []), "rules", "exec"), names)
    value: JsonValue = eval(compile(ast.Expression(last.value), "rules", "eval"), names)
    return value


def faulty_run(
    plan: Plan,
    context: Json,
    model: OneFault,
    results: Mapping[str, JsonValue],
    message: str | None = None,
    *,
    approves: bool = True,
    verdict: Literal["approve", "reject"] = "approve",
    comment: str = "",
    of: str = "",
    world: FaultyWorld | None = None,
) -> Skipped:
    """Run a plan to its end; a session gets one message, and approvals a decision or none.

    The verdict is for requests of the step `of`; all others are approved.
    """

    class Session(SkippingScope):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            if message is not None:
                receive(self.state.session, "m1", SessionInput(message=message))

        async def wait_until(
            self,
            ready: Callable[[], bool],
            seconds: float | None,
            summary: str,
            *,
            boundary: bool = True,
            stands_still: bool = True,
        ) -> bool:
            for id in [*self.state.pending] if approves else []:
                decision = verdict if of in id else "approve"
                self.decide(DecideInput(id=id, decision=decision, by="test", comment=comment))
            return await super().wait_until(
                ready, seconds, summary, boundary=boundary, stands_still=stands_still
            )

    own = world or FaultyWorld(model, results)
    return skipped_run(plan, context, own, scope_type=Session)
