"""Every approval below a step is found with who decides it, wherever it is written."""

from collections.abc import Mapping

import pytest

from coterie.dsl.model.traversal.approvers import approvers_within, people
from tests.support.engine import plan_of

PLAN = plan_of("""
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: Write.}}
    builder:
      execution_plan:
        - {name: build, agent_type: generic_orchestrating, persona_key: inner}
    inner:
      execution_plan:
        - {name: sign, type: approval, prompt: "Well?", approvers: [kim], deadline: 1h}
        - {name: save, tool: save, arguments: {content: b}}
        - {name: some, tool: "{{ context.tool }}", arguments: {content: b}}
tools:
  save:
    skill: AssetManager.process_action
    fixed: {type: create, file_path: a.txt}
    requires_approval: {approvers: [sam]}
orchestration:
  entry_team: work
  groups: {leads: [ann, ben]}
  teams:
    work:
      tasks:
        - name: gate
          type: try
          steps: [{name: sign, type: approval, prompt: "Well?", approvers: [leads, ann]}]
          catch:
            - steps: [{name: later, type: approval, prompt: "Well?", approvers: [cid]}]
          finally: [{name: free, type: approval, prompt: "Well?"}]
        - name: ways
          type: parallel
          branches:
            left: [{name: agree, type: approval, prompt: "Well?", approvers: [dan]}]
            right: [{name: plain, type: set, values: {x: 1}}]
        - name: each
          type: loop
          iterate_on: [1, 2]
          concurrency: 2
          loop_variable: x
          body: [{name: allow, type: approval, prompt: "Well?", approvers: [eve]}]
        - {name: agent, agent_type: generic_orchestrating, persona_key: builder}
        - {name: write, agent_type: generic_single_shot, persona_key: writer,
           requires_approval: {at: after, approvers: [fay]}}
        - {name: call, type: team, team: other}
      routing: {default: other}
    other:
      tasks: [{name: sign, type: set, values: {x: 1}}]
      routing: {rules: [{condition: all_success, next_team: third}], default: null}
    third:
      tasks: [{name: sign, type: approval, prompt: "Well?", approvers: [gus], on_timeout: fourth,
               deadline: 1h}]
    fourth:
      tasks: [{name: sign, type: approval, prompt: "Well?", approvers: [hal]}]
""")
INNER = "work/agent/build"
BUILT = {f"{INNER}/sign": ("kim",), f"{INNER}/save": ("sam",), f"{INNER}/some": ("sam",)}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("work/gate", {"work/gate/sign": ("ann", "ben"), "work/gate/later": ("cid",)}),
        ("work/gate/sign", {"work/gate/sign": ("ann", "ben")}),
        ("work/ways", {"work/ways/left/agree": ("dan",)}),
        ("work/ways/left", {"work/ways/left/agree": ("dan",)}),
        ("work/ways/left/agree", {"work/ways/left/agree": ("dan",)}),
        ("work/ways/right/plain", {}),
        ("work/each/1/allow", {"work/each/allow": ("eve",)}),
        ("work/agent", BUILT),
        (f"{INNER}/some", {f"{INNER}/some": ("sam",)}),
        ("work/write", {"work/write": ("fay",)}),
        ("work/call", {"third/sign": ("gus",), "fourth/sign": ("hal",)}),
        ("other/sign", {}),
        ("work/nothing", {}),
        ("nowhere/at/all", {}),
    ],
)
def test_each_approval_below_a_step_is_found_by_its_whole_path(
    path: str, found: Mapping[str, tuple[str, ...]]
) -> None:
    assert dict(approvers_within(PLAN, path)) == found


def test_a_group_of_nobody_lets_nobody_decide_when_a_plan_brings_one() -> None:
    plan = PLAN.model_copy(update={"groups": {"leads": (), "others": ("kim",)}})
    assert people(plan, ("leads",)) == ("leads",)  # never (): that is anyone
    assert people(plan, ("leads", "others")) == ("leads", "kim")
    assert dict(approvers_within(plan, "work/gate/sign")) == {"work/gate/sign": ("leads", "ann")}
