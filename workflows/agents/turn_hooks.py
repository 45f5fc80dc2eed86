"""The hooks around the turns and model calls of one agent."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from coterie.activities.contracts import AgentResponse
from coterie.dsl.hooks.hook_rulings import HookRuling
from coterie.dsl.json_schema.schema_checker import UnusableSchema, mismatches
from coterie.dsl.model.hooks import Hook, HookPoint
from coterie.dsl.model.plan import Plan
from coterie.dsl.tool_loop.exchange import ToolCallRequest
from coterie.dsl.tool_loop.tool_loop_progress import OpenCall
from coterie.dsl.values import Json
from coterie.workflows.agents.hook_points import HookVerdict, ask_hooks
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Scope

_UNASKED: Final = HookVerdict({})
"""Of an agent without hooks, which most are; nobody changes it."""


def hooks_of(plan: Plan, persona: str | None) -> tuple[Hook, ...]:
    """Return the hooks of an agent: the plan's, then the persona's own."""
    own = plan.personas.get(persona or "")
    return plan.hooks if own is None or not own.hooks else (*plan.hooks, *own.hooks)


@dataclass(eq=False)
class TurnHooks:
    """Asks the hooks of one agent about its turns."""

    hooks: Sequence[Hook]
    _persona: str
    _task: str
    _location: Location
    _scope: Scope
    _retries: dict[str, int]
    """`{hook: retries so far}` of the agent."""
    _schema: Json | None = None
    """Of the agent's answers."""

    def of_agent(self, turn: int) -> Json:
        """Return the facts about whose turn it is."""
        return {"agent": self._persona, "task": self._task, "turn": turn}

    async def begin(self, turn: int, model: str, inputs: Json) -> HookVerdict:
        """Ask before a turn, and before its first call of a model."""
        if not self.hooks:
            return _UNASKED
        begun = await self._ask("before_turn", self.of_agent(turn))
        if begun.stop is not None:
            return begun
        asking = await self.before_call(turn, model, inputs)
        asking.notes = begun.notes + asking.notes
        return asking

    async def before_call(self, turn: int, model: str, inputs: Json) -> HookVerdict:
        """Ask before a call of a model."""
        if not self.hooks:
            return _UNASKED
        facts: Json = {**self.of_agent(turn), "model": model, "inputs": inputs}
        return await self._ask("before_model_call", facts)

    async def after_call(
        self, turn: int, model: str, response: AgentResponse
    ) -> tuple[HookVerdict, AgentResponse]:
        """Ask after a call of a model that has an answer; return it as hooks changed it."""
        if not response.success or not self.hooks:
            return _UNASKED, response
        calls = response.tool_calls
        facts: Json = {
            **self.of_agent(turn),
            "model": model,
            "answer": None if calls else response.data,
            "calls": [_view_of_call(call) for call in calls],
        }
        verdict = await self._ask("after_model_call", facts)
        answer = verdict.facts["answer"]
        if not verdict.changed_by or calls:
            return verdict, response
        problem = _problem(answer, self._schema)
        if problem:
            hook = verdict.changed_by[-1]
            verdict.ruling = HookRuling(
                hook, "fail", f"its `value` is not a valid answer: {problem}"
            )
        return verdict, response.model_copy(update={"data": answer})

    async def after_turn(
        self, turn: int, answer: JsonValue, calls: Sequence[OpenCall] = ()
    ) -> HookVerdict:
        """Ask after a turn and its calls."""
        if not self.hooks:
            return _UNASKED
        made: list[JsonValue] = [
            {
                "tool": call.tool,
                "arguments": call.arguments,
                "failed": call.result is None or call.result.failed,
            }
            for call in calls
        ]
        facts: Json = {**self.of_agent(turn), "answer": None if made else answer, "calls": made}
        return await self._ask("after_turn", facts)

    async def _ask(self, point: HookPoint, facts: Json) -> HookVerdict:
        location, scope = self._location, self._scope
        return await ask_hooks(self.hooks, point, facts, location, scope, retries=self._retries)


def _view_of_call(call: ToolCallRequest) -> JsonValue:
    return {"tool": call.tool, "arguments": call.arguments}


def _problem(answer: JsonValue, schema: Json | None) -> str | None:
    """Return why a value cannot be the agent's answer, if it cannot."""
    if schema is None:
        return None
    try:
        return "; ".join(mismatches(answer, schema, "answer"))
    except UnusableSchema as error:
        return str(error)
