"""What each kind of step does, leaves behind and comes to; in one process, for it is pure."""

from dataclasses import dataclass, field
from textwrap import indent
from typing import Any, cast

import pytest

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.values import Json
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.state import RunState, TrailRecord
from coterie.workflows.core.views import TeamResult
from coterie.workflows.interpreter import run
from tests.support.compiling import plan_of
from tests.support.runs import task_data
from tests.support.simulation.stopping import StoppingScope, World, fresh

HEAD = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: "Write."}}
    inner: {execution_plan: [{name: deep, type: set, values: {deepest: "{{ input.n + 1 }}"}}]}
    coder:
      execution_plan:
"""
TAIL = """
tools: {tests: {skill: CommandRunner.run, fixed: {command: pytest}}}
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - name: code
          agent_type: generic_orchestrating
          persona_key: coder
          input: {list: [1, 2, 3], name: ann, change: {file: a.py}}
    side:
      tasks: [{name: note, type: set, values: {seen: "{{ context.x }}"}}]
      routing: {context_updates: {y: "{{ context.x + 1 }}"}}
"""
WRITE = "agent_type: generic_single_shot, persona_key: writer, input: x"


@dataclass
class Ended:
    """How a run of a plan ended."""

    variables: Any
    """The plan's data: its variables, or what it returned."""
    error: str
    state: RunState
    world: World
    trail: list[TrailRecord] = field(default_factory=list[TrailRecord])

    def steps(self) -> list[tuple[str, str | None]]:
        """`(step, status)` of every step in the trail, without the agent around them."""
        found = [(e.step, e.status) for e in self.state.trail if e.kind == "step" and e.step]
        return [(step.removeprefix("code/"), status) for step, status in found if "/" in step]


def answer(request: AgentRequest | FunctionRequest) -> Json:
    if isinstance(request, AgentRequest):
        return {"text": f"{request.task} {request.visit}"}
    if request.skill == "AssetManager.process_action":
        return {"fails": "FunctionFailed"}
    return {"skill": request.skill, "input": request.input}


async def ended(steps: str, signals: dict[str, Any] | None = None) -> Ended:
    plan = plan_of(HEAD + indent(steps, " " * 8) + TAIL)
    state, world = fresh(plan, {"x": 1, "xs": ["a", "b"]}), World(answer)
    for name, payload in (signals or {}).items():
        state.signals[name] = [payload]
    error = ""
    try:
        result: TeamResult = await run(StoppingScope(plan, state, world, None))
    except RunFailed as failed:
        result, error = failed.result, str(failed)
    return Ended(task_data(result).get("code"), error, state, world)


def ended_branch(data: Json) -> Json:
    """What the data of a parallel step says of a branch that succeeded."""
    return {
        "status": "success",
        "success": True,
        "data": data,
        "error": None,
        "score": None,
        "seconds": 0.0,
    }


