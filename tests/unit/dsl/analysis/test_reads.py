"""What is read before it can be there is reported; what may be there, or is given, is not."""

import pytest

from coterie.dsl.analysis.findings import analysed
from tests.unit.dsl.analysis.documents import HEAD, analysis, compiled, found, messages


def inputs(teams: str, head: str = HEAD) -> dict[str, bool]:
    """`{field of the context: whether it is needed}`, without that of the persona."""
    every = {one.path: one.needed for one in analysis(teams, head).inputs}
    return {path: needed for path, needed in every.items() if path != "topic"}


def reads(value: str, *, updates: str = "{ x: 1 }", when: str = "") -> str:
    """A team that reads a value and then sets `x`, on the way to a team that ends."""
    return (
        "a:\n  tasks:\n"
        f"    - {{ name: note, type: set, {when}values: {{ n: '{value}' }} }}\n"
        "  routing:\n    rules:\n"
        "      - condition: { task: note, status: success }\n"
        f"        next_team: b\n        context_updates: {updates}\n"
        "    default: null\n"
        "b:\n  tasks: [{ name: end, type: set, values: { n: '{{ context.x }}' } }]\n"
    )


PLACE = ["W508 3:45"]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (reads("{{ context.x }}"), PLACE),
        (reads("about {{ context.x.y }} and {{ context.x.z }}"), PLACE),
        (reads("{{ context.x.y }}", updates="{ x.y.z: 1 }"), PLACE),
        (reads("{{ context.x.upper() }}"), PLACE),
        (reads("{{ context.x and true }}"), PLACE),
        (reads("{{ teams.b.tasks.end.data.n }}"), PLACE),
        (reads("{{ teams.a.tasks.note.data.n }}"), PLACE),
        # its absence is taken care of
        (reads("{{ context.x | default(0) }}"), []),
        (reads("{{ context.x if context.x is defined else 0 }}"), []),
        (reads("{{ run.visit > 1 and context.x }}"), []),
        (reads("{{ context.x }}", when="when: { context_field: x, operator: exists }, "), []),
        (reads("{{ context.x }}", when='when: "{{ context.x is defined }}", '), []),
        (reads("{{ context.x }}", when='when: "{{ context.y is defined }}", '), ["W508 3:81"]),
        (
            reads(
                "{{ teams.b.tasks.end.data.n }}",
                when='when: "{{ teams.b.tasks.end is defined }}", ',
            ),
            [],
        ),
        (
            reads(
                "{{ teams.b.tasks.end.data.n }}",
                when='when: "{{ teams.a.tasks.note is defined }}", ',
            ),
            ["W508 3:90"],
        ),
        # nobody sets it: an input
        (reads("{{ context.y }}"), []),
        (reads("{{ context.x }}", updates="{ y: 1 }"), []),
    ],
)
def test_a_field_that_only_later_teams_set_is_reported(document: str, expected: list[str]) -> None:
    assert found(document) == expected


def test_finding_names_the_team_that_sets_the_field() -> None:
    (shown,) = messages(reads("{{ context.x }}"))
    assert shown == (
        "context.x is read by the team 'a' before any team can have set it: only 'a' sets it, and "
        "comes later"
    )


def test_a_field_that_some_way_sets_before_is_left_alone() -> None:
    """Over a loop, a fan-out's branch, a called team's input."""
    loop = reads("{{ context.x }}").replace("next_team: b", "next_team: a", 1)
    assert found(loop + "  routing: { default: null }\n") == ["W503 10:1", "W506 1:1"]
    branches = (
        "a:\n  tasks: [WRITE]\n  routing: { rules: [{ next_team: [b, c] }] }\n"
        "b:\n  tasks: [WRITE]\n  routing: { default: d, context_updates: { x: 1 } }\n"
        "c:\n  tasks: [WRITE]\n  routing: { default: d }\n"
        "d:\n  type: concentrator\n"
        "  tasks: [{ name: n, type: set, values: { n: '{{ context.x }}' } }]\n"
    )
    assert found(branches) == []
    called = (
        "a:\n  tasks: [{ name: call, team: b, input: { x: 1 } }]\n"
        "b:\n  tasks: [{ name: n, type: set, values: { n: '{{ context.x }}' } }]\n"
        "  routing: { context_updates: { x: 2 } }\n"
    )
    assert found(called) == []


