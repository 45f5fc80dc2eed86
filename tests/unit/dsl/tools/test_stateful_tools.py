"""One stateful agent in concurrent parts is a warning: its calls wait for each other."""

import pytest

from coterie.dsl.analysis.findings import analysed, warnings
from tests.support.compiling import compiled

HEAD = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    archivist: { prompts: { user: "{{ input.query }}" } }
    asker: { description: Asks., prompts: { user: "Ask." }, tools: [archivist] }
    abstainer: { prompts: { user: "Ask." }, tools: [archivist, plain], exclude_tools: [archivist] }
    boss: { prompts: { user: "Ask." }, subagents: [asker] }
    planner: { execution_plan: [PLANNED] }
tools:
  archivist: { agent: archivist, description: Knows the archive., stateful: STATEFUL }
  other: { agent: archivist, description: Knows the archive too., stateful: STATEFUL }
  plain: { agent: archivist, description: Knows nothing. }
orchestration:
  entry_team: look
  teams:
    first: { tasks: [{ name: go, type: set, values: { a: 1 } }], routing: { default: second } }
    second: { tasks: [PLANNED] }
    look:
      tasks:
        - STEP
"""


def call(name: str, tool: str = "archivist") -> str:
    return f"{{ name: {name}, tool: {tool}, arguments: {{ query: x }} }}"


def branches(first: str, second: str, more: str = "") -> str:
    return f"{{ name: it, type: parallel, branches: {{ a: [{first}], b: [{second}] }}{more} }}"


def loop(body: str, more: str = "") -> str:
    return f"{{ name: it, type: loop, iterate_on: [1, 2], loop_variable: n, body: [{body}]{more} }}"


def agent(persona: str) -> str:
    return f"{{ name: ask_{persona}, persona_key: {persona} }}"


TEAM = "{ name: run, type: team, team: first }"
CHOICE = (
    "{ name: choose, persona_key: '{{ context.who }}', personas: [asker, abstainer], "
    "input: { query: x } }"
)


def several(*tools: str) -> str:
    listed = ", ".join(f"{{ tool: {tool}, arguments: {{ query: x }} }}" for tool in tools)
    return f"{{ name: it, type: tool, calls: [{listed}] }}"


ASK = "{ name: ask, persona_key: asker }"

CONCURRENT = {
    "two branches": (branches(call("x"), call("y")), "branches"),
    "a branch and an agent's model": (branches(call("x"), ASK), "branches"),
    "a call within a block": (
        branches(call("x"), f"{{ name: b, type: block, steps: [{call('y')}] }}"),
        "branches",
    ),
    "concurrent rounds": (loop(call("x"), ", concurrency: 2"), "concurrency"),
    "concurrent tasks": (
        f"{{ name: it, type: task_graph, tasks: [{{ id: a }}], task_variable: t, concurrency: 2, "
        f"max_iterations: 5, body: [{call('x')}] }}",
        "concurrency",
    ),
    "a team that leads to the call": (branches(call("x"), TEAM), "branches"),
    "an agent's subagent": (branches(call("x"), agent("boss")), "branches"),
    "an execution plan": (branches(call("x"), agent("planner")), "branches"),
    "one of the personas of a template": (branches(call("x"), CHOICE), "branches"),
}
ALONE = {
    "an agent that excludes it": branches(call("x"), agent("abstainer")),
    "calls of two tools": several("archivist", "other"),
    "one branch": branches(call("x"), call("y", "other")),
    "one branch after another": branches(call("x"), call("y"), ", join: fallback"),
    "rounds in a row": loop(call("x")),
    "two calls of one branch": branches(f"{call('x')}, {call('y')}", call("z", "other")),
}


def warned(step: str, *, stateful: bool = True, more: str = "") -> list[tuple[str, str]]:
    text = (
        HEAD.replace("STEP", step)
        .replace("PLANNED", call("planned"))
        .replace("STATEFUL", str(stateful).lower())
        + more
    )
    done = compiled(text)
    return [(one.code, one.path) for one in warnings(done, analysed(done)) if one.code == "W524"]


@pytest.mark.parametrize("case", CONCURRENT)
def test_a_stateful_tool_in_concurrent_branches_is_a_warning(case: str) -> None:
    step, key = CONCURRENT[case]
    assert warned(step) == [("W524", f"orchestration.teams.look.tasks[0].{key}")]
    assert warned(step, stateful=False) == []


@pytest.mark.parametrize("case", ALONE)
def test_a_stateful_tool_that_works_alone_is_none(case: str) -> None:
    assert warned(ALONE[case]) == []


def test_two_of_several_calls_are_a_warning() -> None:
    step = several("archivist", "other", "archivist")
    assert warned(step) == [("W524", "orchestration.teams.look.tasks[0]")]


@pytest.mark.parametrize(("to", "count"), [("[first, second]", 1), ("[first, calm]", 0)])
def test_teams_of_a_fan_out_are_concurrent(to: str, count: int) -> None:
    routing = f"""
      routing: {{ rules: [{{ condition: {{ task: s, status: success }}, next_team: {to} }}] }}
    calm: {{ tasks: [{{ name: c, type: set, values: {{ a: 1 }} }}] }}
"""
    found = warned("{ name: s, type: set, values: { a: 1 } }", more=routing)
    path = "orchestration.teams.look.routing.rules[0].next_team"
    assert found == [("W524", path)] * count
