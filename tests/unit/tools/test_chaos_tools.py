"""The play of runs with tools is made by the seed, and their bookkeeper finds what is wrong."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from tests.chaos.book import Call
from tests.chaos.tool_runs.planned_runs import CALLS, MIX, Plan, PlannedCall, calls_in
from tests.chaos.tool_runs.tool_reckoning import Seen, check_results, check_tools, with_tasks

PLAY = ((PlannedCall("pay", 1, 0.5, 3, False), PlannedCall("look", 2, 0.5, 3, False)),)
TOOL_FUNCTIONS = {
    "pay": "shop:pay",
    "look": "shop:look",
    "fire": "depot/fire",
    "was_done": "shop:was_done",
}


def test_a_plan_is_the_same_for_a_seed_and_another_one_for_another_seed() -> None:
    plan = Plan.of(7, 50)
    assert plan == Plan.of(7, 50)
    assert plan != Plan.of(8, 50)


@pytest.mark.parametrize("kills", [0, 3, 50, 53])
def test_a_plan_has_so_many_kills_each_at_a_call_of_a_run_of_thirty(kills: int) -> None:
    plan = Plan.of(3, kills)
    assert len(plan.strikes) == kills
    for run in plan.runs:
        play = calls_in(plan.play(run))
        assert Counter(call.tool for call in play) == MIX
        assert [call.number for call in play] == list(range(1, CALLS + 1))
        struck = [strike.call for strike in plan.strikes if strike.run == run]
        assert len({call.number for call in struck}) == len(struck)
        assert all(call in play for call in struck)


def made(tool: str, at: float = 0.0, *, fails: str | None = None, number: int = 1) -> Call:
    """A call that took a second."""
    given = json.dumps({"skill": TOOL_FUNCTIONS[tool], "input": {"id": f"r0000/{number:02}"}})
    ended = None if fails else at + 1
    return Call("call_function", f"{at:.0f}.work.act", at, 1, ended, at + 1, fails, given)


LOOKED = made("look", number=2)
SEEN = Seen(
    "r0000",
    [made("pay"), LOOKED],
    {("pay", "r0000/01"): [0.5], ("look", "r0000/02"): [0.5]},
    Counter({"pay r0000/01": 1}),
)
LOST = made("pay", fails="OutcomeUnknown")
AGAIN = {("pay", "r0000/01"): [0.5, 4.5], ("was_done", "r0000/01"): [2.5]}


def test_what_is_as_it_must_be_is_not_reported() -> None:
    assert check_tools(PLAY, SEEN) == []
    verified = [LOST, made("was_done", 2), made("pay", 4), LOOKED]
    assert check_tools(PLAY, replace(SEEN, calls=verified, journal={**SEEN.journal, **AGAIN})) == []


@pytest.mark.parametrize(
    ("seen", "part"),
    [
        (replace(SEEN, ledger=Counter()), "pay r0000/01 happened 0 times"),
        (replace(SEEN, ledger=Counter({"pay r0000/01": 2})), "pay r0000/01 happened 2 times"),
        (
            replace(SEEN, journal={**SEEN.journal, ("look", "r0000/02"): [0.5, 0.7]}),
            "look r0000/02 was called 2 times in 1 attempts",
        ),
        (
            replace(SEEN, journal={**SEEN.journal, ("look", "r0000/02"): [3.5]}),
            "look r0000/02 was called at 3.50, when no call of it was open",
        ),
        (
            replace(SEEN, calls=[*SEEN.calls, made("pay", 4)]),
            "(0.work.act) has a result, and was called again",
        ),
        (replace(SEEN, calls=[made("pay")]), "look r0000/02 has 0 calls (), not one result"),
        (
            replace(SEEN, calls=[LOST, made("pay", 4), LOOKED]),
            "(0.work.act) had an unknown outcome that nobody verified",
        ),
        (
            replace(SEEN, calls=[replace(made("pay"), attempts=2), LOOKED]),
            "pay r0000/01 (0.work.act) was attempted 2 times",
        ),
    ],
)
def test_a_call_that_breaks_a_promise_is_reported_with_its_run_and_its_place(
    seen: Seen, part: str
) -> None:
    wrong = check_tools(PLAY, seen)
    assert [line for line in wrong if part in line and line.startswith("r0000: ")], wrong


def test_a_result_unlike_that_of_the_undisturbed_run_is_reported() -> None:
    plan = Plan.of(1, 5)
    assert check_results(plan, {"u0000": "a", "r0000": "a"}) == []
    assert check_results(plan, {"u0000": "a", "r0000": "b"}) == ["r0000: ended otherwise: b not a"]


def test_a_call_and_those_that_ask_for_its_task_are_one_call() -> None:
    begun, asked = (made("fire", at, fails="InputRequired") for at in (0, 2))
    [call] = with_tasks([begun, asked, made("fire", 4)])
    assert (call.scheduled, call.attempts, call.completed, call.failure) == (0, 1, 5, None)
    again = with_tasks([made("fire", fails="OutcomeUnknown"), made("fire", 4)])
    assert [call.completed for call in again] == [None, 5]