Row = tuple[str, Json]
ROWS: dict[str, Row] = {
    "set fills in written order and each value sees those before it": (
        '- {name: s, type: set, values: {a: 1, b: "{{ a + 1 }}", c: ["{{ b }}", {d: "{{ a }}"}]}}',
        {"a": 1, "b": 2, "c": [2, {"d": 1}]},
    ),
    "a plan sees its input and the run's context": (
        '- {name: s, type: set, values: {who: "{{ input.name }}", x: "{{ context.x }}"}}',
        {"who": "ann", "x": 1},
    ),
    "an agent's answer is kept where output_variable says": (
        f"- {{name: ask, {WRITE}, output_variable: said}}\n"
        '- {name: s, type: set, values: {same: "{{ said == tasks.ask.data }}"}}',
        {"said": {"text": "ask 1"}, "same": True},
    ),
    "an agent with a plan of its own has variables of its own": (
        "- {name: sub, agent_type: generic_orchestrating, persona_key: inner, input: {n: 4},\n"
        "   output_variable: sub}",
        {"sub": {"deepest": 5}},
    ),
    "a tool function gets its filled input": (
        '- {name: r, skill: CommandRunner.run, input: {command: "{{ input.name }}"},\n'
        "   output_variable: ran}",
        {"ran": {"skill": "CommandRunner.run", "input": {"command": "ann"}}},
    ),
    "a tool gets its arguments and what the document fixed": (
        "- {name: t, tool: '{{ \"tests\" }}', arguments: {command: rm, timeout: 5},\n"
        "   output_variable: ran}",
        {"ran": {"skill": "CommandRunner.run", "input": {"command": "pytest", "timeout": 5}}},
    ),
    "a loop over a list gives the data of each round's last step": (
        '- {name: l, iterate_on: "{{ input.list }}", loop_variable: n, output_variable: out,\n'
        '   body: [{name: s, type: set, values: {sq: "{{ n * n }}"}}]}',
        {
            "sq": 9,
            "out": {"rounds": 3, "results": [{"sq": 1}, {"sq": 4}, {"sq": 9}], "completed": True},
        },
    ),
    "a loop over an empty list does nothing": (
        "- {name: l, iterate_on: [], loop_variable: n, output_variable: out,\n"
        "   body: [{name: s, type: set, values: {a: 1}}]}",
        {"out": {"rounds": 0, "results": [], "completed": True}},
    ),
    "max_iterations bounds a list too": (
        "- {name: l, iterate_on: [1, 2, 3], loop_variable: n, max_iterations: 2,\n"
        '   body: [{name: s, type: set, values: {last: "{{ n }}"}}]}',
        {"last": 2},
    ),
    "break_when leaves after the round in which it holds": (
        "- {name: l, iterate_on: [1, 2, 3], loop_variable: n, break_when: '{{ n == 2 }}',\n"
        '   body: [{name: s, type: set, values: {last: "{{ n }}"}}]}',
        {"last": 2},
    ),
    "while is asked before each round": (
        "- {name: b, type: set, values: {n: 0}}\n"
        "- {name: l, type: loop, while: '{{ n < 2 }}', max_iterations: 9,\n"
        '   body: [{name: s, type: set, values: {n: "{{ n + 1 }}"}}]}\n'
        "- {name: k, type: loop, while: '{{ n < 2 }}', max_iterations: 9,\n"
        "   body: [{name: never, type: set, values: {wrong: 1}}]}",
        {"n": 2},
    ),
    "until is asked after each round, so there is one": (
        "- {name: l, type: loop, until: '{{ true }}', max_iterations: 9,\n"
        "   body: [{name: s, type: set, values: {ran: 1}}]}",
        {"ran": 1},
    ),
    "a bounded loop whose end never comes ends at its bound": (
        "- {name: l, type: loop, until: '{{ false }}', max_iterations: 4, loop_variable: i,\n"
        '   body: [{name: s, type: set, values: {last: "{{ i }}"}}]}',
        {"last": 3},
    ),
    "rounds at once have variables of their own and results in the list's order": (
        "- {name: l, iterate_on: [3, 1, 2], loop_variable: n, concurrency: 2,\n"
        '   output_variable: out, body: [{name: s, type: set, values: {m: "{{ n * 10 }}"}}]}',
        {"out": {"rounds": 3, "results": [{"m": 30}, {"m": 10}, {"m": 20}], "completed": True}},
    ),
    "a branch takes the first way that holds": (
        "- {name: b, type: branch, output_variable: way, branches: [\n"
        "   {condition: '{{ false }}', steps: [{name: one, type: set, values: {v: 1}}]},\n"
        "   {condition: '{{ true }}', steps: [{name: two, type: set, values: {v: 2}}]},\n"
        "   {condition: '{{ true }}', steps: [{name: three, type: set, values: {v: 3}}]}]}",
        {"v": 2, "way": {"chosen": 2, "data": {"v": 2}}},
    ),
    "a branch without a way that holds takes otherwise": (
        "- {name: b, type: branch, output_variable: way, branches: [\n"
        "   {condition: any_failure, steps: [{name: one, type: set, values: {v: 1}}]}],\n"
        "   otherwise: [{name: two, type: set, values: {v: 2}}]}",
        {"v": 2, "way": {"chosen": None, "data": {"v": 2}}},
    ),
    "a step whose when does not hold is skipped and sets nothing": (
        "- {name: a, type: set, values: {v: 1}, output_variable: o, when: any_failure}\n"
        '- {name: b, type: set, values: {status: "{{ tasks.a.status }}"}}',
        {"status": "skipped"},
    ),
    "a failed step may be passed over, and its error read": (
        "- {name: a, type: fail, error: Bad, message: 'no {{ input.name }}',\n"
        "   on_failure: continue}\n"
        '- {name: b, type: set, values: {e: "{{ tasks.a.error }}"}}',
        {"e": {"type": "Bad", "message": "no ann"}},
    ),
    "parallel ways are merged in written order": (
        "- {name: p, type: parallel, merge: {v: extend}, output_variable: p, branches: {\n"
        "   l: [{name: one, type: set, values: {v: 1, a: 1}}],\n"
        "   r: [{name: two, type: set, values: {v: 2}}]}}",
        {
            "v": [1, 2],
            "a": 1,
            "p": {
                "l": ended_branch({"v": 1, "a": 1}),
                "r": ended_branch({"v": 2}),
            },
        },
    ),
    "a try tells what was caught": (
        "- {name: t, type: try, output_variable: t,\n"
        "   steps: [{name: a, type: fail, error: Bad, message: m}],\n"
        "   catch: [{error: Other}, {error: [X, Bad], steps: [\n"
        '     {name: c, type: set, values: {why: "{{ error.type }} in {{ error.step }}"}}]}],\n'
        "   finally: [{name: f, type: set, values: {last: 1}}]}",
        {
            "why": "Bad in a",
            "last": 1,
            "error": {"type": "Bad", "message": "m", "step": "a"},
            "t": {
                "caught": {"type": "Bad", "message": "m", "step": "a"},
                "data": {"why": "Bad in a"},
            },
        },
    ),
    "a wait takes its time": (
        '- {name: w, type: wait, duration: "{{ context.x }}h", output_variable: w}',
        {"w": {"until": "2026-01-01T01:00:00+00:00"}},
    ),
    "a wait for a signal gives its payload": (
        "- {name: w, type: wait, signal: go, output_variable: w}",
        {"w": {"n": 7}},
    ),
    "a team as a step has a copy of the context": (
        "- {name: t, team: side, input: {x: 41}, output_variable: t}\n"
        '- {name: s, type: set, values: {x: "{{ context.x }}"}}',
        {
            "x": 1,
            "t": {
                "output": {"note": {"seen": 41}},
                "context": {"x": 41, "xs": ["a", "b"], "y": 42},
            },
        },
    ),
}