@pytest.mark.parametrize(
    ("condition", "asked"),
    [
        ("{ context_field: x, operator: equals, value: 1 }", ["W508 5:56"]),
        ("{ context_field: x, operator: exists }", []),
        ("{ context_field: x, operator: not_equals, value: 1 }", []),
        ("{ not: { context_field: x, operator: exists } }", []),
        ("{ context_field: x, operator: is_empty }", []),
        ("{ or: [{ context_field: x, operator: is_null }, { context_field: x, value: 1 }] }", []),
    ],
)
def test_a_condition_on_what_cannot_be_there_is_reported(condition: str, asked: list[str]) -> None:
    document = (
        "a:\n  tasks: [WRITE]\n  routing:\n    rules:\n"
        f"      - {{ next_team: null, condition: {condition} }}\n"
        "      - { condition: any_success, next_team: b, context_updates: { x: 1 } }\n"
        "    default: null\n"
        "b:\n  tasks: [WRITE]\n"
    )
    assert found(document) == asked


def test_prompts_and_the_plans_of_agents_are_read_too() -> None:
    head = HEAD.replace(
        "tools:",
        "    follower:\n      execution_plan:\n"
        "        - { name: ask, agent_type: generic_single_shot, persona_key: asker }\n"
        "    asker: { prompts: { user: 'Tell {{ context.x }} of {{ context.given }}.' } }\ntools:",
    )
    follow = "{ name: note, agent_type: generic_orchestrating, persona_key: follower }"
    document = reads("1").replace("{ name: note, type: set, values: { n: '1' } }", follow)
    (problem,) = analysed(compiled(document, head)).findings
    assert (problem.code, problem.path) == ("W508", "llm_config.personas.asker.prompts.user")
    assert inputs(document, head) == {"given": True}


def test_the_inputs_of_a_document_are_what_nobody_sets() -> None:
    document = (
        "a:\n  tasks:\n"
        "    - { name: n, type: set, values: { n: '{{ context.order.id }} {{ context.who }}',\n"
        "        m: \"{{ context.tone | default('kind') }}\", o: '{{ context.order.id }}' } }\n"
        "  routing:\n    rules:\n"
        "      - { condition: { context_field: mode, value: fast }, next_team: null }\n"
        "    default: b\n    context_updates: { state: 1 }\n"
        "b:\n  tasks: [{ name: end, type: set, values: { n: '{{ context.state }}' } }]\n"
    )
    assert found(document) == []
    assert inputs(document) == {"order.id": True, "who": True, "tone": False, "mode": False}
    first = analysis(document).inputs[0]
    assert (first.mark.line - HEAD.count("\n"), first.team) == (3, "a")


def test_a_field_within_an_input_is_not_another_input() -> None:
    document = reads("{{ context.order }}{{ context.order.id }}")
    assert inputs(document) == {"order": True}


def test_a_field_that_only_an_output_reads_is_an_input() -> None:
    output = "b:\n  output: '{{ context.given }}'\n"
    assert inputs(reads("1").replace("b:\n", output)) == {"given": True}


def tasks(*written: str) -> str:
    return "a:\n  tasks:\n" + "".join(f"    - {one}\n" for one in written)


