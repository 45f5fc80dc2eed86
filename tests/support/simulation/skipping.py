"""A plan in one process, on a clock that skips whatever nobody does anything in."""

import asyncio
import math
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TypeVar

from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
    TokenUsage,
)
from coterie.agents.in_process_world import InProcessScope
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.runs.in_process.local_scope import LocalScope
from coterie.runs.in_process.local_scope import World as Reached
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import TeamResult
from coterie.workflows.handlers.start_checks import begin
from coterie.workflows.interpreter import run

T = TypeVar("T")
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
MOST_CALLS = 20_000
"""More than any generated document may make under its limits."""


class Stuck(Exception):
    """Nothing will ever happen again, and the run has not ended."""


class Endless(Exception):
    """The run goes on and on."""


class _Skipping(selectors.SelectSelector):
    """Where a loop would wait, its clock goes on instead."""

    clock = 0.0
    idle: Callable[[], None] = staticmethod(lambda: None)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            self.idle()
        elif timeout > 0:
            # a loop calls what is due before now, never what is due just now
            self.clock = math.nextafter(self.clock + timeout, math.inf)
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.clock

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: object
    ) -> asyncio.Future[T]:
        """Do a thread's work at once: a clock that skips waits for no thread."""
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(
                func(*args) if executor is None else executor.submit(func, *args).result()
            )
        except Exception as error:
            done.set_exception(error)
        return done

    def when_idle(self, do: Callable[[], None]) -> None:
        self._skipping.idle = do


class World:
    """Answers that depend on nothing but who is asked: the same in every run."""

    def __init__(self, *, late: bool = True) -> None:
        self.calls = 0
        self._late = 20.0 if late else 0.0
        """How long a late tool function takes."""

    def _chosen(self, key: str, ways: int) -> int:
        self.calls += 1
        if self.calls > MOST_CALLS:
            raise Endless(f"{self.calls} calls")
        return sha256(key.encode()).digest()[0] % ways

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        """An answer, now and then a failure."""
        usage = TokenUsage(input_tokens=1, output_tokens=1)
        way = self._chosen(f"{request.team}/{request.task}#{request.visit}", 6)
        if way == 0:
            raise ApplicationError("no answer", type="ProviderRefused", non_retryable=True)
        schema = request.persona.output_schema if request.persona is not None else None
        data: Json = {"text": f"answer {way}"}
        if schema is not None:
            data = {"status": ("PASS", "FAIL")[way % 2], "n": way}
        return AgentResponse(success=True, data=data, usage=usage)

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        """A result, now and then a failure, now and then late."""
        way = self._chosen(request.key, 5)
        if way == 0:
            raise ApplicationError("it could not", type="FunctionFailed", non_retryable=True)
        if way == 1:
            await asyncio.sleep(self._late)
        results: list[JsonValue] = [["x", "y"], {"k": 1}, "done", None, {"passed": True}]
        return FunctionResult(data=results[way])


class SkippingScope(LocalScope):
    """The local scope on the skipping clock."""

    steps = 0

    def now(self) -> datetime:
        return BEGAN + timedelta(seconds=asyncio.get_running_loop().time())

    async def checkpoint(self) -> None:
        self.steps += 1
        if self.steps > 5 * MOST_CALLS:
            raise Endless(f"{self.steps} steps")
        await super().checkpoint()


class RetryingScope(InProcessScope, SkippingScope):
    """Also tries calls again, as a server does."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A run that has ended."""

    result: TeamResult
    scope: SkippingScope
    error: str = ""
    """The type of what ended it, unless it completed."""

    @property
    def state(self) -> RunState:
        """What the run remembers."""
        return self.scope.state


def skipped_run(
    plan: Plan,
    context: Json,
    world: Reached | None = None,
    *,
    attended: bool = True,
    scope_type: type[SkippingScope] = SkippingScope,
) -> Skipped:
    """Run a plan to its end; who waits for a person or a signal gets one when all else rests.

    Raises:
        Stuck: nothing can happen any more.
        Endless: more happens than a run of this size may do.
    """
    state = RunState()
    state.main.context = context
    begin(plan, state)
    loop = _Loop()
    scope = scope_type(plan, state, world or World())
    gave: list[str] = []

    def wake() -> None:
        if not attended:
            raise Stuck(f"doing {list(state.doing)}")
        if state.pending:
            request_id = next(iter(state.pending))
            verdict = "approve" if sha256(request_id.encode()).digest()[0] % 3 else "reject"
            scope.decide(DecideInput(id=request_id, decision=verdict, by="test", comment=""))
        elif len(gave) < 200:
            for name in ("go", "stop"):
                scope.signal(name, {"number": len(gave)})
                gave.append(name)
        else:
            raise Stuck(f"doing {list(state.doing)}")

    loop.when_idle(wake)
    try:
        return Skipped(loop.run_until_complete(run(scope)), scope)
    except RunFailed as failed:
        return Skipped(failed.result, scope, failed.type)
    finally:
        loop.close()
