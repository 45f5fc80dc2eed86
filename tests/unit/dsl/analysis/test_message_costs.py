"""The worst case of a session: of one message, between two messages, and of all of them."""

import math

import pytest

from coterie.dsl.analysis.worst_case import WorstCase
from tests.unit.dsl.analysis.test_worst_case import ONE_CALL, worst

NEXT = "{ name: next, type: wait, message: true, deadline: 1h }"
SAY = "{ name: say, type: reply, value: hello }"
LOOK = "{ name: look, type: tool, tool: look }"


def team(name: str, tasks: str, routing: str) -> str:
    return f"{name}:\n  tasks: [{tasks}]\n  routing: {{ {routing} }}\n"


LOOPS = "rules: [{ condition: { context_field: x, value: 1 }, next_team: b }], default: a"
FORKS = "rules: [{ condition: { context_field: x, value: 1 }, next_team: c }], default: d"
SAID = "rules: [{ condition: { task: say, status: success }, next_team: a }], default: null"
IDLE_ENDS = "rules: [{ condition: { task: next, status: failure }, next_team: null }], default: "
IDLE_LEADS = "rules: [{ condition: { task: next, status: failure }, next_team: c }], default: "
LISTEN = team("a", NEXT, f"{IDLE_ENDS}b")


IDLE_TURNS = "rules: [{ condition: { task: next, status: failure }, next_team: null }, "
HEARD_LEADS = f"{IDLE_TURNS}{{ next_team: b }}]"


def at_most(per: str, limit: int) -> str:
    """The end of a team whose further visits go to `d`."""
    return f"  max_visits: {{ per: {per}, limit: {limit}, then: d }}\n"


def each(found: WorstCase) -> tuple[int, float, float]:
    """The visits, model calls and function calls of one message."""
    assert found.message is not None
    return found.message.visits, found.message.model_calls, found.message.function_calls


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        # one call for each message, however many visits the limits allow
        (LISTEN + team("b", f"WRITE, {SAY}", "default: a"), (2, 1, 0)),
        (team("a", f"{NEXT}, WRITE, {SAY}", f"{IDLE_ENDS}a"), (1, 1, 0)),
        # what precedes the wait in a visit belongs to the message before it
        (
            team(
                "a",
                f"{LOOK}, {NEXT}, WRITE, {SAY}",
                SAID,
            ),
            (1, 1, 1),
        ),
        # two ways that exclude each other, and a loop within one message
        (
            LISTEN
            + team("b", SAY, FORKS)
            + team("c", "WRITE", "default: a")
            + team("d", LOOK, "default: a"),
            (3, 1, 1),
        ),
        (
            LISTEN
            + team("b", f"WRITE, {SAY}", LOOPS),
            (6, 5, 0),
        ),
        # an idle wait that leads on: its work counts, until the limits end it
        (
            team("a", NEXT, f"{IDLE_LEADS}b")
            + team("b", f"WRITE, {SAY}", "default: a")
            + team("c", LOOK, "default: a"),
            (11, 1, 5),
        ),
        # an idle visit begins the count of visits per this team anew
        (
            team("a", NEXT, f"{IDLE_LEADS}b")
            + team("b", f"WRITE, {SAY}", "default: a")
            + team("c", LOOK, "default: a")
            + at_most("a", 1)
            + team("d", SAY, "default: null"),
            (11, 1, 5),
        ),
        # without idle visits it holds, as that per any other team
        (
            team("a", NEXT, HEARD_LEADS)
            + team("b", f"WRITE, {SAY}", LOOPS)
            + at_most("a", 2)
            + team("d", SAY, "default: a"),
            (4, 2, 0),
        ),
        (
            LISTEN
            + team("b", SAY, "default: c")
            + team("c", "WRITE", LOOPS.replace("next_team: b", "next_team: c"))
            + at_most("b", 2)
            + team("d", SAY, "default: a"),
            (5, 2, 0),
        ),
        # a team that an answer calls
        (
            LISTEN
            + team("b", f"{{ name: call, type: team, team: c }}, {SAY}", "default: a")
            + team("c", f"WRITE, {LOOK}", "default: null"),
            (3, 1, 1),
        ),
        # without a message the visit ends at its wait, unless it goes on
        (team("a", f"{NEXT}, WRITE, {SAY}", "default: a"), (5, 1, 0)),
        (
            team("a", f"{NEXT}, WRITE, {SAY}", "default: a") + "  stop_on_failure: false\n",
            (5, 6, 0),
        ),
        (
            team(
                "a",
                NEXT.replace("}", ", when: '{{ context.x }}' }") + f", WRITE, {SAY}",
                "default: a",
            ),
            (5, 6, 0),
        ),
        (
            team(
                "a", NEXT.replace("}", ", on_failure: continue }") + f", WRITE, {SAY}", "default: a"
            ),
            (5, 6, 0),
        ),
        # a wait within a loop: the whole visit
        (
            team(
                "a",
                "{ name: rounds, type: loop, while: \"{{ context.x }}\", max_iterations: 4, "
                f"body: [{NEXT}, WRITE, {SAY}] }}",
                "default: null",
            ),
            (0, 4, 0),
        ),
    ],
)  # fmt: skip
def test_the_most_calls_of_one_message_are_known(
    document: str, expected: tuple[int, float, float]
) -> None:
    assert each(worst(document)) == expected


