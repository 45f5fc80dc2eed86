"""Context updates of steps: when they apply, who sees them, and what never comes of them."""

from typing import Any

import pytest

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.values import Json
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.views import TeamResult
from tests.support.compiling import plan_of
from tests.support.one_team import agent, document, work
from tests.support.simulation.stopping import stopped_everywhere, undisturbed


def one(request: AgentRequest | FunctionRequest) -> Json:
    return {"n": 1}


async def came_to(tasks: str, context: Json | None = None, more: str = "") -> TeamResult:
    """What the run comes to: the same when it is stopped at every second step."""
    plan = work(tasks, more)
    first, _ = await undisturbed(plan, context or {}, one)
    again, _ = await stopped_everywhere(plan, context or {}, one)
    assert again.context == first.context
    assert again.output == first.output
    return first


def given_by(result: TeamResult) -> Json:
    """The data of the last team's tasks."""
    assert isinstance(result.output, dict)
    return result.output


KINDS = {
    "agent": agent("a").rstrip("}"),
    "set": "{name: a, type: set, values: {n: 1}",
    "wait": "{name: a, type: wait, duration: 1",
    "branch": "{name: a, branches: [{condition: '{{ true }}', steps: [{name: b, type: set, "
    "values: {n: 1}}]}]",
    "loop": "{name: a, iterate_on: [1, 2], loop_variable: i, body: [{name: b, type: set, "
    "values: {n: 1}}]",
    "parallel": "{name: a, type: parallel, branches: {x: [{name: b, type: set, values: {n: 1}}]}",
    "try": "{name: a, type: try, catch: [{error: '*', steps: []}], steps: [{name: b, type: set, "
    "values: {n: 1}}]",
    "team": "{name: a, team: other",
    "approval": "{name: a, type: approval, prompt: Well?, deadline: 1h",
}
OTHER = "other: {tasks: [{name: o, type: set, values: {n: 1}}]}\n"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_step_of_any_kind_writes_once_it_has_succeeded(kind: str) -> None:
    task = (
        f'- {KINDS[kind]}, context_updates: {{seen: {{append: "{{{{ data is defined }}}}"}}}}}}\n'
    )
    assert (await came_to(task, more=OTHER)).context["seen"] == [True]


async def test_a_later_step_sees_what_an_earlier_one_wrote() -> None:
    result = await came_to(
        "- {name: a, type: set, values: {n: 4}, context_updates: {deep.n: '{{ data.n }}'}}\n"
        "- {name: b, type: set, values: {m: '{{ context.deep.n + 1 }}'}}\n"
    )
    assert given_by(result)["b"] == {"m": 5}


@pytest.mark.parametrize(
    "step",
    [
        "{name: a, type: set, values: {n: '{{ context.none.at }}'}, on_failure: continue, "
        "context_updates: {x: 1}}",
        "{name: a, type: set, values: {n: 1}, when: '{{ false }}', context_updates: {x: 1}}",
        "{name: a, type: set, values: {n: 1}, on_failure: continue, "
        "context_updates: {x: 1, n: {increment: 1}}}",
        "{name: a, type: set, values: {n: 1}, on_failure: continue, "
        "context_updates: {x: '{{ context.none.at }}'}}",
    ],
    ids=["failed", "did not run", "a wrong type", "a template without a value"],
)
async def test_a_step_that_did_not_succeed_writes_nothing(step: str) -> None:
    assert (await came_to(f"- {step}\n", {"n": "text"})).context == {"n": "text"}


async def test_an_update_reads_how_long_its_step_took() -> None:
    task = (
        "- {name: a, type: wait, duration: 4, context_updates: "
        "{took: {append: '{{ [seconds, tasks.a.seconds] }}'}}}\n"
    )
    assert (await came_to(task)).context["took"] == [[4.0, 4.0]]


async def test_a_failed_write_fails_its_step_by_name() -> None:
    with pytest.raises(RunFailed, match="ContextUpdateFailed: context_updates: 'n': `increment`"):
        await came_to(
            "- {name: a, type: set, values: {m: 1}, context_updates: {n: {increment: 1}}}\n",
            {"n": "text"},
        )


def both(left: str, right: str, more: str = "", at: str = "") -> str:
    """Two branches, each one step that writes, and one that looks at the context."""

    def look(name: str) -> str:
        value = "{{ context.a | default(0) }}"
        return f"{{name: {name}{at}, type: set, values: {{{name}{at}: '{value}'}}}}"

    return f"""
- name: both{at}
  type: parallel
{more}
  branches:
    left:
      - {{name: l{at}, type: set, context_updates: {{{left}}}}}
      - {look("left_sees")}
    right:
      - {{name: r{at}, type: set, context_updates: {{{right}}}}}
      - {look("right_sees")}
- {look("seen")}
"""


async def test_a_branch_sees_its_own_writes_and_those_of_others_when_they_join() -> None:
    result = await came_to(both("a: {append: 1}", "a: {extend: [2, 3]}"), {"a": [0]})
    assert result.context["a"] == [0, 1, 2, 3]
    both_gave: Any = given_by(result)["both"]
    assert {name: one["data"] for name, one in both_gave.items()} == {
        "left": {"left_sees": [0, 1]},
        "right": {"right_sees": [0, 2, 3]},
    }
    assert given_by(result)["seen"] == {"seen": [0, 1, 2, 3]}


async def test_two_branches_that_replace_one_path_are_in_conflict() -> None:
    with pytest.raises(RunFailed, match=r"left, right all set the context's 'a'; use `append`"):
        await came_to(both("a: 1", "a: 2"))


