"""What a loop remembers of its calls, and what its agents and the trail learn of repeats."""

import pytest

from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.values import JsonValue
from coterie.workflows.agents.repeated_calls import notes, record_call, refused
from coterie.workflows.core.causes.agent_causes import CallRepeated
from coterie.workflows.core.location import Location
from coterie.workflows.core.state_keys import MAIN, StateKey
from tests.support.compiling import plan_of
from tests.support.simulation.stopping import StoppingScope, World, fresh

PLAN = plan_of("orchestration: {entry_team: work, teams: {work: {tasks: [{name: s}]}}}")
LOOP = StateKey.at(MAIN, "work", 1, "rounds")
HERE = Location.of_visit(MAIN, "work", 1).at("look")._replace(loop=LOOP)
FOUND = Outcome.succeeded({"n": 1})


def scope_of() -> StoppingScope:
    return StoppingScope(PLAN, fresh(PLAN, {}), World(lambda _: {}), None)


def repeat(scope: StoppingScope, times: int, given: JsonValue = "x", here: Location = HERE) -> None:
    for _ in range(times):
        record_call("Search.find", given, FOUND, here, scope)


def note(times: int) -> str:
    return (
        f"[Note: Search.find was called {times} times with the same arguments and gave the same "
        "result each time. Do something else.]"
    )


@pytest.mark.parametrize(
    ("times", "noted", "is_refused"),
    [
        (1, (), False),
        (2, (), False),
        (3, (note(3),), False),
        (4, (note(4),), True),
    ],
)
def test_the_third_equal_call_is_noted_and_the_fifth_refused(
    times: int, noted: tuple[str, ...], is_refused: bool
) -> None:
    scope = scope_of()
    repeat(scope, times)
    assert notes(HERE, scope) == noted
    assert (refused("Search.find", "x", HERE, scope) is not None) is is_refused


def refused_after(outcomes: list[Outcome]) -> Outcome | None:
    scope = scope_of()
    for outcome in outcomes:
        record_call("Search.find", {"q": "x"}, outcome, HERE, scope)
    return refused("Search.find", {"q": "x"}, HERE, scope)


@pytest.mark.parametrize(
    "outcomes",
    [
        [Outcome.succeeded({"n": 1})] * 4,
        [Outcome.failed("FunctionFailed", f"attempt {number} failed") for number in range(4)],
    ],
    ids=["the same result", "the same failure in other words"],
)
def test_a_call_is_refused_after_four_times_the_same(outcomes: list[Outcome]) -> None:
    again = refused_after(outcomes)
    assert again is not None
    assert again.error is not None
    assert again.error.type == "RepeatedCall"


@pytest.mark.parametrize(
    "outcomes",
    [
        [Outcome.succeeded({"n": number}) for number in range(4)],
        [Outcome.failed(f"Type{number}", "failed") for number in range(4)],
        [Outcome.failed("FunctionFailed", "failed", {"n": number}) for number in range(4)],
    ],
    ids=["another result", "another type of failure", "other data with the failure"],
)
def test_a_call_that_comes_to_something_else_may_be_made_again(outcomes: list[Outcome]) -> None:
    assert refused_after(outcomes) is None


def test_the_trail_has_a_repeated_call_once() -> None:
    scope = scope_of()
    repeat(scope, 4)
    assert [(one.step, one.status, one.cause) for one in scope.state.trail] == [
        ("look", "repeated", CallRepeated("call_repeated", "Search.find", 3))
    ]


def test_another_result_in_between_begins_the_count_again() -> None:
    scope = scope_of()
    repeat(scope, 3)
    record_call("Search.find", "x", Outcome.succeeded({"n": 2}), HERE, scope)
    repeat(scope, 2)
    assert notes(HERE, scope) == ()


def test_arguments_in_another_order_are_the_same_and_another_function_is_not() -> None:
    scope = scope_of()
    repeat(scope, 4, {"a": 1, "b": 2})
    assert refused("Search.find", {"b": 2, "a": 1}, HERE, scope) is not None
    assert refused("Search.find", {"a": 2, "b": 1}, HERE, scope) is None
    assert refused("Search.other", {"a": 1, "b": 2}, HERE, scope) is None


def test_a_step_outside_of_a_loop_remembers_nothing() -> None:
    scope = scope_of()
    outside = HERE._replace(loop=None)
    repeat(scope, 4, here=outside)
    assert refused("Search.find", "x", outside, scope) is None
    assert notes(outside, scope) == ()


def test_a_loop_remembers_its_latest_two_hundred_different_calls() -> None:
    scope = scope_of()
    repeat(scope, 4, "first")
    repeat(scope, 4, "second")
    for number in range(198):
        repeat(scope, 1, number)
    assert refused("Search.find", "first", HERE, scope) is not None
    repeat(scope, 1, "first")  # it is the latest now
    repeat(scope, 1, 198)
    assert refused("Search.find", "first", HERE, scope) is not None
    assert refused("Search.find", "second", HERE, scope) is None
