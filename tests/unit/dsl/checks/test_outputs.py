"""What tasks and variables hold is known where it is declared; other fields are refused."""

import pytest

from tests.support.compiling import problems_of

DOCUMENT = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    judge:
      prompts: {user: "Judge."}
      output_schema:
        type: object
        properties: {verdict: {type: string}, why: {anyOf: [{$ref: "#/$defs/Why"}, {type: "null"}]}}
        additionalProperties: false
        $defs:
          Why: {type: object, properties: {line: {type: integer}}, additionalProperties: false}
    reader:
      execution_plan:
        - {name: look, skill: Discovery.collect, output_variable: project}
        - name: each
          iterate_on: "{{ project.files }}"
          loop_variable: file
          body: [{name: one, type: set, values: {seen: "{{ file.path }}"}}]
orchestration:
  entry_team: discovery
  teams:
    discovery:
      tasks:
        - {name: read_project, agent_type: generic_orchestrating, persona_key: reader}
        - {name: judge, agent_type: generic_single_shot, persona_key: judge, output_variable: said}
        - {name: use, type: set, values: {x: "{{ READ }}"}}
      routing: {default: after}
    after:
      tasks:
        - {name: use, type: set, values: {y: "{{ LATER }}"}}
"""


def problems_of_reading(read: str, later: str = "context.x") -> list[tuple[str, str]]:
    found = problems_of(DOCUMENT.replace("READ", read).replace("LATER", later))
    return [(problem.code, problem.step) for problem in found]


@pytest.mark.parametrize(
    "read",
    [
        "tasks.read_project.data.project.manifest",
        "tasks.read_project.data.project.files[0].path",
        "tasks.read_project.data.seen",
        "tasks.judge.data.why.line",
        "said.verdict[0]",
        "said.verdict.upper()",
    ],
)
def test_a_declared_field_is_no_problem(read: str) -> None:
    assert problems_of_reading(read) == []


@pytest.mark.parametrize(
    "read",
    [
        "tasks.read_project.data.projekt",
        "tasks.read_project.data.project.manifets",
        "tasks.read_project.data.project.files[0].pth",
        "tasks.judge.data.why.row",
        "said.verdct",
        "said.verdict.x",
    ],
)
def test_a_field_that_nothing_declares_is_reported_at_the_step_that_names_it(read: str) -> None:
    assert problems_of_reading(read) == [("E210", "discovery/use: values.x")]


def test_a_field_of_another_team_s_task_is_reported_with_the_author_s_path() -> None:
    later = "teams.discovery.tasks.read_project.data.project.manifets"
    (problem,) = problems_of(DOCUMENT.replace("READ", "said").replace("LATER", later))
    assert problem.message.startswith("the data of task 'discovery/read_project' never has")
    assert problem.step == "after/use: values.y"


def test_a_variable_that_two_steps_set_is_not_taken_for_either() -> None:
    second = '{name: use, type: set, values: {said: {verdct: 1}, x: "{{ READ }}"}}'
    text = DOCUMENT.replace('{name: use, type: set, values: {x: "{{ READ }}"}}', second)
    assert problems_of(text.replace("READ", "said.verdct").replace("LATER", "context.x")) == ()


@pytest.mark.parametrize(
    "value", ['["{{ nope }}"]', '{a: [1, ["{{ nope }}"]]}', '[{a: {b: "{{ nope }}"}}]']
)
def test_a_template_is_checked_however_deep_it_is(value: str) -> None:
    found = problems_of(DOCUMENT.replace('"{{ READ }}"', value).replace("LATER", "context.x"))
    assert [problem.code for problem in found] == ["E207"]


TOOLS = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    judge:
      description: Judges.
      prompts: {user: "Judge."}
      output_schema: {type: object, properties: {verdict: {}}, additionalProperties: false}
    planner:
      description: Plans.
      execution_plan: [{name: note, type: set, values: {steps: 1}}]
tools:
  judging: {agent: judge}
  planning: {agent: planner}
  closed:
    agent: planner
    output_schema: {type: object, properties: {steps: {}}, additionalProperties: false}
  edited: {agent: judge, requires_approval: {at: after, editable: true, deadline: 1d}}
  asking: {team: other, description: Asks.}
orchestration:
  entry_team: main
  HOOKS
  teams:
    main:
      tasks:
        - {name: call, tool: TOOL, arguments: {query: x}}
        - {name: use, type: set, values: {x: "{{ tasks.call.data.READ }}"}}
    other: {output: {said: 1}, tasks: [{name: note, type: set, values: {a: 1}}]}
"""


