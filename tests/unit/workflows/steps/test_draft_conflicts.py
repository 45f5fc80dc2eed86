"""What steps with attempts write is all or nothing, also if the context has changed meanwhile."""

import pytest

from activities.contracts import AgentRequest, SkillRequest
from dsl.values import Json
from tests.support.one_team import agent, work
from tests.support.runs import task_data
from tests.support.simulation.stopping import StoppingScope, World, fresh
from workflows.interpreter import run


@pytest.mark.parametrize(
    ("amended", "seen", "context"),
    [
        ({}, ["success", None], {"p": {"q": 1}}),
        ({"p": 5}, ["failure", "ContextConflict"], {"p": 5}),
    ],
)
async def test_a_block_fails_whose_writes_an_amended_context_cannot_take(
    amended: Json, seen: list[str | None], context: Json
) -> None:
    plan = work(f"""
- name: both
  type: block
  retry: {{retries: 1, interval: 0}}
  on_failure: continue
  steps:
    - {{name: note, type: set, values: {{v: 1}}, context_updates: {{p.q: 1}}}}
    - {agent("act")}
- name: end
  type: return
  value: "{{{{ [tasks.both.status, tasks.both.error.type if tasks.both.error else none] }}}}"
""")
    state = fresh(plan, {})

    def answer(request: AgentRequest | SkillRequest) -> Json:
        state.main.context = dict(amended)
        return {}

    result = await run(StoppingScope(plan, state, World(answer), None))
    assert task_data(result)["end"] == seen
    assert state.main.context == context
