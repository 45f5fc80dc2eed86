"""The worst case of small documents, to the last call; what has no bound is reported."""

import math

import pytest

from coterie.dsl.analysis.findings import analysed
from coterie.dsl.analysis.worst_case import WorstCase, worst_case
from coterie.dsl.analysis.worst_case_of_models import Terms
from coterie.dsl.model.price import Price
from tests.unit.dsl.analysis.documents import HEAD, compiled

TERMS = Terms({"scripted/demo": Price(input=3, output=15)}, 10_000)
ONE_CALL = (10_000 * 3 + 8192 * 15) / 1_000_000


def worst(teams: str, *, total: int = 30, depth: int = 5, terms: Terms = TERMS) -> WorstCase:
    """The worst case under these limits; the persona `writer` is asked once, without re-asks."""
    limits = f"max_total_teams: {total}\n  max_recursion_depth: {depth}\n  teams:\n"
    head = HEAD.replace("prompts: {", "max_reasks: 0, prompts: {").replace("teams:\n", limits)
    document = compiled(teams, head)
    return worst_case(document, analysed(document), terms)


def team(name: str, to: str = "null", *, tasks: str = "WRITE", more: str = "") -> str:
    """A team that may go to each of these teams, or end."""
    targets = [target.strip() for target in to.split(",")]
    rules = "".join(
        f"      - {{ condition: {{ context_field: x, value: {number} }}, next_team: {target} }}\n"
        for number, target in enumerate(targets)
    )
    routing = f"  routing:\n    rules:\n{rules}    default: null\n"
    return f"{name}:\n{more}  tasks: [{tasks}]\n{routing}"


@pytest.mark.parametrize(
    ("document", "visits", "each"),
    [
        # a line, and two ways that exclude each other
        (team("a", "b") + team("b", "c") + team("c"), 3, {"a": 1, "b": 1, "c": 1}),
        (
            team("a", "b, c") + team("b", "d") + team("c", "d") + team("d"),
            3,
            {"a": 1, "b": 1, "c": 1, "d": 1},
        ),
        # a loop of one, of two, and one that is entered from outside
        (team("a", "a"), 5, {"a": 5}),
        (team("a", "b") + team("b", "a"), 10, {"a": 5, "b": 5}),
        (team("a", "b") + team("b", "c, b") + team("c"), 7, {"a": 1, "b": 5, "c": 1}),
        # its own limit; a team that comes between two visits of another
        (team("a", "b", more="  max_recursion_depth: 2\n") + team("b", "a"), 4, {"a": 2, "b": 2}),
        (team("a", "b") + team("b", "a", more="  max_recursion_depth: 2\n"), 5, {"a": 3, "b": 2}),
        # one in the middle sends to many, and each comes back to it
        (
            team("a", "b, c, d, e") + "".join(team(name, "a") for name in "bcde"),
            10,
            {"a": 5, "b": 5, "c": 5, "d": 5, "e": 5},
        ),
    ],
)
def test_the_most_visits_are_exact(document: str, visits: int, each: dict[str, int]) -> None:
    found = worst(document)
    assert found.total.visits == visits
    assert {name: figures.visits for name, figures in found.teams.items()} == each
    assert found.total.model_calls == visits


def test_a_limit_per_a_team_that_no_run_comes_to_holds_for_the_whole_run() -> None:
    limit = "  max_visits: { per: c, limit: 2, then: d }\n"
    document = team("a", "b") + team("b", "b, null", more=limit) + team("c") + team("d")
    assert worst(document).teams["b"].visits == 2


@pytest.mark.parametrize(("first", "visits"), [("c", 3), ("b", 2)])
def test_a_limit_per_a_team_allows_visits_before_it_as_well(first: str, visits: int) -> None:
    limit = "  max_visits: { per: b, limit: 1, then: d }\n"
    document = (
        team("a", first)
        + team("b", "c, null", more="  max_recursion_depth: 2\n")
        + team("c", "c, b, null", more=limit)
        + team("d")
    )
    assert worst(document).teams["c"].visits == visits


ONCE = "  max_visits: { per: a, limit: 1, then: d }\n"
TWICE = ONCE.replace("limit: 1, then: d", "limit: 2, then: e")
CALLS_C = "{ name: call, team: c }"
FANS = "a:\n  tasks: [WRITE]\n  routing: { rules: [{ next_team: [b, c] }] }\n"
MEETS = "m:\n  type: concentrator\n  tasks: [WRITE]\n"


