"""Rules, branches, loops, failures: each mistake is reported at its place, and nothing else."""

import pytest

from tests.unit.dsl.analysis.documents import found, messages

A = "a:\n  tasks: [WRITE]\n  routing:\n"
B = "b:\n  tasks: [WRITE]\n"


def rules(*written: str, default: str | None = "null") -> str:
    """A team `a` with these rules, and a team `b` without any."""
    lines = "".join(f"      - {rule}\n" for rule in written)
    end = "" if default is None else f"    default: {default}\n"
    return f"{A}    rules:\n{lines}{end}{B}"


SUCCESS = "{ task: write, status: success }"
FAILURE = "{ task: write, status: failure }"
TO_B = "{ condition: { task: write, status: success }, next_team: b }"


def when(condition: str, to: str = "b") -> str:
    return f"{{ condition: {condition}, next_team: {to} }}"


def x(value: object, operator: str = "equals") -> str:
    return f"{{ context_field: x, operator: {operator}, value: {value} }}"


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        # the same condition, a stronger one, one of its alternatives
        (rules(when(x(1)), when(x(1), "a")), ["W504 6:11"]),
        (rules(when(x(1)), when(f"[{x(1)}, {SUCCESS}]", "a")), ["W504 6:11"]),
        (rules(when(f"{{ or: [{x(1)}, {x(2)}] }}"), when(x(2), "a")), ["W504 6:11"]),
        (rules(when(x("[1, 2]", "in")), when(x(2), "a")), ["W504 6:11"]),
        (rules(when(x("[1, 5]", "in_range")), when(x("[2, 3]", "in_range"))), ["W504 6:11"]),
        (rules(when(x(3, "gt")), when(x(4, "gt"))), ["W504 6:11"]),
        (rules(when("all_success"), when(SUCCESS, "a")), ["W504 6:11"]),
        (rules(when("any_failure"), when(FAILURE, "a")), ["W504 6:11"]),
        (rules(when("'{{ context.x.y > 1 }}'"), when("'{{  context.x.y>1 }}'")), ["W504 6:11"]),
        (rules(when("'{{ context.x.y > 1 }}'"), when("'{{ context.x.y > 2 }}'")), ["W504 6:11"]),
        # two rules together
        (rules(when(SUCCESS), when(FAILURE, "a"), when(x(1))), ["W504 7:11"]),
        (rules(when(x("true", "exists")), when(x("false", "exists")), when(x(1))), ["W504 7:11"]),
        # after a rule that always matches: each rule, and the default
        (rules("next_team: b", when(x(1)), when(x(2))), ["W504 6:11", "W504 7:11"]),
        (rules("next_team: b", default="a"), ["W504 6:5"]),
        (rules(when("'{{ true }}'"), when(x(1))), ["W504 6:11"]),
        # near misses
        (rules(when(x(1)), when(x(2), "a")), []),
        (rules(when(f"[{x(1)}, {SUCCESS}]"), when(x(1), "a")), []),
        (rules(when(x(4, "gt")), when(x(3, "gt"))), []),
        (rules(when(x("[2, 3]", "in_range")), when(x("[1, 5]", "in_range"))), []),
        (rules(when(SUCCESS), when(f"[{FAILURE}, {x(1)}]"), default="b"), []),
        (rules(when("any_success"), when("any_failure"), default="b"), []),
        (rules(when("'{{ context.x.y > 2 }}'"), when("'{{ context.x.y > 1 }}'")), []),
        (rules(when(x("true", "exists")), when(x("null", "is_null"))), []),
    ],
)
def test_a_rule_that_an_earlier_one_always_takes_is_reported(
    document: str, expected: list[str]
) -> None:
    assert found(document) == expected


@pytest.mark.parametrize(
    ("condition", "impossible"),
    [
        (f"[{x(1)}, {x(2)}]", True),
        (f"[{SUCCESS}, {FAILURE}]", True),
        (f"[all_success, {FAILURE}]", True),
        (f"{{ and: [{x(3, 'gt')}, {{ not: {x(2, 'gt')} }}] }}", True),
        ("{ task: write, status: skipped }", True),
        ("'{{ false }}'", True),
        ("[]", False),
        (f"{{ or: [{x(1)}, {x(2)}] }}", False),
        (f"[{x(1)}, {{ context_field: y, operator: equals, value: 2 }}]", False),
        (f"[{FAILURE}, {{ task: write, output_field: text, operator: eq, value: a }}]", False),
    ],
)
def test_a_condition_that_can_never_hold_is_reported(condition: str, impossible: bool) -> None:
    document = rules(when(condition), when(x(9)), TO_B)
    expected = ["W505 5:11"] if impossible else []
    always = ["W504 6:11", "W504 7:11"] if condition == "[]" else []
    assert found(document) == expected + always


