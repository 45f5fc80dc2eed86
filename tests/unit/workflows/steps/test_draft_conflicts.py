"""What steps with attempts write is all or nothing, also if the context has changed meanwhile."""

import pytest

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.values import Json
from coterie.workflows.interpreter import run
from tests.support.compiling import plan_of
from tests.support.one_team import agent, work
from tests.support.runs import task_data
from tests.support.simulation.stopping import StoppingScope, World, fresh


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

    def answer(request: AgentRequest | FunctionRequest) -> Json:
        state.main.context = dict(amended)
        return {}

    result = await run(StoppingScope(plan, state, World(answer), None))
    assert task_data(result)["end"] == seen
    assert state.main.context == context


SETS = "type: set, values: {v: 1}"
LEFT = f"{{name: one, {SETS}, context_updates: {{found: 1}}}}"
RIGHT = f"{{name: two, {SETS}, context_updates: {{found: 2}}}}"
JOINS = {
    "branches that write one path": f"""
  type: parallel
  branches: {{left: [{LEFT}], right: [{RIGHT}]}}
""",
    "branches that set one variable": """
  type: parallel
  branches:
    left: [{name: one, type: set, values: {x: 1}}]
    right: [{name: two, type: set, values: {x: 2}}]
""",
    "concurrent rounds": f"""
  type: loop
  iterate_on: [1, 2]
  loop_variable: item
  concurrency: 2
  body: [{{name: one, {SETS}, context_updates: {{found: 1}}}}]
""",
    "concurrent teams": """
  type: team
  team: spread
""",
}
TEAMS = f"""
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - name: both
          on_failure: continue
JOIN
        - name: end
          type: return
          value: ["{{{{ tasks.both.status }}}}", "{{{{ tasks.both.error.type }}}}"]
    spread:
      tasks: [{{name: begin, {SETS}}}]
      routing: {{rules: [{{condition: all_success, next_team: [left, right]}}]}}
    left: {{tasks: [{LEFT}]}}
    right: {{tasks: [{RIGHT}]}}
"""


@pytest.mark.parametrize("join", JOINS)
async def test_a_step_whose_concurrent_writers_conflict_fails_and_its_on_failure_decides(
    join: str,
) -> None:
    lines = (f"        {line}" for line in JOINS[join].strip("\n").splitlines())
    plan = plan_of(TEAMS.replace("JOIN", "\n".join(lines)))
    state = fresh(plan, {})
    result = await run(StoppingScope(plan, state, World(lambda _: {}), None))
    assert task_data(result)["end"] == ["failure", "ContextConflict"]
    assert state.main.context == {}
