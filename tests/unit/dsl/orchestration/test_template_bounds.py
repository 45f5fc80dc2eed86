"""Bounds that a template gives: which have a maximum, what is refused, and what they may give."""

import math
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from coterie.dsl.analysis.findings import analysed
from coterie.dsl.analysis.worst_case import worst_case
from coterie.dsl.analysis.worst_case_of_models import Terms
from coterie.dsl.errors import InvalidBound, InvalidDocument
from coterie.dsl.evaluate.bounds import rendered_bound, rendered_bounds, with_numbers
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.step_base import COMMON_BOUNDS
from coterie.dsl.model.steps import STEP_MODELS, STEP_OF_TAG, LoopStep, Step, TaskGraphStep
from coterie.dsl.model.template_bound import (
    RETRIES,
    BoundKey,
    TemplateBound,
    TemplateDuration,
    maximum_of,
)
from coterie.dsl.model.traversal.step_bounds import VISITS, bound_templates, bounds_of
from coterie.dsl.values import Json, JsonValue
from tests.unit.dsl.analysis.documents import HEAD, compiled

DECLARED = (
    "  context:\n"
    "    rounds: { type: integer, default: 2, maximum: 4 }\n"
    "    patience: { type: number, default: 60, maximum: 600.5 }\n"
    "    free: { type: integer, default: 2 }\n"
    "    none: { type: integer, default: 0, maximum: 0 }\n"
    "    latest: { type: array, default: [], keep_last: 7 }\n"
    "    few: { type: array, default: [], maxItems: 3 }\n"
)
AGENT = "{ name: l, agent_type: generic_single_shot, persona_key: writer"
GRAPH = "{ name: l, type: task_graph, task_variable: t, tasks: '{{ context.few }}', body: [WRITE]"
STEPS = {
    "timeout": f"{AGENT}, timeout: BOUND }}",
    "retry.retries": f"{AGENT}, retry: {{ retries: BOUND }} }}",
    "requires_approval.deadline": f"{AGENT}, requires_approval: {{ deadline: BOUND }} }}",
    "call_retries": "{ name: l, tool: look, call_retries: BOUND }",
    "max_turns": "{ name: l, persona_key: writer, config: { tools: [look] }, max_turns: BOUND }",
    "max_iterations": "{ name: l, type: loop, while: '{{ true }}', max_iterations: BOUND, "
    "body: [WRITE] }",
    "concurrency": "{ name: l, type: loop, iterate_on: [1], loop_variable: i, concurrency: BOUND, "
    "body: [WRITE] }",
    "graph.max_iterations": f"{GRAPH}, max_iterations: BOUND }}",
    "graph.concurrency": f"{GRAPH}, max_tasks: 2, concurrency: BOUND }}",
    "graph.max_tasks": f"{GRAPH}, max_tasks: BOUND }}",
    "graph.task_retries": f"{GRAPH}, max_tasks: 2, task_retries: BOUND }}",
    "deadline": "{ name: l, type: approval, prompt: Well?, deadline: BOUND }",
    "wait.deadline": "{ name: l, type: wait, signal: go, deadline: BOUND }",
}
LENGTHS = ("timeout", "requires_approval.deadline", "deadline", "wait.deadline")


def team(tasks: str, more: str = "") -> Any:
    head = HEAD.replace("  teams:\n", f"{DECLARED}  teams:\n")
    head = head.replace("context.topic | default('it')", "context.rounds")
    text = f"a:\n{more}  tasks: [{tasks}]\n"
    return compiled(text, head.replace("prompts:", "max_reasks: 0, prompts:"))


def loop(bound: str, over: str = "while: '{{ true }}'") -> Any:
    return team(f"{{ name: l, type: loop, {over}, {bound} body: [WRITE] }}")


def step_of(plan: Plan) -> Step:
    (step,) = plan.teams["a"].steps
    return step


def test_every_bound_of_the_table_is_a_field_and_has_a_case() -> None:
    named = {
        key.name if kind != "task_graph" or key in COMMON_BOUNDS else f"graph.{key.name}"
        for kind, models in STEP_MODELS.items()
        for model in models
        for key in model.bounds
    }
    assert named == set(STEPS) - {"wait.deadline"}
    for model in STEP_OF_TAG.values():
        assert all(key.path[0] in model.model_fields for key in model.bounds)