def test_finding_names_the_parts_that_exclude_each_other() -> None:
    (shown,) = messages(rules(when(f"[{SUCCESS}, {x(1)}, {x(2)}]"), TO_B))
    assert shown == (
        "this condition can never hold: context.x equals 1 excludes context.x equals 2"
    )


def test_which_rules_take_everything_is_reported() -> None:
    (shown,) = messages(rules(when(x(5)), when(SUCCESS), when(FAILURE, "a"), when(x(1))))
    assert shown == "rule 4 is never reached: rules 2 and 3 together match whenever it would"


STEPS = """\
a:
  tasks:
    - name: choose
      branches:
        - condition: { context_field: x, operator: gt, value: 1 }
          steps: [{ name: many, type: set, values: { n: many } }]
        - condition: { context_field: x, operator: gt, value: 5 }
          steps: [{ name: lots, type: set, values: { n: lots } }]
    - name: once
      type: set
      when: [all_success, any_failure]
      values: { n: once }
    - name: wait
      until: { and: ["{{ context.done }}", "{{ not context.done }}"] }
      max_iterations: 3
      body: [{ name: look, type: set, values: { n: look } }]
    - name: careful
      steps: [WRITE]
      catch:
        - { error: Timeout }
        - { error: "*" }
        - { error: [Timeout, Failed] }
"""


def test_branches_conditions_of_steps_and_catch_clauses_are_looked_at_too() -> None:
    assert found(STEPS) == ["W504 22:11", "W504 7:11", "W505 11:7", "W505 14:7"]


@pytest.mark.parametrize(
    ("task", "skippable"),
    [
        (["WRITE"], False),
        (["WRITE", "{ name: last, type: set, values: { n: 1 } }"], True),
        (["{ name: last, type: set, values: { n: 1 } }"], False),
        (["{ name: last, type: set, when: any_success, values: { n: 1 } }"], True),
        (
            [
                "{ name: first, type: set, values: { n: 1 } }",
                "{ name: last, type: set, values: { n: 1 } }",
            ],
            False,
        ),
        (
            [
                "{ name: first, type: set, values: { n: '{{ context.n }}' } }",
                "{ name: last, type: set, values: { n: 1 } }",
            ],
            True,
        ),
        (
            [
                "{ name: first, type: set, values: { n: '{{ context.n }}' }, "
                "on_failure: continue }",
                "{ name: last, type: set, values: { n: 1 } }",
            ],
            False,
        ),
        (
            [
                "{ name: first, type: return, when: any_success, value: 1 }",
                "{ name: last, type: set, values: { n: 1 } }",
            ],
            True,
        ),
    ],
)
def test_a_task_is_skipped_only_where_something_skips_it(task: list[str], skippable: bool) -> None:
    name = "write" if task == ["WRITE"] else "last"
    tasks = "".join(f"    - {one}\n" for one in task)
    document = (
        f"a:\n  tasks:\n{tasks}  routing:\n    rules:\n"
        f"      - {{ condition: {{ task: {name}, status: skipped }}, next_team: null }}\n"
        "    default: null\n"
    )
    codes = {one.split()[0] for one in found(document)}
    assert codes == (set() if skippable else {"W505"})


def test_a_team_that_nothing_leads_to_is_reported() -> None:
    assert found(rules(when(SUCCESS, "null")) + "c:\n  tasks: [WRITE]\n") == [
        "W503 7:1",
        "W503 9:1",
    ]


def test_a_team_behind_a_rule_that_is_never_taken_is_reported() -> None:
    document = rules("next_team: null", TO_B)
    assert found(document) == ["W503 8:1", "W504 6:11"]
    assert messages(document)[1] == "only routes that are never taken lead to the team 'b'"


@pytest.mark.parametrize(
    "how",
    [
        "a:\n  tasks: [WRITE]\n  routing: { default: b }\n",
        "a:\n  tasks: [{ name: call, team: b }]\n",
        "a:\n  tasks:\n    - name: each\n      iterate_on: [1]\n      loop_variable: one\n"
        "      body: [{ name: call, team: b }]\n",
        "a:\n  tasks: [WRITE]\n  routing: { rules: [{ next_team: [b, c] }] }\n"
        "c:\n  tasks: [WRITE]\n",
    ],
)
def test_a_team_is_reached_by_rules_defaults_steps_and_fan_outs(how: str) -> None:
    assert found(how + B) == []


def test_a_concentrator_is_reached_by_its_branches() -> None:
    document = (
        "a:\n  tasks: [WRITE]\n  routing: { rules: [{ next_team: [b, c] }] }\n"
        "b:\n  tasks: [WRITE]\n  routing: { default: meet }\n"
        "c:\n  tasks: [WRITE]\n  routing: { default: meet }\n"
        "meet: { type: concentrator }\n"
    )
    assert found(document) == []
