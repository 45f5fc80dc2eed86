"""A call that must not happen twice, and that is cut off, ends as unknown."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from activities.contracts import AgentRequest, SkillRequest, SkillResult
from dsl.values import Json
from tests.support.one_team import agent, work
from tests.support.runs import task_data
from tests.support.simulation.stopping import StoppingScope, World, fresh
from workflows.core.scope import Call, Job
from workflows.interpreter import run


class RacingScope(StoppingScope):
    """Runs branches concurrently and cuts off those that are not needed; a skill never answers."""

    async def call_skill(self, request: SkillRequest, call: Call) -> SkillResult:
        await asyncio.Event().wait()
        raise AssertionError("nobody answers")

    async def together(
        self,
        jobs: Mapping[str, Job],
        *,
        enough: Callable[[frozenset[str]], bool],
        at_once: int | None = None,
        seconds: float | None = None,
        wake: Callable[[], bool] | None = None,
    ) -> frozenset[str]:
        running = {asyncio.ensure_future(job()): name for name, job in jobs.items()}
        finished: frozenset[str] = frozenset()
        while not enough(finished):
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            finished |= {running.pop(task) for task in done}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        return finished


def answer(request: AgentRequest | SkillRequest) -> Json:
    return {"n": 1}


@pytest.mark.parametrize(
    ("skill", "command", "status", "error"),
    [
        ("CommandRunner.run_once", "deploy", "failure", "OutcomeUnknown"),
        ("CommandRunner.run", "pytest", "skipped", ""),
    ],
)
async def test_a_lost_call_ends_as_unknown_where_it_must_not_happen_twice(
    skill: str, command: str, status: str, error: str
) -> None:
    seen = "[tasks.deploy.status, tasks.deploy.error.type if tasks.deploy.error else '']"
    steps = f"""
        - name: race
          type: parallel
          join: any
          branches:
            slow: [{{name: deploy, skill: {skill}, input: {{command: {command}}}}}]
            fast: [{agent("quick")}]
        - {{name: end, type: return, value: "{{{{ {seen} + [tasks.race.data.winner] }}}}"}}
    """.replace("\\'", "'")
    plan = work(f"""
- name: follow
  agent_type: generic_orchestrating
  persona_key: writer
  config:
    prompts: null
    execution_plan:
{steps}
""")
    state = fresh(plan, {})
    result = await run(RacingScope(plan, state, World(answer), None))
    assert task_data(result)["follow"] == [status, error, "fast"]
    reasons = [entry.because for entry in state.trail if entry.step == "follow/race/slow/deploy"]
    assert any("OutcomeUnknown" in because for because in reasons) == bool(error)
