"""What the branches of a fan-out leave to the teams after it."""

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.values import Json
from tests.support.compiling import plan_of
from tests.support.one_team import agent
from tests.support.runs import task_data
from tests.support.simulation.skipping import skipped_run
from tests.support.simulation.stopping import stopped_everywhere, undisturbed

FAN_OUT = f"""
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {{prompts: {{user: "Write {{{{ input }}}}."}}}}
orchestration:
  entry_team: start
  teams:
    start:
      tasks: [{{name: begin, type: set, values: {{x: 1}}}}]
      routing: {{rules: [{{condition: all_success, next_team: [left, right], concentrator: both}}]}}
    left: {{tasks: [{agent("good")}], routing: {{default: both}}}}
    right:
      tasks: [{agent("good_first")}, {agent("bad")}]
      routing: {{rules: [{{condition: all_success, next_team: both}}]}}
    both:
      type: concentrator
      tasks:
        - name: seen
          type: set
          values:
            left: "{{{{ teams.left.tasks.good.data.n }}}}"
            right: "{{{{ teams.right is defined }}}}"
            ends: "{{{{ [branches.left.status, branches.right.status] }}}}"
"""


def answer(request: AgentRequest | FunctionRequest) -> Json:
    assert isinstance(request, AgentRequest)
    return {"fails": "Broken"} if request.task == "bad" else {"n": 1}


async def test_a_concentrator_sees_the_outcomes_of_done_branches_alone() -> None:
    first, _ = await undisturbed(plan_of(FAN_OUT), {}, answer)
    again, _ = await stopped_everywhere(plan_of(FAN_OUT), {}, answer)
    for result in (first, again):
        seen = task_data(result)["seen"]
        assert seen == {"left": 1, "right": False, "ends": ["done", "failed"]}


RESETTING = """
orchestration:
  entry_team: start
  context:
    notes: {type: array, default: [0]}
    kept: {type: integer, default: 1}
  teams:
    start:
      tasks: [{name: begin, type: set, values: {x: 1}, context_updates: {notes: [1], kept: 2}}]
      routing: {rules: [{condition: all_success, next_team: [left, right], concentrator: both}]}
    left: {resets: [notes], tasks: [{name: l, type: set, values: {x: 1}}], routing: {default: both}}
    right: {tasks: [{name: r, type: set, values: {x: 1}}], routing: {default: both}}
    both:
      type: concentrator
      tasks:
        - name: seen
          type: set
          values: {notes: "{{ context.notes }}", kept: "{{ context.kept }}"}
"""


async def test_a_path_that_a_branch_resets_has_its_default_after_the_fan_out() -> None:
    plan = plan_of(RESETTING)
    first, _ = await undisturbed(plan, {}, answer)
    again, _ = await stopped_everywhere(plan, {}, answer)
    for result in (first, again):
        assert task_data(result)["seen"] == {"notes": [0], "kept": 2}


BY_SIGNAL = """
orchestration:
  entry_team: start
  teams:
    start:
      tasks: [{name: begin, type: set, values: {x: 1}}]
      routing: {rules: [{condition: all_success, next_team: [quick, held], concentrator: both}]}
    quick: {tasks: [{name: note, type: set, values: {x: 1}}], routing: {default: both}}
    held: {tasks: [{name: hold, type: wait, signal: never}], routing: {default: both}}
    both:
      type: concentrator
      collect: {signal: go}
      tasks:
        - {name: again, type: wait, signal: go}
        - name: ends
          type: set
          values: {v: "{{ [branches.quick.status, branches.held.status] }}"}
"""


def test_the_signal_that_ends_a_fan_out_is_taken_by_it() -> None:
    """Who waits gets one signal of each name when all else rests, with a number."""
    run = skipped_run(plan_of(BY_SIGNAL), {})
    data = task_data(run.result)
    assert data["ends"] == {"v": ["done", "cancelled"]}
    assert data["again"] == {"number": 2}