def problems_of_tool(tool: str, read: str, hooks: str = "enabled: true") -> list[str]:
    text = TOOLS.replace("TOOL", tool).replace("READ", read).replace("HOOKS", hooks)
    return [problem.code for problem in problems_of(text) if problem.severity == "error"]


@pytest.mark.parametrize(
    ("tool", "known"),
    [("judging", "verdict"), ("planning", "steps"), ("closed", "steps"), ("asking", "said")],
)
def test_a_field_of_a_tool_made_of_an_agent_or_a_team_is_checked(tool: str, known: str) -> None:
    assert problems_of_tool(tool, known) == []
    assert problems_of_tool(tool, "foo") == ["E210"]


@pytest.mark.parametrize(
    ("tool", "hooks"),
    [
        ("edited", "enabled: true"),
        (
            "judging",
            "hooks: [{on: after_tool_call, tool: 'jud*', decide: modify, value: {foo: 1}}]",
        ),
    ],
)
def test_a_result_that_a_person_or_a_hook_may_replace_has_no_declared_form(
    tool: str, hooks: str
) -> None:
    assert problems_of_tool(tool, "foo", hooks) == []


@pytest.mark.parametrize(
    "hook",
    [
        "{on: after_tool_call, tool: 'jud*', decide: fail}",
        "{on: before_tool_call, tool: 'jud*', decide: modify, value: {query: y}}",
        "{on: after_tool_call, tool: 'plan*', decide: modify, value: {foo: 1}}",
    ],
)
def test_a_hook_that_replaces_no_result_leaves_the_declared_form(hook: str) -> None:
    assert problems_of_tool("judging", "foo", f"hooks: [{hook}]") == ["E210"]


CALLS = """
tools: {find: {skill: Files.list}}
orchestration:
  entry_team: main
  teams: {main: {tasks: [{name: c, calls: CALLS}, OTHER]}}
"""


@pytest.mark.parametrize(
    ("calls", "code", "place"),
    [
        ("[{tool: fnd}]", "E204", "main/c: calls[0].tool"),
        (
            "[{tool: find}, {tool: find, arguments: {path: 3}}]",
            "E213",
            "main/c: calls[1].arguments.path",
        ),
        ("[{tool: find, arguments: {pth: x}}]", "E213", "main/c: calls[0].arguments.pth"),
        ("[{tool: find, argumnts: {}}]", "E101", "main/c: calls[0].argumnts"),
        ("[{arguments: {}}]", "E102", "main/c: calls[0]"),
        ("[find]", "E103", "main/c: calls[0]"),
        ("{tool: find}", "E103", "main/c: calls"),
    ],
)
@pytest.mark.parametrize("other", ["{name: o, type: set, values: {a: 1}}", "{name: o, type: sett}"])
def test_each_written_call_of_a_step_is_checked(
    calls: str, code: str, place: str, other: str
) -> None:
    found = problems_of(CALLS.replace("CALLS", calls).replace("OTHER", other))
    assert (code, place) in {(problem.code, problem.step) for problem in found}
    assert {problem.code for problem in found} <= {code, "E104"}


def test_calls_that_only_the_run_knows_are_no_problem() -> None:
    calls = '["{{ context.a }}", {tool: "{{ context.b }}", arguments: {x: 1}}, {tool: find}]'
    other = "{name: o, calls: '{{ context.c }}'}"
    found = problems_of(CALLS.replace("CALLS", calls).replace("OTHER", other))
    assert [problem.code for problem in found] == []
