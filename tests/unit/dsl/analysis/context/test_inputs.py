"""The inputs of a document: fields that it reads and nobody sets before, each once."""

import pytest

from tests.unit.dsl.analysis.documents import HEAD, analysis


def note(*texts: str, more: str = "") -> str:
    """A task that reads these templates one after the other, without an agent."""
    values = ", ".join(f"v{number}: '{{{{ {text} }}}}'" for number, text in enumerate(texts))
    return f"{{ name: note, type: set, {more}values: {{ {values} }} }}"


def inputs(teams: str, head: str = HEAD) -> dict[str, bool]:
    """`{path: whether it is needed}`."""
    return {one.path: one.needed for one in analysis(teams, head).inputs}


def codes(teams: str) -> list[str]:
    return [one.code for one in analysis(teams).findings if one.code != "W520"]


OPTIONAL = "context.x | default(0)"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("context.x",), {"x": True}),
        ((OPTIONAL,), {"x": False}),
        (("context.x", OPTIONAL), {"x": True}),
        ((OPTIONAL, "context.x"), {"x": True}),
        ((OPTIONAL, "context.y"), {"x": False, "y": True}),
        # one within another one is not named as well, unless only it is needed
        (("context.x", "context.x.y"), {"x": True}),
        (("context.x.y", "context.x"), {"x": True}),
        (("context.x.y", OPTIONAL), {"x.y": True, "x": False}),
        ((OPTIONAL, "context.x.y | default(0)"), {"x": False}),
        (("context.x.y.z", "context.x"), {"x": True}),
        (("context.xy", "context.x"), {"xy": True, "x": True}),
    ],
)
def test_a_field_is_needed_where_one_of_its_reads_needs_it(
    texts: tuple[str, ...], expected: dict[str, bool]
) -> None:
    assert inputs(f"a: {{ tasks: [{note(*texts)}] }}\n") == expected


def test_what_is_set_before_is_no_input_and_hides_none_after_it() -> None:
    first = note("1", more="context_updates: { x: 1 }, ")
    teams = f"a: {{ tasks: [{first}], routing: {{ default: b }} }}\n"
    assert inputs(f"{teams}b: {{ tasks: [{note('context.x', 'context.y')}] }}\n") == {"y": True}


def test_a_team_that_no_run_reaches_needs_nothing_and_hides_none_after_it() -> None:
    teams = (
        "a: { tasks: [{ name: n, type: set, values: { x: 1 } }], routing: { default: c } }\n"
        f"b: {{ tasks: [{note('context.x')}] }}\n"
        f"c: {{ tasks: [{note('context.y')}] }}\n"
    )
    assert inputs(teams) == {"y": True}


@pytest.mark.parametrize("text", ["context.x", "context.x.y", "teams.b.tasks.note.data"])
def test_a_read_that_comes_too_early_is_reported_once_per_field(text: str) -> None:
    later = note("1", more="context_updates: { x: 1 }, ")
    teams = (
        f"a: {{ tasks: [{note(text, text)}], routing: {{ default: b }} }}\n"
        f"b: {{ tasks: [{later}], routing: {{ default: null }} }}\n"
    )
    assert codes(teams) == ["W508"]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("{ p: '{{ context.x }}' }", {}),
        ("{ p: '{{ context.y }}' }", {"y": True}),
        ("{ p: '{{ context.x }}', q: '{{ context.y }}' }", {"y": True}),
        ("{ p: '{{ tasks.note.data }}', q: '{{ context.y }}' }", {"y": True}),
    ],
)
def test_a_declared_output_reads_what_the_run_has_set_in_the_end(
    output: str, expected: dict[str, bool]
) -> None:
    task = note("1", more="context_updates: { x: 1 }, ")
    teams = f"a: {{ tasks: [{task}], output: {output}, routing: {{ default: null }} }}\n"
    assert inputs(teams) == expected
    head = HEAD.replace("  entry_team: a\n", f"  entry_team: a\n  output: {output}\n")
    if "tasks" not in output:
        plain = f"a: {{ tasks: [{task}], routing: {{ default: null }} }}\n"
        assert inputs(plain, head) == expected