@pytest.mark.parametrize("name", STEPS)
def test_each_bound_of_a_step_takes_a_number_a_template_or_a_context_path(name: str) -> None:
    length = name in LENGTHS
    path = "{{ context.patience }}" if length else "{{ context.rounds }}"
    sum_of = "{{ context.free }}m" if length else "{{ context.free + 1 }}"
    kind = TemplateDuration if length else TemplateBound
    for written, wanted in (
        ("3", 3),
        (f"'{path}'", kind(value=path, maximum=cast("int", 600.5 if length else 4))),
        (
            f"{{ value: '{sum_of}', maximum: {'5m' if length else 6} }}",
            kind(value=sum_of, maximum=300 if length else 6),
        ),
    ):
        plan = team(STEPS[name].replace("BOUND", written)).plan
        last = name.rpartition(".")[2]
        found = {key.path[-1]: bound for key, bound in bounds_of(step_of(plan))}
        assert found[last] == wanted
        assert Plan.model_validate_json(plan.model_dump_json(by_alias=True)) == plan


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize(
    ("written", "code", "says"),
    [
        ("'{{ context.free }}'", "E102", "maximum: 10"),
        ("'{{ context.none }}'", "E102", "maximum: 10"),
        ("'{{ context.rounds + 1 }}'", "E102", "maximum: 10"),
        ("'{{ context.rouns }}'", "E215", "rouns"),
        ("{ value: '{{ context.rouns }}', maximum: 3 }", "E215", "rouns"),
        ("{ value: five, maximum: 3 }", "E103", "five"),
        ("{ value: '{{ context.free }}' }", "E102", "maximum"),
        ("{ value: '{{ context.free }}', maximum: 0 }", "E106", "maximum"),
        ("{ value: '{{ context.free }}', maximum: 4000000000 }", "E106", "maximum"),
        ("{ value: '{{ context.free }}', maximum: 3, minimum: 1 }", "E101", "minimum"),
        ("-1", "E106", ""),
        ("five", "E103", ""),
    ],
)
def test_a_bound_without_a_maximum_is_refused_with_its_fix(
    name: str, written: str, code: str, says: str
) -> None:
    with pytest.raises(InvalidDocument) as error:
        team(STEPS[name].replace("BOUND", written))
    found = [problem for problem in error.value.problems if problem.code == code]
    assert any(says in f"{problem.message} {problem.allowed} {problem.fix}" for problem in found)
    assert {problem.line for problem in error.value.problems} == {found[0].line}


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("graph.max_iterations", 1_000_000),
        ("graph.max_tasks", 10_000),
        ("concurrency", 1_000),
        ("max_turns", 1_000),
        ("retry.retries", 100),
    ],
)
def test_a_maximum_above_what_the_key_allows_is_refused(name: str, most: int) -> None:
    text = STEPS[name].replace("BOUND", f"{{ value: '{{{{ 1 }}}}', maximum: {most + 1} }}")
    with pytest.raises(InvalidDocument) as error:
        team(text)
    (problem,) = (one for one in error.value.problems if one.code == "E106")
    assert problem.path.rpartition(".")[2] == "maximum"
    assert str(most) in f"{problem.message} {problem.allowed}".replace(",", "")


@pytest.mark.parametrize(
    "asks",
    [
        "no_progress: { ask: { deadline: BOUND } }",
        "budgets: { model_calls: { limit: 5, on_exceeded: { ask: { deadline: BOUND } } } }",
    ],
)
@pytest.mark.parametrize(
    "written", ["'{{ context.patience }}'", "{ value: '{{ context.free }}m', maximum: 5m }"]
)
def test_a_question_of_a_limit_has_no_template_as_deadline(asks: str, written: str) -> None:
    head = f"{HEAD}".replace("  teams:\n", f"{DECLARED}  {asks}\n  teams:\n")
    with pytest.raises(InvalidDocument) as error:
        compiled("a:\n  tasks: [WRITE]\n", head.replace("BOUND", written))
    assert "E303" in {problem.code for problem in error.value.problems}


def test_the_approval_of_a_tool_has_no_template_as_deadline() -> None:
    consent = "{ at: before, deadline: { value: '{{ context.free }}m', maximum: 5m } }"
    head = HEAD.replace("requires_approval: true", f"requires_approval: {consent}")
    with pytest.raises(InvalidDocument) as error:
        compiled("a:\n  tasks: [{ name: s, tool: careful }]\n", head)
    assert {problem.code for problem in error.value.problems} == {"E303"}