@pytest.mark.parametrize("promise", ROWS)
async def test_a_step_does_what_its_kind_promises(promise: str) -> None:
    steps, variables = ROWS[promise]
    result = await ended(steps, signals={"go": {"n": 7}})
    assert result.error == ""
    assert result.variables == variables


@pytest.mark.parametrize(
    ("steps", "returned"),
    [
        (
            "- {name: r, type: return, value: '{{ input.name }}'}\n- {name: n, type: set, "
            "values: {a: 1}}",
            "ann",
        ),
        (
            "- {name: l, iterate_on: [1, 2], loop_variable: n, body: [\n"
            "   {name: r, type: return, value: '{{ n }}'}]}",
            1,
        ),
        ("- {name: r, type: return}", None),
    ],
)
async def test_a_return_ends_the_plan_with_a_value(steps: str, returned: object) -> None:
    result = await ended(steps)
    assert result.variables == returned
    assert ("n", "success") not in result.steps()


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        ("- {name: f, type: fail, error: Bad, message: 'no {{ input.name }}'}", "Bad: no ann"),
        (
            "- {name: a, skill: AssetManager.process_action, input: {file_path: a, type: delete}}",
            "FunctionFailed: on purpose",
        ),
        (
            "- {name: l, iterate_on: '{{ input.name }}', loop_variable: n, body: [{name: s}]}",
            "NotAList: iterate_on of 'l' gives a str",
        ),
        (
            "- {name: s, type: set, values: {a: '{{ context.nope }}'}}",
            "TemplateFailed: {{ context.nope }}: context.nope has no value (context has: x, xs)",
        ),
        (
            "- {name: s, type: set, values: {a: 1}, when: '{{ context.nope }}'}",
            "TemplateFailed: {{ context.nope }}: context.nope has no value",
        ),
        (
            "- {name: t, tool: '{{ \"test\" }}'}",
            "UnknownTool: there is no tool 'test'; tools: tests. did you mean 'tests'?",
        ),
        (
            "- {name: l, iterate_on: [1, 2], loop_variable: n, body: [\n"
            "   {name: f, type: fail, message: 'at {{ n }}', when: '{{ n == 2 }}'}]}",
            "Failed: at 2",
        ),
        (
            "- {name: b, type: branch, branches: [{condition: '{{ context.nope }}',"
            " steps: [{name: s}]}]}",
            "TemplateFailed: {{ context.nope }}",
        ),
        (
            "- {name: p, type: parallel, join: 2, branches: {\n"
            "   a: [{name: f, type: fail, message: m}], "
            "b: [{name: s, type: set, values: {v: 1}}]}}",
            "Failed: 1 of 2 needed branches succeeded; a: m",
        ),
        (
            "- {name: t, type: try, steps: [{name: a, type: fail, error: Bad, message: m}],\n"
            "   catch: [{error: Other, steps: [{name: c, type: set, values: {v: 1}}]}]}",
            "Bad: m",
        ),
        (
            "- {name: t, type: try, steps: [{name: s, type: set, values: {v: 1}}],\n"
            "   finally: [{name: f, type: fail, error: Late, message: m}]}",
            "Late: m",
        ),
    ],
)
async def test_a_step_that_cannot_fails_with_a_word_for_it(steps: str, error: str) -> None:
    result = await ended(f"{steps}\n- {{name: after, type: set, values: {{v: 9}}}}")
    assert result.error.startswith(f"task 'code' of team 'work' failed: {error}")
    assert ("after", "skipped") in result.steps()


