"""What calls use is counted by task and model, whatever rounds and attempts there were."""

from dataclasses import replace

import pytest

from coterie.activities.contracts import (
    AgentError,
    AgentResponse,
    FunctionResult,
    InnerCall,
    Spent,
    TokenUsage,
)
from coterie.workflows.core.location import Location
from coterie.workflows.core.progress.progress_kinds import SequenceProgress, StartedStep
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import MAIN, StateKey
from coterie.workflows.core.state_parts import Tally
from coterie.workflows.core.usage import began, count_beside, tally_of, together, total_cost, used


@pytest.mark.parametrize(
    ("frame", "path", "task"),
    [
        ("main:a#1", "ask", "a/ask"),
        ("main:a#1", "7/ask", "a/7/ask"),  # a step may have such a name
        ("main:a#1/each|7", "each/7/ask", "a/each/ask"),
    ],
)
def test_calls_of_rounds_at_once_count_for_their_task(frame: str, path: str, task: str) -> None:
    state = RunState()
    place = Location.of_visit(MAIN, "a", 1).beside(path)._replace(frame_key=StateKey(frame))
    tally = began(state, place, "writer@2", "m")
    assert (tally.task, tally.persona, tally.calls) == (task, "writer", 1)
    assert list(state.tallies) == [f"{task} m"]


HERE = Location.of_visit(MAIN, "a", 1).beside("ask")


def test_the_calls_of_a_task_with_one_model_share_a_tally() -> None:
    state = RunState()
    assert tally_of(state, HERE, "m") is None
    first = began(state, HERE, "writer", "m")
    assert began(state, HERE, "writer", "m") is first is tally_of(state, HERE, "m")
    other = began(state, HERE, "writer", tool="search")
    assert (first, other) == (
        Tally("a/ask", "writer", "m", calls=2),
        Tally("a/ask", "writer", "", "search", calls=1),
    )


USED = TokenUsage(input_tokens=30, output_tokens=5, cached_tokens=20)
COUNTED = Tally("t", input_tokens=30, output_tokens=5, cached_tokens=20, largest_call=35)


@pytest.mark.parametrize(
    ("what", "tally"),
    [
        (Spent(usage=USED, cost=0.5, seconds=2, cut_off=1), replace(COUNTED, cost=0.5)),
        (Spent(usage=USED, cost=0.5, unpriced=True), replace(COUNTED, cost=0.5, unpriced=1)),
        (Spent(usage=USED), replace(COUNTED, unpriced=1)),
        (Spent(cost=0.5), Tally("t")),
        (Spent(), Tally("t")),
        (AgentResponse(), Tally("t", unreported=1)),
        (AgentResponse(error=AgentError(type="Timeout", message="")), Tally("t", unreported=1)),
        (AgentResponse(error=AgentError(type="TemplateFailed", message="")), Tally("t")),
        (AgentResponse(error=AgentError(type="EvaluationLimitExceeded", message="")), Tally("t")),
    ],
    ids=[
        "all",
        "priced in part",
        "without a price",
        "cost alone",
        "nothing",
        "unreported",
        "failed call",
        "no prompt",
        "endless prompt",
    ],
)
def test_the_usage_of_a_call_is_counted_once(what: AgentResponse | Spent, tally: Tally) -> None:
    state, found = RunState(), Tally("t")
    used(state, HERE, found, what)
    assert found == replace(tally, seconds=what.seconds, cut_off=what.cut_off)
    assert state.usage == (what.usage or TokenUsage())


def test_usage_adds_up_over_calls_and_the_largest_is_remembered() -> None:
    state, found = RunState(), Tally("t")
    small = TokenUsage(input_tokens=1, output_tokens=2, cached_tokens=1)
    for what in (Spent(usage=USED, cost=0.5, seconds=2), Spent(usage=small, cost=0.25, seconds=1)):
        used(state, HERE, found, what)
    assert found == Tally(
        "t",
        input_tokens=31,
        output_tokens=7,
        cached_tokens=21,
        cost=0.75,
        largest_call=35,
        seconds=3,
    )
    assert state.usage == USED + small