@pytest.mark.parametrize(
    ("tasks", "calls"),
    [
        (STEPS["max_iterations"], 4),
        (STEPS["retry.retries"], 5),
        (STEPS["max_turns"], 5),
        (STEPS["graph.max_iterations"], 4),
        (STEPS["graph.max_tasks"], 4),
        (STEPS["graph.task_retries"], 10),
    ],
)
def test_the_worst_case_counts_with_the_maximum(tasks: str, calls: int) -> None:
    done = team(tasks.replace("BOUND", "'{{ context.rounds }}'"))
    assert worst_case(done, analysed(done), Terms({}, 1)).total.model_calls == calls


def test_the_visits_of_a_team_count_with_the_maximum() -> None:
    bound = "  max_visits: { per: b, limit: '{{ context.rounds }}', then: b }\n"
    more = f"{bound}  routing: {{ default: a }}\n"
    text = (
        f"a:\n{more}  tasks: [WRITE]\nb:\n  tasks: [{{ name: s, type: set, values: {{ x: 1 }} }}]\n"
    )
    head = HEAD.replace("  teams:\n", f"{DECLARED}  teams:\n").replace(
        "prompts:", "max_reasks: 0, prompts:"
    )
    done = compiled(text, head.replace("context.topic | default('it')", "context.rounds"))
    assert done.plan.teams["a"].max_visits is not None
    assert maximum_of(done.plan.teams["a"].max_visits.limit) == 4
    found = worst_case(done, analysed(done), Terms({}, 1))
    assert (found.teams["a"].visits, found.total.model_calls) == (8, 8)


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("'{{ context.free }}'", "E102"),
        ("'{{ context.rouns }}'", "E215"),
        ("{ value: '{{ tasks.write.data.n }}', maximum: 3 }", "E207"),
        ("{ value: '{{ unknown }}', maximum: 3 }", "E207"),
        ("{ value: five, maximum: 3 }", "E103"),
    ],
)
def test_a_limit_of_visits_reads_only_what_there_is_before_the_visit(limit: str, code: str) -> None:
    bound = f"  max_visits: {{ per: b, limit: {limit}, then: b }}\n"
    text = f"a:\n{bound}  tasks: [WRITE]\n  routing: {{ default: a }}\nb:\n  tasks: [WRITE]\n"
    with pytest.raises(InvalidDocument) as error:
        compiled(text, HEAD.replace("  teams:\n", f"{DECLARED}  teams:\n"))
    assert code in {problem.code for problem in error.value.problems}


@pytest.mark.parametrize(
    ("over", "most"), [("context.few", 3), ("context.latest", 7), ("context.few + [1]", math.inf)]
)
def test_a_list_of_a_declared_length_bounds_a_loop_over_it(over: str, most: float) -> None:
    done = loop("", f"loop_variable: i, iterate_on: '{{{{ {over} }}}}'")
    found = worst_case(done, analysed(done), Terms({}, 1))
    assert found.total.model_calls == most
    assert (found.unbounded == ()) is (most < math.inf)


WRONG: tuple[JsonValue, ...] = (-1, 1.5, True, "3", None, [], {})
LIMIT = BoundKey(("timeout",), "timeout", 900)
WAIT = BoundKey(("deadline",), "deadline", 900)
COUNT = TemplateBound(value="{{ n }}", maximum=4)
LENGTH = TemplateDuration(value="{{ n }}", maximum=600)
SHOWN = TemplateDuration(value="{{ n }}m", maximum=600)


@pytest.mark.parametrize(
    ("key", "bound", "given_value", "number"),
    [
        (VISITS, COUNT, 1, 1),
        (VISITS, COUNT, 4, 4),
        (VISITS, COUNT, 2.0, 2),
        (RETRIES, COUNT, 0, 0),
        (LIMIT, LENGTH, 0.5, 0.5),
        (LIMIT, LENGTH, "90s", 90),
        (LIMIT, LENGTH, 600, 600),
        (LIMIT, SHOWN, 10, 600),
        (WAIT, LENGTH, 0, 0),
    ],
)
def test_a_bound_is_the_number_that_its_template_gives(
    key: BoundKey, bound: TemplateBound | TemplateDuration, given_value: object, number: float
) -> None:
    found = rendered_bound(key, bound, {"n": given_value}, "'it'")
    assert (found, type(found)) == (number, type(number) if key in (VISITS, RETRIES) else float)


