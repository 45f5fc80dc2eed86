"""Run an agent in this process: the interpreter of durable runs, without a server.

For tests, notebooks and small programs.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Sequence

from pydantic import JsonValue, ValidationError

from coterie.activities.model_prices import Pricing
from coterie.activities.providers.provider_registry import Providers
from coterie.activities.tool_functions.function_registry import TOOL_FUNCTIONS, AnyFunction
from coterie.activities.user_code.child_pool import UserCode
from coterie.activities.workspace.function_failures import validation_problems
from coterie.agents.agent_documents import CompiledAgent
from coterie.agents.agent_state import AgentEvent, AgentState, RunObserver, WatchedState
from coterie.agents.in_process_world import (
    AgentContext,
    InProcessScope,
    InProcessWorld,
    ScriptedModel,
    in_process_functions,
)
from coterie.documents.tool_discovery import tool_code
from coterie.documents.worker_trust import key_names, missing_keys
from coterie.dsl.strict_json import unsound_part
from coterie.dsl.values import Json
from coterie.runs.in_process.local_scope import Refused
from coterie.worker.command_sandbox import command_sandbox
from coterie.worker.surroundings import provider_makers, provider_settings, workspace_of
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.views import TeamResult
from coterie.workflows.handlers.start_checks import begin
from coterie.workflows.interpreter import run

_SETTLING = 0.02
"""Seconds without a call in progress after which a run that asks a person stands still."""


_CANCELLED = "Cancelled"
_PROGRAM = "the program"
"""Who answers by the `answer` of a context."""


class AgentRun:
    """One run of an agent in this process.

    Iterate over it for its events; `result` waits for its end, or until it asks a person.
    """

    def __init__(self, compiled: CompiledAgent, context: AgentContext) -> None:
        """Prepare the run.

        Raises:
            ValueError: The key of a provider is missing, or the script is invalid.
        """
        document, plan, trusted, settings = compiled
        self._answerer = context.answer
        self._models = tool_code(settings)
        self._providers = _providers(compiled, context.script, self._models)
        sandbox, _ = command_sandbox(trusted, settings)
        own = in_process_functions(document.functions.values(), settings)
        functions: dict[str, AnyFunction] = {**TOOL_FUNCTIONS, **own}
        world = InProcessWorld(
            self._providers,
            workspace_of(trusted, settings, sandbox),
            functions,
            Pricing(provider_settings(trusted, settings)),
        )
        self._agent = document.agent.id
        self._observer = RunObserver(self._agent)
        self._run_state = WatchedState()
        self._run_state.observe(self._observer)
        self._stirred = asyncio.Event()
        self._observer.on_event = self._stirred.set
        self._scope = InProcessScope(plan, self._run_state, world)
        self._scope.call_ended = self._stirred.set
        self._plan = plan
        self._task: asyncio.Task[TeamResult] | None = None

    def start(self, context: Json) -> "AgentRun":
        """Begin in the background of the running event loop; return the run."""
        self._run_state.main.context = context
        self._task = asyncio.get_running_loop().create_task(self._whole())
        self._task.add_done_callback(lambda _: self._stirred.set())
        return self

    async def _whole(self) -> TeamResult:
        try:
            begin(self._plan, self._run_state)
            return await run(self._scope)
        finally:
            await self._providers.close()
            await self._models.close()

    @property
    def state(self) -> AgentState:
        """The state of the run now."""
        state, task = self._run_state, self._task
        persona = self._plan.personas[self._agent]
        pending = None if self._scope.busy else next(iter(state.pending.values()), None)
        now = AgentState(
            status="running" if pending is None else "paused",
            iteration=self._observer.turns,
            max_iterations=persona.max_turns,
            router_decision=self._observer.decision,
            tool_history=self._observer.history(running=task is None or not task.done()),
            pause_reason=None if pending is None else pending.prompt,
            model_calls=state.model_calls,
            input_tokens=state.usage.input_tokens,
            output_tokens=state.usage.output_tokens,
        )
        if task is None or not task.done():
            return now
        now = now._replace(status="failed", pause_reason=None)
        if task.cancelled():
            return now._replace(error="the run was cancelled", error_type=_CANCELLED)
        failure = task.exception()
        if isinstance(failure, RunFailed):
            cost = failure.result.cost
            return now._replace(error=str(failure), error_type=failure.type, cost=cost)
        result = task.result()
        output = result.output
        return now._replace(
            status="completed",
            data=output.get(self._agent) if isinstance(output, dict) else None,
            iteration=now.iteration or min(result.model_calls, 1),
            cost=result.cost,
        )

    async def result(self) -> AgentState:
        """Wait until the run has ended or asks a person, and return its state.

        The `answer` of its context answers questions; nothing but a decision ends an approval.
        """
        while True:
            while not self._stands_still():
                await self._next()
                if self._stands_still():
                    await asyncio.sleep(_SETTLING)  # a concurrent branch may continue
            question = next(iter(self._run_state.pending.values()), None)
            if self._answerer is None or question is None or not question.is_question:
                return self.state
            answer = self._answerer(question.prompt)
            self.answer(_PROGRAM, await answer if inspect.isawaitable(answer) else answer)

    async def __aiter__(self) -> AsyncIterator[AgentEvent]:
        """Yield the events of the run until it ends or asks a person."""
        index = 0
        while True:
            still = self._stands_still()
            while index < len(self._observer.events):
                yield self._observer.events[index]
                index += 1
            if still:
                return
            await self._next()

    def approve(self, by: str, comment: str = "") -> "AgentRun":
        """Allow what the run asks; it continues.

        Raises:
            ValueError: It asks nothing, or not this person.
        """
        if self._run_state.pending[self._open_question()].is_question:
            raise ValueError("the run asks a question; answer it by answer(by, ...)")
        return self._decide("approve", by, comment=comment)

    def answer(self, by: str, answer: JsonValue) -> "AgentRun":
        """Answer the question of `Person.ask`, or of an MCP server; the run continues.

        Args:
            by: Who answers.
            answer: A text or a choice, or the object that the question's schema describes.

        Raises:
            ValueError: It asks nothing, or not this person, or the answer does not fit.
        """
        payload: JsonValue = answer if isinstance(answer, dict) else {"answer": answer}
        return self._decide("approve", by, payload=payload)

    def reject(self, by: str, comment: str = "") -> "AgentRun":
        """Refuse what the run asks; the model learns the comment.

        Raises:
            ValueError: It asks nothing, or not this person.
        """
        return self._decide("reject", by, comment=comment)

    async def cancel(self) -> None:
        """End the run now."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _open_question(self) -> str:
        request = next(iter(self._run_state.pending), None)
        if request is None:
            raise ValueError("the run asks nothing: its status is not 'paused'")
        return request

    def _decide(self, decision: str, by: str, **more: JsonValue) -> "AgentRun":
        values = {"id": self._open_question(), "decision": decision, "by": by, **more}
        unsound = unsound_part(values)
        if unsound is not None:
            raise ValueError(f"in the decision, {unsound}")
        try:
            self._scope.decide(DecideInput.model_validate(values))
        except ValidationError as error:
            raise ValueError(f"the decision is invalid: {validation_problems(error)}") from None
        except Refused as refusal:
            raise ValueError(str(refusal)) from None
        return self

    def _stands_still(self) -> bool:
        ended = self._task is None or self._task.done()
        return ended or (bool(self._run_state.pending) and not self._scope.busy)

    async def _next(self) -> None:
        """Wait until something happens in the run."""
        self._stirred.clear()
        await self._stirred.wait()


def _providers(
    compiled: CompiledAgent, script: Sequence[Json] | None, models: UserCode
) -> "Providers | ScriptedModel":
    if script is not None:
        return ScriptedModel(script)
    _, plan, trusted, settings = compiled
    lacking = missing_keys(key_names(plan, trusted), settings)
    if lacking:
        raise ValueError("; ".join(lacking))
    reached = provider_settings(trusted, settings)
    return Providers(reached, provider_makers(trusted, reached, models))
