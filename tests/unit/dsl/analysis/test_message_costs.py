"""The worst case of a session: of one message, between two messages, and of all of them."""

import pytest

from dsl.analysis.worst_case import WorstCase
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


def each(found: WorstCase) -> tuple[int, float, float]:
    """The visits, model calls and skill calls of one message."""
    assert found.message is not None
    return found.message.visits, found.message.model_calls, found.message.skill_calls


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


def test_a_run_that_is_no_session_has_no_messages() -> None:
    assert worst(team("a", "WRITE", "default: null")).message is None
