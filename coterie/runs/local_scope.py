"""The second Scope: the same interpreter in one process, without Temporal and without durability.

For unit tests, dry runs and the agents of `local_agents.py`. Nothing survives the process;
whoever wants reliability starts a workflow.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Set
from datetime import UTC, datetime
from typing import Protocol

from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from activities.contracts import (
    AgentRequest,
    AgentResponse,
    FailureType,
    Notice,
    SkillRequest,
    SkillResult,
    Spent,
)
from dsl.model.evaluation_budget import EvaluationWork
from dsl.model.outcomes import Outcome
from dsl.model.plan import Plan
from dsl.values import Json
from workflows.approvals import decisions as approvals
from workflows.core.memory import PendingNotification
from workflows.core.messages import DecideInput
from workflows.core.pace import Branches, Pace
from workflows.core.patches import Patch
from workflows.core.requests import Decision
from workflows.core.scope import Call, CallFailed, Job, Leaving
from workflows.core.state import RunState
from workflows.core.views import TeamResult
from workflows.handlers.start_checks import begin
from workflows.interpreter import run
from workflows.temporal.branches import BranchGroup


class World(Protocol):
    """What the calls of a plan reach: the worker's own activities, called directly."""

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        """One model turn."""
        ...

    async def call_skill(self, request: SkillRequest) -> SkillResult:
        """One skill."""
        ...


class Refused(Exception):
    """A decision that cannot be taken."""


class LocalScope:
    """The effects of a run inside one process."""

    in_flight = 0
    leaving: Leaving | None = None

    def __init__(self, plan: Plan, state: RunState, world: World, *, run_id: str = "local") -> None:
        self.plan = plan
        self.state = state
        self.run_id = run_id
        self.notices: list[Notice] = []
        """What people would have been told."""
        self.work = EvaluationWork()
        self._world = world
        self._stirred = asyncio.Event()
        self._branches = Branches(plan.limits.max_concurrent_branches)

    def now(self) -> datetime:
        """The machine's clock, UTC."""
        return datetime.now(UTC)

    def time(self) -> float:
        """The same, in seconds of Unix time."""
        return self.now().timestamp()

    def patched(self, patch: Patch) -> bool:
        """It has no history that an older version wrote."""
        return True

    def cancelled(self) -> str | None:
        """Nobody cancels it but its caller, who wants an end at once."""
        return None

    async def checkpoint(self) -> None:
        """Let others go on."""
        self.work.take()
        await asyncio.sleep(0)

    def weigh(self, steps: int) -> None:
        """Every checkpoint lets others go on, whatever came before it."""

    async def rest(self) -> None:
        """Let others go on."""
        await asyncio.sleep(0)

    async def grouped(self, name: str, work: Coroutine[None, None, Outcome]) -> Outcome:
        """Nobody looks."""
        return await work

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        """One model turn; a failure that may pass is not tried again here."""
        try:
            async with asyncio.timeout(call.options.timeout):
                return await self._world.run_agent(request)
        except (ApplicationError, TimeoutError) as error:
            raise _expected(error, call) from error
        finally:  # once the turn is over: another may wait for its conversation
            asyncio.get_running_loop().call_soon(self._stirred.set)

    async def call_skill(self, request: SkillRequest, call: Call) -> SkillResult:
        """One skill, once."""
        try:
            async with asyncio.timeout(call.options.timeout):
                return await self._world.call_skill(request)
        except (ApplicationError, TimeoutError) as error:
            raise _expected(error, call) from error
        finally:
            self._stirred.set()

    def tell(self, telling: PendingNotification) -> None:
        """Keep it: here nobody is told."""
        self.notices.append(telling.notice)

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
    ) -> bool:
        """Wait until a decision or a signal makes it so."""
        try:
            async with asyncio.timeout(seconds):
                while not ready():
                    self._stirred.clear()
                    await self._stirred.wait()
        except TimeoutError:
            return False
        return True

    async def together(
        self,
        jobs: Mapping[str, Job],
        *,
        enough: Callable[[Set[str]], bool],
        at_once: int | None = None,
        seconds: float | None = None,
        wake: Callable[[], bool] | None = None,
    ) -> Set[str]:
        """Tasks of this event loop."""
        pace = Pace()
        ways = BranchGroup(jobs, self._branches, pace)
        woken = asyncio.create_task(
            self.wait_until(lambda: wake is not None and wake(), seconds, "")
        )
        try:
            while ways.go_on and not enough(ways.finished):
                pace.begin(pace.task + 1)  # this loop gives the thread back by itself
                ways.start(at_once)
                await asyncio.wait(
                    [woken, *ways.running.values()], return_when=asyncio.FIRST_COMPLETED
                )
                if not ways.ended() and woken.done():
                    break
        finally:
            woken.cancel()
            for task in ways.running.values():
                task.cancel()
            await asyncio.gather(woken, *ways.running.values(), return_exceptions=True)
            ways.leave()
        return ways.finished

    def decide(self, asked: DecideInput) -> Decision:
        """Take a decision of this run.

        Raises:
            Refused: with why it cannot be taken.
        """
        refusal = approvals.refusal(self.state, asked)
        if refusal is not None:
            raise Refused(refusal.message)
        decision = approvals.record(self.state, asked, self.now(), "update")
        self._stirred.set()
        return decision

    def signal(self, name: str, payload: JsonValue = None) -> None:
        """Give a named signal to whoever waits for it."""
        self.state.signals.setdefault(name, []).append(payload)
        self._stirred.set()


def _expected(error: ApplicationError | TimeoutError, call: Call) -> CallFailed:
    if isinstance(error, ApplicationError):
        details = error.details[0] if error.details else None
        spent = Spent.model_validate(details) if isinstance(details, dict) else None
        return CallFailed(error.type or "Error", error.message, spent)
    if call.options.effect == "once":
        return CallFailed(
            FailureType.OUTCOME_UNKNOWN,
            f"{call.summary} was not answered in time: whether it happened is not known",
        )
    seconds = call.options.timeout
    return CallFailed("Timeout", f"{call.summary} did not answer within {seconds:g} s")


async def run_local(plan: Plan, context: Json, world: World) -> TeamResult:
    """A whole plan in this process.

    Raises:
        RunFailed: as a durable run fails.
    """
    state = RunState()
    state.main.context = context
    begin(plan, state)
    return await run(LocalScope(plan, state, world))