@pytest.mark.parametrize(
    ("document", "others"),
    [
        # each visit of `a` comes between two of `b`
        (team("a", "b") + team("b", "a", more=ONCE) + team("d"), set[str]()),
        (team("a", "b") + team("b", "b, a", more=ONCE) + team("d"), {"d"}),
        (team("a", "b") + team("b", "c", more=ONCE) + team("c", "b") + team("d"), {"c", "d"}),
        # the other team has a limit too
        (
            team("a", "b") + team("b", "b", more=ONCE) + team("d", more=TWICE) + team("e"),
            {"d", "e"},
        ),
        # a called team or a branch may visit it as well
        (
            team("a", "b", tasks=CALLS_C) + team("b", "a", more=ONCE) + team("c") + team("d"),
            {"c", "d"},
        ),
        (
            FANS + team("b", "m", more=ONCE) + team("c", "m") + team("d", "m") + MEETS,
            {"c", "d", "m"},
        ),
    ],
)  # fmt: skip
def test_another_team_runs_instead_only_where_the_limit_can_be_reached(
    document: str, others: set[str]
) -> None:
    assert set(worst(document).teams) == {"a", "b"} | others


def test_the_limit_of_all_visits_takes_the_dearest_teams() -> None:
    two = "WRITE, { name: again, agent_type: generic_single_shot, persona_key: writer }"
    document = team("a", "b") + team("b", "a", tasks=two)
    found = worst(document, total=4)
    assert (found.total.visits, found.total.model_calls) == (4, 8)
    assert worst(document, total=8, depth=4).total.model_calls == 12


def test_the_branches_of_a_fan_out_are_added_each_time() -> None:
    branches = team("b", "meet") + team("c", "meet")
    meeting = "meet:\n  type: concentrator\n  tasks: [WRITE]\n"
    fan = "a:\n  tasks: [WRITE]\n  routing: { rules: [{ next_team: [b, c] }] }\n"
    once = worst(fan + branches + meeting)
    assert (once.total.visits, once.total.model_calls) == (4, 4)
    again = worst(fan + branches + meeting + "  routing: { default: a }\n", depth=3)
    assert again.total.visits == 12
    assert {name: one.visits for name, one in again.teams.items()} == dict.fromkeys(
        ("a", "b", "c", "meet"), 3
    )


def test_a_called_team_counts_as_often_as_it_is_called() -> None:
    call = "{ name: call, team: b }"
    once = worst(team("a", tasks=call) + team("b"))
    assert (once.total.visits, once.teams["b"].model_calls, once.total.model_calls) == (2, 1, 1)
    each = f"{{ name: each, iterate_on: [1, 2, 3], loop_variable: one, body: [{call}] }}"
    assert worst(team("a", tasks=each) + team("b")).total.visits == 4
    many = each.replace("[1, 2, 3]", "'{{ context.list }}'")
    assert worst(team("a", tasks=many) + team("b")).total.visits == 6
    assert worst(team("a", tasks=many) + team("b")).unbounded == ()
    assert worst(team("a", tasks="{ name: call, team: a }")).total.visits == 5


BODY = "[WRITE]"


@pytest.mark.parametrize(
    ("task", "calls"),
    [
        ("WRITE", 1),
        (
            "{ name: w, agent_type: generic_single_shot, persona_key: writer, "
            "config: { max_reasks: 3 } }",
            4,
        ),
        (
            "{ name: w, agent_type: generic_single_shot, persona_key: writer, "
            "retry: { retries: 2 } }",
            3,
        ),
        (f"{{ name: l, iterate_on: [1, 2], loop_variable: i, body: {BODY} }}", 2),
        (
            f"{{ name: l, iterate_on: [1, 2, 3], max_iterations: 2, loop_variable: i, "
            f"body: {BODY} }}",
            2,
        ),
        (
            f"{{ name: l, iterate_on: '{{{{ context.x }}}}', max_iterations: 7, loop_variable: i, "
            f"body: {BODY} }}",
            7,
        ),
        (f"{{ name: l, until: any_success, max_iterations: 4, body: {BODY} }}", 4),
        (
            f"{{ name: l, iterate_on: [1, 2], concurrency: 2, loop_variable: i, retry: "
            f"{{ retries: 1 }}, body: {BODY} }}",
            4,
        ),
        (
            f"{{ name: l, iterate_on: '{{{{ context.x }}}}', loop_variable: i, body: {BODY} }}",
            math.inf,
        ),
        (
            "{ name: l, iterate_on: '{{ context.x }}', loop_variable: i, "
            "body: [{ name: s, type: set, values: { n: 1 } }] }",
            0,
        ),
        (
            f"{{ name: b, branches: [{{ condition: any_success, steps: {BODY} }}], otherwise: "
            f"[{{ name: s, type: set, values: {{ n: 1 }} }}] }}",
            1,
        ),
        (
            "{ name: p, join: any, branches: { one: [WRITE], two: [{ name: two, "
            "agent_type: generic_single_shot, persona_key: writer }] } }",
            2,
        ),
        (
            "{ name: t, steps: [WRITE], catch: [{ error: A, steps: [{ name: two, "
            "agent_type: generic_single_shot, persona_key: writer }] }, { steps: [] }] }",
            2,
        ),
    ],
)
def test_bound_of_model_calls_of_a_task_is_exact(task: str, calls: float) -> None:
    found = worst(team("a", tasks=task))
    assert found.total.model_calls == calls
    assert found.models == ({"scripted/demo": calls} if calls else {})
    if calls < math.inf:
        assert found.total.cost == pytest.approx(calls * ONE_CALL)
        assert found.total.output_tokens == calls * 8192