async def test_parallel_fails_when_two_branches_set_one_variable_without_a_merge_policy() -> None:
    result = await ended(
        "- {name: p, type: parallel, branches: {l: [{name: a, type: set, values: {v: 1}}],\n"
        "   r: [{name: b, type: set, values: {v: 2}}]}}"
    )
    assert "the branches 'l' and 'r' of 'p' both set the variable 'v'" in result.error


async def test_the_trail_tells_every_step_with_its_status() -> None:
    result = await ended(
        f"- {{name: l, iterate_on: [1, 2], loop_variable: n, body: [{{name: ask, {WRITE}}},\n"
        "   {name: odd, type: set, values: {v: 1}, when: '{{ n == 1 }}'}]}\n"
    )
    assert result.steps() == [
        ("l/ask", "success"),
        ("l/odd", "success"),
        ("l/ask", "success"),
        ("l/odd", "skipped"),
        ("l", "success"),
    ]
    assert result.world.calls == ["0001.work.ask", "0002.work.ask"]


async def test_an_outcome_of_a_step_is_what_later_steps_see_of_it() -> None:
    result = await ended(
        f'- {{name: ask, {WRITE}}}\n- {{name: s, type: set, values: {{t: "{{{{ tasks }}}}"}}}}'
    )
    expected = Outcome.succeeded({"text": "ask 1"})
    assert cast("Json", result.variables)["t"] == {
        "ask": {"success": True, "status": "success", "data": expected.data, "error": None}
    }
