"""Tool loops against models that behave at random, and decision by decision."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.dsl.model.tools.tool_use import ToolPolicy
from coterie.dsl.tool_loop.call_refusals import CallRefusal
from coterie.dsl.tool_loop.context_room import turns_to_keep
from coterie.dsl.tool_loop.exchange import ToolCallRequest, ToolResult
from coterie.dsl.tool_loop.result_texts import CallsMissing, CallsRepeated, LastTurn
from coterie.dsl.tool_loop.tool_loop_decision import (
    AskModel,
    EndLoop,
    RunCalls,
    TurnTaken,
    next_action,
    take_result,
    take_turn,
)
from coterie.dsl.tool_loop.tool_loop_progress import (
    AnswerFailed,
    CallsHandedBack,
    ExitedOnSuccess,
    HandoffMade,
    ModelAnswered,
    PolicyUnmet,
    ToolLoopProgress,
)
from coterie.dsl.tool_loop.tool_loop_terms import LoopTerms

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = {"weather": CITY, "clock": {"type": "object"}, "save": {"type": "object"}}


def call(tool: str, **arguments: object) -> ToolCallRequest:
    return ToolCallRequest.model_validate({"tool": tool, "arguments": arguments})


def terms(**given: object) -> LoopTerms:
    return LoopTerms(**{"tools": TOOLS, **given})  # type: ignore[arg-type]


class Loop:
    """A loop whose model and tools the test plays."""

    def __init__(self, **given: object) -> None:
        self.terms = terms(**given)
        self.progress = ToolLoopProgress()

    @property
    def action(self) -> AskModel | RunCalls | EndLoop:
        return next_action(self.terms, self.progress)

    def asks(self) -> AskModel:
        action = self.action
        assert isinstance(action, AskModel)
        return action

    def turn(self, *calls: ToolCallRequest, unusable: bool = False, failed: bool = False) -> None:
        take_turn(self.terms, self.progress, self.asks(), TurnTaken(calls, unusable, failed))

    def runs(self, results: Sequence[str | None] = (), *, failed: bool = False) -> tuple[int, ...]:
        """Execute the open calls; each result is the text given for it, or one of its own."""
        action = self.action
        assert isinstance(action, RunCalls)
        for position, index in enumerate(action.indexes):
            text = results[position] if position < len(results) else None
            number = sum(count.calls for count in self.progress.counts.values())
            result = ToolResult(text=text or f"result {number}", failed=failed)
            take_result(self.progress, index, result, result.text)
        return action.indexes

    def refusals(self) -> list[CallRefusal | None]:
        return [one.refusal for one in self.progress.calls]

    def codes(self) -> list[str | None]:
        return [None if one is None else one.code for one in self.refusals()]

    def ends(self) -> object:
        action = self.action
        assert isinstance(action, EndLoop)
        return action.end


names = st.sampled_from([*TOOLS, "to_review", "nothing"])
calls = st.builds(
    ToolCallRequest,
    tool=names,
    arguments=st.sampled_from([{}, {"city": "Rome"}, {"city": 3}, {"city": "Bern", "more": [1]}]),
    problem=st.sampled_from([None, None, None, "not JSON"]),
)
turns = st.builds(
    TurnTaken,
    calls=st.lists(calls, max_size=4),
    unusable=st.booleans(),
    failed=st.sampled_from([False] * 9 + [True]),
)
policies = st.builds(
    ToolPolicy,
    tool=st.sampled_from(list(TOOLS)),
    min_calls=st.integers(0, 2),
    max_calls=st.one_of(st.none(), st.integers(1, 3)),
    require_success=st.booleans(),
    exit_on_success=st.booleans(),
)
all_terms = st.builds(
    LoopTerms,
    tools=st.just(TOOLS),
    handoffs=st.sampled_from([{}, {"to_review": "review"}]),
    max_turns=st.integers(1, 6),
    choice=st.sampled_from(["auto", "required", "none"]),
    chosen=st.sampled_from([None, None, "save"]),
    returns=st.booleans(),
    policies=st.lists(policies, max_size=2, unique_by=lambda one: one.tool).map(tuple),
    max_reasks=st.integers(0, 2),
)


@given(all_terms, st.lists(turns, min_size=12, max_size=12), st.data())
def test_a_loop_ends_in_time_and_gives_every_call_one_result(
    of: LoopTerms, model: list[TurnTaken], data: st.DataObject
) -> None:
    progress, taken, executed = ToolLoopProgress(), 0, 0
    while not isinstance(action := next_action(of, progress), EndLoop):
        assert next_action(of, progress) == action  # to ask changes nothing
        if isinstance(action, AskModel):
            assert all(one.result is not None for one in progress.calls)
            assert action.number == taken + 1
            asked = model[taken]
            take_turn(of, progress, action, asked)
            if action.is_last or asked.failed:
                assert progress.calls == []
            else:
                assert [one.tool for one in progress.calls] == [one.tool for one in asked.calls]
            taken += 1
            continue
        before = [one.result for one in progress.calls]
        order = data.draw(st.permutations(action.indexes))
        done = order[: data.draw(st.integers(1, len(order)))]  # a crash may come after any call
        for index in done:
            assert progress.calls[index].refusal is None
            assert progress.calls[index].result is None
            result = ToolResult(text=str(index), failed=data.draw(st.booleans()))
            take_result(progress, index, result, result.text)
            executed += 1
        kept = [one.result for i, one in enumerate(progress.calls) if i not in done]
        assert kept == [one for i, one in enumerate(before) if i not in done]
    assert taken <= of.max_turns + 1 + of.max_reasks
    assert all(one.result is not None for one in progress.calls)
    assert executed == sum(count.calls for count in progress.counts.values())
    for policy in of.policies:
        made = progress.counts.get(policy.tool)
        assert made is None or policy.max_calls is None or made.calls <= policy.max_calls
        if isinstance(action.end, ModelAnswered | ExitedOnSuccess | HandoffMade):
            counted = (
                0 if made is None else made.successes if policy.require_success else made.calls
            )
            assert counted >= policy.min_calls
            assert not (
                policy.require_success and not policy.min_calls and made and made.failed_last
            )
    if of.returns:
        assert executed == 0


def test_an_answer_without_calls_ends_the_loop() -> None:
    loop = Loop()
    loop.turn()
    assert loop.ends() == ModelAnswered("answered")


def test_the_calls_of_a_turn_run_before_the_model_is_asked_again() -> None:
    loop = Loop()
    loop.turn(call("weather", city="Rome"), call("clock"))
    assert loop.runs() == (0, 1)
    assert loop.asks().number == 2


def test_calls_that_nobody_can_execute_get_their_results_at_once() -> None:
    loop = Loop()
    broken = ToolCallRequest(tool="clock", problem="it is cut off")
    loop.turn(call("wether", city="Rome"), call("weather", city=3), broken, call("clock"))
    assert loop.codes() == ["unknown_tool", "invalid_arguments", "invalid_arguments", None]
    first = loop.progress.calls[0].result
    assert first is not None
    assert first.failed
    assert first.text == (
        "there is no tool 'wether'; tools: clock, save, weather. did you mean 'weather'?"
    )
    assert loop.runs() == (3,)


def test_equal_calls_with_equal_results_are_reminded_at_three_and_refused_at_five() -> None:
    loop = Loop()
    for times in range(1, 5):
        loop.turn(call("weather", city="Rome"))
        loop.runs(["sunny"])
        reminders = loop.asks().reminders
        expected = (CallsRepeated("calls_repeated", "weather", times),) if times >= 3 else ()
        assert reminders == expected
    loop.turn(call("weather", city="Rome"), call("weather", city="Bern"))
    assert loop.codes() == ["repeated_too_often", None]


def test_another_result_starts_the_count_of_equal_calls_anew() -> None:
    loop = Loop()
    for number in range(6):
        loop.turn(call("weather", city="Rome"))
        loop.runs([f"{number} degrees"])
        assert loop.asks().reminders == ()


def test_equal_calls_of_one_turn_count_before_they_run() -> None:
    loop = Loop()
    loop.turn(*[call("clock") for _ in range(6)])
    assert loop.codes() == [None] * 4 + ["repeated_too_often"] * 2


def test_calls_beyond_the_policy_are_refused() -> None:
    loop = Loop(policies=(ToolPolicy(tool="clock", max_calls=2),))
    loop.turn(call("clock", n=1))
    loop.runs()
    loop.turn(call("clock", n=2), call("clock", n=3))
    assert loop.codes() == [None, "calls_used_up"]


def test_a_turn_runs_a_hundred_calls() -> None:
    loop = Loop()
    loop.turn(*[call("clock", n=number) for number in range(101)])
    assert loop.codes() == [None] * 100 + ["too_many_of_turn"]


def test_the_last_turn_offers_no_calls() -> None:
    loop = Loop(max_turns=1)
    loop.turn(call("clock"))
    loop.runs()
    asked = loop.asks()
    assert asked.is_last
    assert asked.reminders == (LastTurn("last_turn"),)
    loop.turn(call("clock"))  # comes all the same, and is not executed
    assert loop.ends() == ModelAnswered("answered")
    assert loop.progress.calls == []


def test_an_answer_before_the_policy_is_met_is_not_accepted() -> None:
    loop = Loop(policies=(ToolPolicy(tool="save", min_calls=1, require_success=True),), max_turns=3)
    loop.turn()
    (reminder,) = loop.asks().reminders
    assert isinstance(reminder, CallsMissing)
    loop.turn(call("save"))
    loop.runs(failed=True)
    loop.turn()
    end = loop.ends()  # three turns are over, so a last answer could not be accepted
    assert isinstance(end, PolicyUnmet)
    assert [(one.tool, one.wanted, one.counted) for one in end.unmet] == [("save", 1, 0)]


def test_a_success_that_exits_ends_the_loop_when_its_turn_is_over() -> None:
    loop = Loop(policies=(ToolPolicy(tool="save", exit_on_success=True),))
    loop.turn(call("clock"), call("save"))
    take_result(loop.progress, 1, ToolResult(text="saved"), "saved")
    assert loop.action == RunCalls((0,))
    loop.runs()
    assert loop.ends() == ExitedOnSuccess("exited_on_success", 1, "save")


def test_a_failure_does_not_exit() -> None:
    loop = Loop(policies=(ToolPolicy(tool="save", exit_on_success=True),))
    loop.turn(call("save"))
    loop.runs(failed=True)
    assert loop.asks().number == 2


def test_a_demanded_tool_is_demanded_until_it_was_called() -> None:
    loop = Loop(chosen="save")
    assert loop.asks().tool == "save"
    loop.turn(call("clock"))
    loop.runs()
    assert loop.asks().tool == "save"
    loop.turn(call("save"))
    loop.runs()
    assert (loop.asks().tool, loop.asks().choice) == (None, "auto")


def test_a_required_call_is_required_until_one_was_made() -> None:
    loop = Loop(choice="required")
    assert loop.asks().choice == "required"
    loop.turn(call("clock"))
    loop.runs()
    assert loop.asks().choice == "auto"


def test_returned_calls_are_not_executed() -> None:
    loop = Loop(returns=True)
    loop.turn(call("clock"), call("weather", city="Rome"))
    assert loop.ends() == CallsHandedBack("calls_returned")


def test_returned_calls_with_an_invalid_one_are_asked_for_again() -> None:
    loop = Loop(returns=True)
    loop.turn(call("clock"), call("weather"))
    assert loop.codes() == ["others_invalid", "invalid_arguments"]
    assert loop.asks().number == 2


def test_a_handoff_leaves_the_other_calls_out() -> None:
    loop = Loop(handoffs={"to_review": "review"})
    loop.turn(call("clock"), call("to_review", reason="done"))
    assert loop.codes() == ["handed_off", None]
    assert loop.ends() == HandoffMade("handed_off", 1, "review")


def test_a_handoff_waits_for_what_the_policy_demands() -> None:
    loop = Loop(handoffs={"to_review": "review"}, policies=(ToolPolicy(tool="save", min_calls=1),))
    loop.turn(call("to_review"))
    assert loop.codes() == ["handoff_too_early"]
    loop.turn(call("save"))
    loop.runs()
    loop.turn(call("to_review"))
    assert isinstance(loop.ends(), HandoffMade)


def test_an_unusable_answer_is_asked_for_again_without_a_turn() -> None:
    loop = Loop(max_turns=1, max_reasks=1)
    loop.turn(unusable=True)
    assert loop.asks().reask
    loop.turn(unusable=True)
    assert loop.ends() == AnswerFailed("answer_failed")
    assert loop.progress.turns == 1


def test_a_turn_without_an_answer_ends_the_loop() -> None:
    loop = Loop()
    loop.turn(failed=True)
    assert loop.ends() == AnswerFailed("answer_failed")


def test_a_demanded_success_without_a_number_concerns_the_latest_call() -> None:
    loop = Loop(policies=(ToolPolicy(tool="save", require_success=True),))
    loop.turn(call("save"))
    loop.runs(failed=True)
    loop.turn()
    (reminder,) = loop.asks().reminders
    assert isinstance(reminder, CallsMissing)
    loop.turn(call("save", again=True))
    loop.runs()
    loop.turn()
    assert loop.ends() == ModelAnswered("answered")


@pytest.mark.parametrize(
    ("sizes", "wanted", "least", "kept"),
    [
        ([1, 50], 1, 0, 1),
        ([1, 51], 1, 0, 0),
        ([1, 51], 1, 1, 1),
        ([1, 25, 25], 2, 0, 2),
        ([1, 26, 25], 2, 0, 1),
        ([1, 1, 1], 1, 0, 1),
        ([1, 1], 5, 0, 1),
        ([1], 5, 1, 0),
    ],
)
def test_compaction_keeps_the_latest_turns_that_fill_half_of_the_limit(
    sizes: list[int], wanted: int, least: int, kept: int
) -> None:
    assert turns_to_keep(sizes, wanted, 100, least) == kept
