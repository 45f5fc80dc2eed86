"""The interpreter's own time per step, without Temporal: compile once, route many times."""

import asyncio
import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from bench import team
from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.evaluate.context import apply
from coterie.dsl.evaluate.prompt_choice import snapshot
from coterie.dsl.evaluate.prompt_facts import slice_for
from coterie.dsl.evaluate.routing import choose
from coterie.dsl.model.evaluation_budget import EvaluationWork
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.values import Json
from coterie.workflows.core.scope import Call
from coterie.workflows.core.state import RunState
from coterie.workflows.handlers.start_checks import begin
from coterie.workflows.interpreter import run
from coterie.workflows.temporal.durable_scope import DurableScope

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_SECONDS = _NOW.timestamp()


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured time."""

    case: str
    n: int
    """Keys of the context; 0 where it has none."""
    microseconds: float


def figures(steps: int, repeats: int) -> list[Figure]:
    """Compile, the language's part of a step, and the whole interpreter, by size of context."""
    gc.collect()
    gc.freeze()  # as a worker does: its collector passes over what was imported
    plan = team.plan(steps)
    answers = [Figure("compile", 0, _best(repeats, 1, lambda: team.plan(steps)))]
    for keys in (10, 200, 1000):
        context = _context(keys)
        shown = _best(repeats, steps, lambda context=context: _language(plan, context, steps))
        answers.append(Figure("language", keys, shown))
        shown = _best(repeats, steps, lambda context=context: _interpret_run(plan, context))
        answers.append(Figure("interpreter", keys, shown))
    return answers


def _best(repeats: int, steps: int, work: Callable[[], object]) -> float:
    """Microseconds of CPU per step: the least of several times, which others disturbed least."""
    work()
    times: list[float] = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        times.append((time.process_time() - began) / steps * 1e6)
    return min(times)


def _context(keys: int) -> Json:
    """A context of so many keys, every tenth of them a small mapping."""
    context = team.context()
    for number in range(keys - len(context)):
        nested: Json = {"files": ["a.py", "b.py"], "count": number}
        context[f"key_{number}"] = nested if number % 10 == 0 else f"value {number}"
    return context


def _language(plan: Plan, context: Json, steps: int) -> None:
    """What `dsl` does for a step: what the agent is sent, the route, the new context."""
    looped = plan.teams["loop"]
    step = looped.steps[0]
    assert isinstance(step, PersonaStep)
    outcome = Outcome.succeeded(team.response().data)
    for visit in range(1, steps + 1):
        facts = Facts(context=context, run={"visit": visit, "team": "loop"})
        persona = snapshot(plan.personas["editor"], step)
        slice_for(persona, step, facts)
        route = choose(looped, facts._replace(tasks={step.name: outcome}))
        context = apply(context, route.writes)


class _Answered(DurableScope):
    """The Scope of a run outside Temporal: its agent has answered before it is asked."""

    def __init__(self, plan: Plan, state: RunState) -> None:
        self.plan = plan
        self.state = state
        self.run_id = "bench"
        self.work = EvaluationWork()
        self._response = team.response()

    def now(self) -> datetime:
        return _NOW

    def time(self) -> float:
        return _SECONDS

    async def checkpoint(self) -> None:
        self.work.take()

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        return self._response


def _interpret_run(plan: Plan, context: Json) -> None:
    """A whole run, its agent answering at once."""
    state = RunState()
    state.main.context = context
    begin(plan, state)
    asyncio.run(run(_Answered(plan, state)))