CALL = InnerCall(skill="Search.run", effect="read")
OTHER = InnerCall(skill="Search.other", effect="read")


@pytest.mark.parametrize(
    ("cut", "what", "both"),
    [
        (
            Spent(usage=USED, cost=0.5, seconds=1, cut_off=1, inner_calls=(CALL,)),
            Spent(usage=USED, cost=0.25, seconds=2, cut_off=2, inner_calls=(OTHER, CALL)),
            Spent(
                usage=USED + USED,
                cost=0.75,
                seconds=3,
                cut_off=3,
                inner_calls=(CALL, OTHER),
            ),
        ),
        (
            Spent(usage=USED),
            Spent(usage=USED, cost=0.25),
            Spent(usage=USED + USED, cost=0.25, unpriced=True),
        ),
        (
            Spent(usage=USED, cost=0.25, unpriced=True),
            Spent(),
            Spent(usage=USED, cost=0.25, unpriced=True),
        ),
        (Spent(), Spent(usage=USED, cost=0.25), Spent(usage=USED, cost=0.25)),
        (Spent(), Spent(usage=USED), Spent(usage=USED)),
        (Spent(), Spent(), Spent()),
    ],
    ids=["all", "one priced", "in part priced", "unknown", "no price", "nothing"],
)
def test_a_repeated_call_has_the_usage_of_both_attempts(
    cut: Spent, what: Spent, both: Spent
) -> None:
    assert together(cut, what) == both


def test_a_repeated_function_has_worked_in_both_attempts() -> None:
    assert together(Spent(seconds=1), FunctionResult(data=7, seconds=2)) == FunctionResult(
        data=7, seconds=3
    )


@pytest.mark.parametrize(
    ("tallies", "total"),
    [
        ([], (None, False)),
        ([Tally("a"), Tally("b", unpriced=1)], (None, True)),
        ([Tally("a", cost=0.1234564), Tally("b", cost=0.1), Tally("c")], (0.2234564, False)),
        ([Tally("a", cost=0.0), Tally("c", unpriced=2)], (0.0, True)),
    ],
    ids=["no calls", "no price", "priced", "in part"],
)
def test_the_cost_of_a_run_adds_up_what_has_a_price(
    tallies: list[Tally], total: tuple[float | None, bool]
) -> None:
    assert total_cost(RunState(tallies={one.task: one for one in tallies})) == total


def test_the_tokens_of_a_call_are_those_of_others_for_a_concurrent_step() -> None:
    state = RunState()
    steps = {name: StartedStep(0.0) for name in ("ask", "other")}
    for name, started in steps.items():
        key = HERE.beside(name).key.part("steps")
        state.progress.sequences[key] = SequenceProgress(started=started)
    used(state, HERE.at("model"), Tally("t"), Spent(usage=USED))
    assert [one.tokens_of_others for one in steps.values()] == [0, USED.total]


def test_tokens_of_a_call_count_as_those_of_others_for_steps_that_do_not_contain_it() -> None:
    visit = StateKey.visit(MAIN, "a", 1)
    owners = {"all": visit, "left": f"{visit}/both|left", "right": f"{visit}/both/right"}
    state = RunState()
    for owner in owners.values():
        step = SequenceProgress(started=StartedStep(0.0, tokens_of_others=3))
        state.progress.sequences[f"{owner}:steps"] = step
    state.progress.sequences[f"{visit}/later:steps"] = SequenceProgress()
    count_beside(state, f"{visit}/both/right/ask", 5)
    count_beside(state, f"{visit}/both/right/ask", 2)
    found = [one.started for one in state.progress.sequences.values() if one.started is not None]
    assert [started.tokens_of_others for started in found] == [3, 10, 3]