def test_a_loop_over_a_list_of_any_length_is_reported() -> None:
    task = f"{{ name: l, iterate_on: '{{{{ context.x }}}}', loop_variable: i, body: {BODY} }}"
    (loop,) = worst(team("a", tasks=task)).unbounded
    assert (loop.step, loop.length_of, loop.mark.file) == ("l", "{{ context.x }}", "team.yml")


PLAN = """\
    planner:
      execution_plan:
        - { name: read, skill: Files.read, input: {} }
        - { name: look, tool: look, retry: { retries: 1 } }
        - { name: ask, tool: careful }
        - { name: any, tool: "{{ input.tool }}" }
        - { name: write, agent_type: generic_single_shot, persona_key: writer }
tools:
"""
FOLLOW = (
    "{ name: follow, agent_type: generic_orchestrating, persona_key: planner, "
    "input: { tool: look }, requires_approval: after }"
)


def test_functions_tools_and_approvals_of_plans_are_counted() -> None:
    head = HEAD.replace("tools:\n", PLAN)
    document = compiled(team("a", "a", tasks=f"{FOLLOW}, {FOLLOW.replace('follow', 'f2')}"), head)
    total = worst_case(document, analysed(document), TERMS).total
    assert total.function_calls == 5 * 2 * (1 + 2 + 1 + 1)
    assert total.approvals == 5 * 2 * (1 + 1 + 1)
    assert total.model_calls == 5 * 2 * 3


def test_a_concentrator_that_aggregates_with_a_function_calls_it() -> None:
    fan = "a:\n  tasks: [WRITE]\n  routing: { rules: [{ next_team: [b, c] }] }\n"
    meeting = "meet: { type: concentrator, collect: { aggregate: Files.join } }\n"
    assert worst(fan + team("b", "meet") + team("c", "meet") + meeting).total.function_calls == 1


def test_approvals_are_counted_also_where_a_run_makes_no_progress() -> None:
    ask = "{ name: ask, type: approval, prompt: Go on?, deadline: 1d, retry: { retries: 3 } }"
    assert worst(team("a", "a", tasks=ask), depth=3).total.approvals == 3
    head = HEAD.replace("entry_team: a", "entry_team: a\n  no_progress: ask")
    document = compiled(team("a", "a", tasks=ask), head)
    assert worst_case(document, analysed(document), TERMS).total.approvals == 10


def test_model_without_a_price_is_reported_and_not_free() -> None:
    dear = (
        "{ name: dear, agent_type: generic_single_shot, persona_key: writer, "
        "config: { provider: anthropic, model: new } }"
    )
    found = worst(team("a", "b", tasks=dear) + team("b"))
    assert found.total.unpriced == ("anthropic/new",)
    assert found.total.cost == pytest.approx(ONE_CALL)
    assert found.teams["a"].unpriced == ("anthropic/new",)
    assert found.teams["a"].cost == 0
    assert found.teams["b"].unpriced == ()
    assert found.models == {"anthropic/new": 1, "scripted/demo": 1}


def test_teams_that_no_run_comes_to_cost_nothing() -> None:
    found = worst(team("a") + team("b", "b"))
    assert list(found.teams) == ["a"]
    assert found.total.visits == 1


def test_each_fallback_of_an_agent_may_be_one_more_call() -> None:
    head = HEAD.replace("prompts: {", "max_reasks: 0, fallback: [anthropic/big], prompts: {")
    document = compiled(team("a"), head)
    found = worst_case(document, analysed(document), TERMS)
    assert found.total.model_calls == 2