async def test_a_policy_for_a_context_path_decides_between_branches() -> None:
    result = await came_to(both("a: 1", "a: 2", "  merge: {context.a: extend}"))
    assert result.context["a"] == [1, 2]


@pytest.mark.parametrize(
    ("more", "after"),
    [("  join: any\n  losers: cancel", [1]), ("  join: 2", [1, 3])],
    ids=["a loser", "a failed branch"],
)
async def test_what_a_loser_or_a_failed_branch_wrote_is_discarded(more: str, after: Any) -> None:
    result = await came_to(f"""
- name: race
  type: parallel
{more}
  branches:
    first: [{{name: f, type: set, context_updates: {{a: {{append: 1}}}}}}]
    second:
      - {{name: s, type: set, context_updates: {{a: {{append: 2}}}}}}
      - {{name: no, type: fail, message: no}}
    third: [{{name: t, type: set, context_updates: {{a: {{append: 3}}}}}}]
""")
    assert result.context["a"] == after


async def test_branches_within_branches_join_step_by_step() -> None:
    inner = both("a: {append: 2}", "a: {append: 3}", at="2").replace("\n", "\n      ")
    result = await came_to(f"""
- name: outer
  type: parallel
  branches:
    one: [{{name: o, type: set, context_updates: {{a: {{append: 1}}}}}}]
    two:
      - {{name: before, type: set, context_updates: {{a: {{append: 0}}}}}}{inner}
""")
    assert result.context["a"] == [1, 0, 2, 3]


async def test_concurrent_rounds_join_in_the_order_of_the_list() -> None:
    result = await came_to("""
- name: each
  type: loop
  iterate_on: [{id: a.b}, {id: c}, {id: d}]
  loop_variable: item
  concurrency: 2
  body:
    - name: note
      type: set
      context_updates:
        seen: {append: "{{ item.id }}"}
        "status.{{ item.id }}.done": true
        count: {increment: 1}
""")
    assert result.context == {
        "seen": ["a.b", "c", "d"],
        "status": {"a.b": {"done": True}, "c": {"done": True}, "d": {"done": True}},
        "count": 3,
    }


RETRIED = """
- name: again
  type: loop
  iterate_on: [1, 2]
  loop_variable: i
  {how}
  on_failure: {after}
  body:
    - {{name: note, type: set, context_updates: {{seen: {{append: "{{{{ i }}}}"}}}}}}
    - {call}
    - {{name: check, type: fail, message: no, when: "{{{{ context.seen | length > 1 }}}}"}}
"""


async def test_what_failed_attempts_wrote_is_discarded() -> None:
    tasks = RETRIED.format(how="retry: {retries: 2}", after="continue", call=agent("ask"))
    assert "seen" not in (await came_to(tasks)).context


async def test_without_further_attempts_a_step_that_succeeded_has_written() -> None:
    tasks = RETRIED.format(how="max_iterations: 2", after="continue", call=agent("ask"))
    assert (await came_to(tasks)).context["seen"] == [1, 2]


async def test_what_a_person_has_retried_and_then_skipped_writes_nothing() -> None:
    tasks = RETRIED.format(how="max_iterations: 2", after="ask", call=agent("ask"))
    assert "seen" not in (await came_to(tasks)).context


async def test_an_attempt_that_succeeds_at_last_writes_once() -> None:
    answers: list[Json] = [{"fails": "ProviderUnavailable"}, {"n": 1}]
    failing = iter(answers)
    plan = work(f"""
- name: again
  type: try
  retry: {{retries: 3}}
  catch: []
  finally: [{{name: last, type: set, values: {{n: 1}}}}]
  steps:
    - {{name: note, type: set, context_updates: {{seen: {{append: 1}}}}}}
    - {agent("ask")}
""")
    result, _ = await undisturbed(plan, {}, lambda _: next(failing))
    assert result.context == {"seen": [1]}


async def test_a_called_team_writes_to_its_own_copy_and_its_step_brings_it_back() -> None:
    other = "other: {tasks: [{name: o, type: set, context_updates: {a: {append: 2}, b: 1}}]}\n"
    back = "{name: call, team: other, context_updates: {a: '{{ data.context.a }}'}}"
    assert (await came_to(f"- {back}\n", {"a": [1]}, other)).context == {"a": [1, 2]}


async def test_branches_of_a_fan_out_append_without_a_conflict() -> None:
    text = document("- {name: begin, type: set, values: {n: 1}}\n") + (
        "      routing: {rules: [{condition: all_success, next_team: [left, right]}]}\n"
        "    left: {tasks: [{name: l, type: set, context_updates: {a: {append: 1}}}], routing: "
        "{context_updates: {n: {increment: 1}}, default: meet}}\n"
        "    right: {tasks: [{name: r, type: set, context_updates: {a: {append: 2}}}], routing: "
        "{context_updates: {n: {increment: 2}}, default: meet}}\n"
        "    meet: {type: concentrator, tasks: [{name: m, type: set, values: {n: 1}}]}\n"
    )
    for run in (undisturbed, stopped_everywhere):
        result, _ = await run(plan_of(text), {}, one)
        assert result.context == {"a": [1, 2], "n": 3}


async def test_a_task_of_a_graph_writes_when_it_has_succeeded_and_later_tasks_see_it() -> None:
    result = await came_to("""
- name: graph
  type: task_graph
  tasks: [{id: one}, {id: two, dependencies: [one]}, {id: bad}]
  task_variable: task
  on_failed_task: skip
  body:
    - name: note
      type: set
      context_updates:
        seen: {append: "{{ task.id }} after {{ context.seen | default([]) | length }}"}
    - {name: check, type: fail, message: no, when: "{{ task.id == 'bad' }}"}
""")
    assert result.context == {"seen": ["one after 0", "two after 1"]}