@pytest.mark.parametrize(
    ("key", "bound", "wrong", "wanted"),
    [
        *((VISITS, COUNT, one, "from 1 to 4") for one in (0, 5, 900)),
        *((VISITS, COUNT, one, "from 1 to 4") for one in WRONG),
        (RETRIES, COUNT, -1, "from 0 to 4"),
        (RETRIES, COUNT, 5, "from 0 to 4"),
        *((LIMIT, LENGTH, one, "at most 600 s") for one in (0, -1, 601, "11m", "soon", None, True)),
        *((WAIT, LENGTH, one, "at most 600 s") for one in (-1, 600.1, "ten", *WRONG[-2:])),
        (LIMIT, SHOWN, "ten", "at most 600 s"),
    ],
)
def test_any_other_value_and_one_above_the_maximum_fails_by_name(
    key: BoundKey, bound: TemplateBound | TemplateDuration, wrong: object, wanted: str
) -> None:
    with pytest.raises(InvalidBound) as error:
        rendered_bound(key, bound, {"n": wrong}, "'it'")
    assert str(error.value).startswith(f"{key.name} of 'it' gives ")
    assert wanted in str(error.value)


_JSON = some.recursive(
    some.none()
    | some.booleans()
    | some.integers(-9, 9)
    | some.floats(-9, 9)
    | some.text(max_size=3),
    lambda inner: some.lists(inner, max_size=2),
    max_leaves=3,
)
_KEYS = {*LoopStep.bounds, *TaskGraphStep.bounds, VISITS}


@settings(max_examples=300, deadline=None)
@given(value=_JSON, key=some.sampled_from(sorted(_KEYS)), maximum=some.integers(1, 6))
def test_a_rendered_bound_is_never_above_its_maximum_nor_below_its_lowest_value(
    value: object, key: BoundKey, maximum: int
) -> None:
    kind = TemplateDuration if key.unit in ("timeout", "deadline") else TemplateBound
    try:
        found = rendered_bound(key, kind(value="{{ n }}", maximum=maximum), {"n": value}, "'it'")
    except InvalidBound:
        return
    assert (1 if key.unit == "count" else 0) <= found <= maximum
    assert key.unit != "timeout" or found > 0
    assert kind is TemplateDuration or isinstance(found, int)


def test_a_step_with_its_numbers_allows_just_these() -> None:
    text = (
        "{ name: l, type: loop, iterate_on: [1, 2], loop_variable: i, "
        "timeout: { value: '{{ context.free }}m', maximum: 1h }, "
        "max_iterations: { value: '{{ context.free }}', maximum: 9 }, "
        "concurrency: { value: '{{ context.free - 1 }}', maximum: 9 }, "
        "retry: { retries: { value: '{{ context.free }}', maximum: 9 } }, body: [WRITE] }"
    )
    step = step_of(team(text).plan)
    names: dict[str, object] = {"context": cast("Json", {"free": 2})}
    numbers = rendered_bounds(step, names)
    assert numbers == {"timeout": 120.0, "max_iterations": 2, "concurrency": 1}
    bounded = with_numbers(step, numbers)
    assert isinstance(bounded, LoopStep)
    found = {key.name: maximum_of(bound) for key, bound in bounds_of(bounded)}
    assert found == {**numbers, "retry.retries": 9}
    assert bounded.is_concurrent  # also one at a time: a round never depends on how many there are
    assert len(bound_templates(step)) == 4


@pytest.mark.parametrize(
    ("step", "code", "at"),
    [
        ("{ name: l, persona_key: writer, max_turns: 3 }", "E503", "max_turns"),
        (
            "{ name: l, persona_key: writer, config: { tools: [look], max_turns: 2 }, "
            "max_turns: 3 }",
            "E107",
            "config.max_turns",
        ),
        (
            "{ name: l, persona_key: writer, max_turns: 3, config: { prompts: null, "
            "execution_plan: [{ name: r, type: return }] } }",
            "E503",
            "max_turns",
        ),
        (
            "{ name: l, persona_key: writer, max_turns: 3, config: { tools: [look], "
            "parallel_tool_calls: false, tool_policy: [{ tool: look, min_calls: 4 }] } }",
            "E106",
            "min_calls",
        ),
    ],
    ids=["without tools", "said twice", "of a plan", "fewer than the policy demands"],
)
def test_turns_that_cannot_be_taken_are_refused(step: str, code: str, at: str) -> None:
    with pytest.raises(InvalidDocument) as error:
        team(step)
    (problem,) = error.value.problems
    assert problem.code == code
    assert problem.path.endswith(at)
