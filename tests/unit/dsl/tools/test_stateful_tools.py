"""One stateful agent in concurrent parts is a warning: its calls wait for each other."""

import pytest

from tests.support.compiling import problems_of

HEAD = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    archivist: { prompts: { user: "{{ input.query }}" } }
    asker: { prompts: { user: "Ask." }, tools: [archivist] }
tools:
  archivist: { agent: archivist, description: Knows the archive., stateful: STATEFUL }
  other: { agent: archivist, description: Knows the archive too., stateful: STATEFUL }
orchestration:
  entry_team: look
  teams:
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
}
ALONE = {
    "one branch": branches(call("x"), call("y", "other")),
    "one branch after another": branches(call("x"), call("y"), ", join: fallback"),
    "rounds in a row": loop(call("x")),
    "two calls of one branch": branches(f"{call('x')}, {call('y')}", call("z", "other")),
}


def warnings(step: str, *, stateful: bool = True) -> list[tuple[str, str]]:
    text = HEAD.replace("STEP", step).replace("STATEFUL", str(stateful).lower())
    return [(one.code, one.path) for one in problems_of(text) if one.code != "W520"]


@pytest.mark.parametrize("case", CONCURRENT)
def test_a_stateful_tool_in_concurrent_branches_is_a_warning(case: str) -> None:
    step, key = CONCURRENT[case]
    assert warnings(step) == [("W524", f"orchestration.teams.look.tasks[0].{key}")]
    assert warnings(step, stateful=False) == []


@pytest.mark.parametrize("case", ALONE)
def test_a_stateful_tool_that_works_alone_is_none(case: str) -> None:
    assert warnings(ALONE[case]) == []