def test_a_session_costs_as_much_as_its_messages_and_what_precedes_them() -> None:
    document = (
        team("a", "WRITE", "default: hear")
        + team("hear", NEXT, f"{IDLE_ENDS}b")
        + team("b", f"WRITE, {SAY}", "default: hear")
    )
    found = worst(document)
    assert each(found) == (2, 1, 0)
    assert (found.total.visits, found.total.model_calls) == (2 + 1000 * 2, 1 + 1000)
    assert found.total.cost == pytest.approx(1001 * ONE_CALL)
    assert found.models == {"scripted/demo": 1001}


def test_a_session_in_a_called_team_is_bounded_by_the_limits() -> None:
    document = team("a", "{ name: call, type: team, team: b }", "default: null") + team(
        "b", f"{NEXT}, WRITE, {SAY}", f"{IDLE_ENDS}b"
    )
    assert each(worst(document, total=10, depth=3)) == (8, 4, 0)


AGAIN = "{ name: again, agent_type: generic_single_shot, persona_key: writer }"
CALL = "{ name: call, type: team, team: b }"


@pytest.mark.parametrize(
    ("total", "expected"), [(2, (2, 6, 0)), (3, (3, 7, 0)), (4, (4, 8, 0)), (30, (6, 9, 0))]
)
def test_within_limits_the_dearest_teams_come_first(
    total: int, expected: tuple[int, float, float]
) -> None:
    document = team("a", f"{CALL}, {AGAIN}", "default: null") + team(
        "b", f"{NEXT}, WRITE, {AGAIN}, {SAY}", f"{IDLE_ENDS}b"
    )
    assert each(worst(document, total=total, depth=2)) == expected


def test_two_loops_without_a_bound_stay_without_one_within_limits() -> None:
    loop = "iterate_on: '{{ context.list }}', loop_variable: one, body"
    document = team("a", f"{CALL}, {{ name: all, {loop}: [{LOOK}] }}", "default: null") + team(
        "b", f"{NEXT}, {{ name: each, {loop}: [{LOOK}] }}, {SAY}", f"{IDLE_ENDS}b"
    )
    assert each(worst(document, total=2, depth=2)) == (2, 0, math.inf)


def of_teams(found: WorstCase) -> dict[str, tuple[int, float, float]]:
    """The visits, model calls and function calls of each team, for one message."""
    return {
        team: (figures.visits, figures.model_calls, figures.function_calls)
        for team, figures in found.teams.items()
    }


def test_a_team_that_waits_counts_what_it_does_before_its_message_and_after_it() -> None:
    task = f"{LOOK}, {NEXT}, WRITE, {SAY}"
    assert of_teams(worst(team("a", task, "default: a"))) == {"a": (5, 1, 5)}


def test_each_team_counts_for_the_message_in_which_it_does_most() -> None:
    again = "rules: [{ condition: { context_field: x, value: 1 }, next_team: b }], default: a"
    ends = "rules: [{ condition: { task: more, status: success }, next_team: c }], default: null"
    document = (
        team("a", f"{LOOK}, {NEXT}, WRITE, {SAY}", again)
        + team("b", f"{NEXT.replace('next', 'more')}, WRITE, {SAY}", ends)
        + team("c", LOOK, "default: b")
    )
    found = worst(document)
    assert of_teams(found) == {"a": (5, 1, 5), "b": (1, 1, 0), "c": (1, 0, 1)}
    assert each(found) == (6, 1, 5)


def test_a_team_that_an_empty_loop_calls_is_never_visited() -> None:
    loop = "{ name: none, iterate_on: [], loop_variable: one, body: ["
    called = f"{loop}{CALL.replace('b }', 'c }')}] }}"
    document = LISTEN + team("b", f"{called}, {SAY}", "default: a") + team("c", LOOK, "default: a")
    assert of_teams(worst(document)) == {"a": (1, 0, 0), "b": (1, 0, 0), "c": (0, 0, 0)}


def test_the_limit_of_visits_counts_from_the_start_and_from_each_message() -> None:
    listens = "rules: [{ condition: { context_field: x, value: 1 }, next_team: b }], default: "
    document = (
        team("a", "WRITE", f"{listens}a")
        + team("b", f"{NEXT}, {SAY}", f"{IDLE_ENDS}c")
        + team("c", "WRITE", f"{listens}c")
    )
    found = worst(document, total=3)
    assert (each(found)[0], found.total.visits) == (3, 3 + 1000 * 3)


def test_a_run_that_is_no_session_has_no_messages() -> None:
    assert worst(team("a", "WRITE", "default: null")).message is None
