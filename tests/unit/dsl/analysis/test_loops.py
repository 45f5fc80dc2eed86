"""Loops that nothing leads out of, and failures that nothing takes over."""

import pytest

from tests.unit.dsl.analysis.documents import found, messages

SUCCESS = "{ task: write, status: success }"
FAILURE = "{ task: write, status: failure }"


def team(name: str, *rules: str, default: str | None = None, tasks: str = "[WRITE]") -> str:
    """A team with rules like `success -> b`."""
    written = [rule.split(" -> ") for rule in rules]
    conditions = {"success": SUCCESS, "failure": FAILURE, "x": "{ context_field: x, value: 1 }"}
    lines = [
        f"      - {{ condition: {conditions[asked]}, next_team: {to} }}\n" for asked, to in written
    ]
    routing = ["  routing:\n"] if rules or default else []
    routing += ["    rules:\n", *lines] if rules else []
    routing += [f"    default: {default}\n"] if default else []
    return f"{name}:\n  tasks: {tasks}\n" + "".join(routing)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        # one team, two teams, a loop that is entered from outside
        (team("a", "success -> a", default="a"), ["W506 1:1"]),
        (team("a", default="b") + team("b", default="a"), ["W506 1:1"]),
        (team("a", default="b") + team("b", default="c") + team("c", default="b"), ["W506 5:1"]),
        # the way out is never taken
        (team("a", "success -> a", default="null"), ["W506 1:1"]),
        (
            team("a", "success -> b", "failure -> a", "x -> null", default="a")
            + team("b", default="a"),
            ["W504 7:11", "W506 1:1"],
        ),
        # only a failure or a success without a route ends it
        (team("a", "success -> a"), ["W506 1:1", "W507 3:3"]),
        (team("a", "x -> a"), ["W501 3:3", "W506 1:1"]),
        # two loops, one inside the other: reported once
        (
            team("a", "success -> b", default="a") + team("b", "success -> a", default="b"),
            ["W506 1:1"],
        ),
        # near misses: an end, a default, a way to a team that ends
        (team("a", "success -> a", default="b") + team("b"), []),
        (team("a", "failure -> a", default="null"), []),
        (team("a", "x -> a", default="null"), []),
        (team("a", default="b") + team("b", "x -> a", default="c") + team("c"), []),
        (
            team("a", "x -> a", default="b")
            + team("b", default="null", tasks="[{ name: no, type: fail, message: no }]"),
            [],
        ),
    ],
)
def test_a_loop_without_an_exit_is_reported_once(document: str, expected: list[str]) -> None:
    assert found(document) == expected


def test_the_way_round_is_reported() -> None:
    document = team("a", default="b") + team("b", default="c") + team("c", default="b")
    (shown,) = messages(document)
    assert shown == (
        "the loop b -> c -> b has no exit: every route leads back into it, so only a failure or "
        "the limits end the run (at most 30 team visits)"
    )
    (shown,) = messages(team("a", "success -> a", default="a"))
    assert shown.startswith("the team 'a' leads to nothing but itself, so")


@pytest.mark.parametrize(
    ("document", "shown"),
    [
        # in the order of the routes, not of the document
        (
            team("a", default="c") + team("b", default="a") + team("c", default="b"),
            "a -> c -> b -> a",
        ),
        # by the way that passes every team, also where a shorter one leads back
        (
            team("a", "x -> b", default="a")
            + team("b", "x -> a", default="c")
            + team("c", default="a"),
            "a -> b -> c -> a",
        ),
        # no single way passes every team
        (
            team("a", "x -> b", default="c") + team("b", default="a") + team("c", default="a"),
            "of a, b, c",
        ),
        # a team that the loop always calls leads back through itself and is no part of it
        (
            team("a", default="b")
            + team("b", default="a", tasks="[{ name: go, team: c }]")
            + team("c"),
            "a -> b -> a",
        ),
    ],
)
def test_the_loop_is_shown_by_its_routes(document: str, shown: str) -> None:
    (result,) = messages(document)
    assert result.startswith(f"the loop {shown} has no exit")


def fan_out(b: str, c: str, meet: str = "meet: { type: concentrator }\n") -> str:
    return f"a:\n  tasks: [WRITE]\n  routing: {{ rules: [{{ next_team: [b, c] }}] }}\n{b}{c}{meet}"


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (fan_out(team("b", default="meet"), team("c", default="meet")), []),
        (fan_out(team("b", default="b"), team("c", default="meet")), ["W506 4:1"]),
        (
            fan_out(
                team("b", default="b"),
                team("c", default="meet"),
                "meet: { type: concentrator, collect: { count: 1 } }\n",
            ),
            ["W506 4:1"],
        ),
        (
            fan_out(
                team("b", default="meet"),
                team("c", default="meet"),
                "meet: { type: concentrator, routing: { default: a } }\n",
            ),
            ["W506 1:1"],
        ),
        (fan_out(team("b"), team("c"), ""), []),
    ],
)
def test_a_branch_ends_where_the_branches_meet(document: str, expected: list[str]) -> None:
    assert found(document) == expected


def test_a_team_that_always_runs_itself_has_no_exit() -> None:
    again = "[{ name: again, team: a }]"
    assert found(team("a", tasks=again)) == ["W506 1:1"]
    assert found(team("a", tasks="[{ name: again, team: a, when: any_failure }]")) == []
    assert found(team("a", tasks="[{ name: again, team: a, timeout: 5s }]")) == []
    called = "[{ name: go, team: b }]"
    assert found(team("a", tasks=called) + team("b", default="b")) == ["W506 3:1"]


NOTE = "[{ name: write, type: set, values: { n: 1 } }]"
FILLED = "[{ name: write, type: set, values: { n: '{{ context.n }}' } }]"
END = team("b")


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (team("a", "success -> b") + END, ["W507 3:3"]),
        (team("a", "success -> b", "failure -> null") + END, []),
        (team("a", "success -> b", default="null") + END, []),
        (team("a", "success -> null", default="b") + END, []),
        (team("a", "x -> b") + END, ["W501 3:3"]),
        (team("a", "x -> b", "failure -> null") + END, ["W501 3:3"]),
        # the failure of a last team is the run's
        (team("a"), []),
        (team("a", "success -> null"), []),
        # what cannot fail, or only by a name that is not there, needs no route for it
        (team("a", "success -> b", tasks=NOTE) + END, []),
        (team("a", "success -> b", tasks=FILLED) + END, []),
    ],
)
def test_a_failure_without_a_route_is_reported(document: str, expected: list[str]) -> None:
    assert found(document) == expected


def test_the_tasks_whose_failure_has_no_route_are_named() -> None:
    tasks = (
        "[WRITE, { name: note, type: set, values: { n: 1 } }, "
        "{ name: ask, type: approval, prompt: Go on?, deadline: 1d }]"
    )
    rules = "      - { condition: all_success, next_team: b }\n"
    own = "      - { condition: { task: ask, status: failure }, next_team: null }\n"
    head = f"a:\n  tasks: {tasks}\n  routing:\n    rules:\n{rules}"
    (shown,) = messages(head + END)
    assert shown.startswith("when 'write' or 'ask' fails, no rule matches and there is no default")
    (shown,) = messages(head + own + END)
    assert shown.startswith("when 'write' fails, no rule matches and there is no default")