SET_V = "{ name: v, type: set, values: { v: 1 } }"
READ_V = "{ name: r, type: set, values: { r: '{{ v }}' } }"


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (tasks(READ_V, SET_V), ["W509 3:42"]),
        (tasks(SET_V, READ_V), []),
        (tasks("{ name: s, type: set, values: { a: '{{ b }}', b: 1 } }"), ["W509 3:42"]),
        (tasks("{ name: s, type: set, values: { b: 1, a: '{{ b }}' } }"), []),
        (tasks(READ_V.replace("v }}", "v | default(0) }}"), SET_V), []),
        (tasks(READ_V, "{ name: w, type: wait, duration: 0, output_variable: v }"), ["W509 3:42"]),
        (
            tasks("{ name: r, type: set, values: { r: '{{ tasks.v.data.v }}' } }", SET_V),
            ["W509 3:42"],
        ),
        (
            tasks(
                "{ name: r, type: set, when: { task: v, status: success }, values: { r: 1 } }",
                SET_V,
            ),
            ["W509 3:43"],
        ),
        (
            tasks(
                "{ name: r, type: set, when: { not: { task: v, status: success } }, "
                "values: { r: 1 } }",
                SET_V,
            ),
            [],
        ),
        # in a loop the round before has set it; in the first of one round nobody has
        (
            tasks(
                f"{{ name: l, iterate_on: [1, 2], loop_variable: i, body: [{READ_V}, {SET_V}] }}"
            ),
            [],
        ),
        (
            tasks(f"{{ name: l, iterate_on: [1], loop_variable: i, body: [{READ_V}, {SET_V}] }}"),
            ["W509 3:95"],
        ),
        (
            tasks(
                f"{{ name: l, iterate_on: [1, 2], concurrency: 2, loop_variable: i, "
                f"body: [{READ_V}, {SET_V}] }}"
            ),
            ["W509 3:114"],
        ),
        # what is in a loop stays in it
        (
            tasks("{ name: l, iterate_on: [1], loop_variable: v, body: [WRITE] }", READ_V),
            ["W509 4:42"],
        ),
        (
            tasks(
                "{ name: l, iterate_on: [1, 2], concurrency: 2, loop_variable: i, "
                f"body: [{SET_V}] }}",
                READ_V,
            ),
            ["W509 4:42"],
        ),
        (tasks(f"{{ name: l, iterate_on: [1], loop_variable: i, body: [{SET_V}] }}", READ_V), []),
        # either way of a branch may have set it; ways at the same time do not see each other
        (
            tasks(
                f"{{ name: b, branches: [{{ condition: any_success, steps: [{SET_V}] }}] }}", READ_V
            ),
            [],
        ),
        (tasks(f"{{ name: p, branches: {{ one: [{SET_V}], two: [{READ_V}] }} }}"), ["W509 3:120"]),
        (tasks(f"{{ name: p, branches: {{ one: [{SET_V}] }} }}", READ_V), []),
        # a failure is there where it is caught, and after
        (
            tasks(
                "{ name: t, steps: [WRITE], catch: [{ steps: "
                "[{ name: c, type: set, values: { c: '{{ error.type }}' } }] }] }"
            ),
            [],
        ),
        (
            tasks(
                "{ name: r, type: set, values: { r: '{{ error.type }}' } }",
                "{ name: t, steps: [WRITE], catch: [{ error: Failed }] }",
            ),
            ["W509 3:42"],
        ),
        # a further attempt finds what the first has set
        (
            tasks(
                f"{{ name: b, retry: {{ retries: 1 }}, branches: "
                f"[{{ condition: any_success, steps: [{READ_V}, {SET_V}] }}] }}"
            ),
            [],
        ),
    ],
)
def test_a_variable_that_no_step_can_have_set_is_reported(
    document: str, expected: list[str]
) -> None:
    assert found(document) == expected


def test_routing_finds_every_variable() -> None:
    document = tasks(SET_V) + "  routing: { context_updates: { x: '{{ v }}' }, default: null }\n"
    assert found(document) == []


def test_a_concentrator_finds_its_branches() -> None:
    document = (
        "a:\n  tasks: [WRITE]\n  routing: { rules: [{ next_team: [b, c] }] }\n"
        "b:\n  tasks: [WRITE]\n  routing: { default: d }\n"
        "c:\n  tasks: [WRITE]\n  routing: { default: d }\n"
        "d:\n  type: concentrator\n  collect: { aggregate: Files.join }\n"
        "  tasks: [{ name: n, type: set, values: { n: '{{ aggregate }} {{ branches.b }}' } }]\n"
    )
    assert found(document) == []


def test_an_own_agent_type_reads_the_prompts_of_a_persona_with_a_plan() -> None:
    both = (
        '    both: { prompts: { user: "Weather in {{ context.city }}." }, '
        "execution_plan: [{ name: s, skill: Files.read, input: { path: a.txt } }] }\n"
    )
    asks = "a: { tasks: [{ name: do, agent_type: 'mine:agent', persona_key: both }] }\n"
    assert inputs(asks, HEAD.replace("tools:\n", f"{both}tools:\n", 1)) == {"city": True}
