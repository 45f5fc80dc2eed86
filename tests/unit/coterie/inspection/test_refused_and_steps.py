"""`coterie why` says why an answer was refused, and what happened to a step or a call."""

import json

import pytest

from coterie.failures import CommandError
from coterie.inspection.step_trace import named_step
from coterie.inspection.trace import RefusedAnswer, Trace, traced
from coterie.inspection.why_text import (
    json_text,
    run_text,
    steps_json,
    steps_text,
    visits_text,
)
from coterie.settings import load
from coterie.workflows.core.causes.people_causes import SkipAsked
from coterie.workflows.core.causes.step_causes import Failed, StepStated
from tests.support.places import HISTORIES


async def trace_of(case: str) -> Trace:
    """A recorded run, by its history alone."""
    return await traced(load({}, HISTORIES), f"{case}.0.1.0.json")


NO_JSON = "the answer contains no JSON value; it must contain exactly one; the answer starts with: "
REFUSED = {
    "review_loop": ("review/check", 2, 1, "asked again (re-ask 1)"),
    "unusable_turns": ("work/first", 1, None, "not asked again"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_refused_answer_is_shown_with_its_reason_and_what_happened_then(case: str) -> None:
    step, visit, reask, then = REFUSED[case]
    trace = await trace_of(case)
    (refused,) = trace.refused
    assert isinstance(refused, RefusedAnswer)
    assert (refused.step, refused.visit, refused.reask) == (step, visit, reask)
    assert refused.type == "AnswerUnusable"
    assert refused.problem.startswith(NO_JSON), refused.problem
    team, _, path = step.partition("/")
    line = (
        f"{team}#{visit}/{path} gave an answer that was refused, because AnswerUnusable: "
        f"{refused.problem}; the model was {then}"
    )
    for text in (
        run_text(trace, case),
        visits_text(trace.of(f"{team}#{visit}"), trace),
        steps_text(trace.of_step(f"{step}#{visit}"), trace),
    ):
        assert line in text, text
    (whole,) = json.loads(json_text(trace, trace.visits))["refused"]
    (one,) = json.loads(steps_json(trace.of_step(step), trace))["steps"][visit - 1]["refused"]
    assert whole == one
    assert (one["problem"], one["reask"]) == (refused.problem, reask)


async def test_a_refused_result_of_a_tool_is_shown_with_its_reason_and_what_happened_then() -> None:
    trace = await trace_of("retried_tools")
    (step,) = trace.of_step("work/ask")
    causes = [(one.entry.status, one.entry.cause) for one in step.happened]
    assert [status for status, _ in causes] == ["started", "retried", "failure"]
    for _, cause in causes[1:]:
        assert isinstance(cause, Failed)
        assert cause.failure.type == "InvalidResult"
    because = "because InvalidResult: 'write': the result lacks the key 'title'"
    assert f"work#1/ask: retried, {because}" in run_text(trace, "run")


@pytest.mark.parametrize("name", ["find@1.1", "act/find@1.1", "work/act/find@1.1#1"])
async def test_a_call_goes_by_its_address(name: str) -> None:
    trace = await trace_of("values_of_calls")
    (call,) = trace.of_step(name)
    assert call.name == "work#1/act/find@1.1"
    statuses = [one.entry.status for one in call.happened]
    assert statuses == ["started", None, "cut_off", "skipped"]
    asked, last = call.happened[1].entry.cause, call.happened[-1].entry.cause
    assert isinstance(asked, SkipAsked)
    assert last == StepStated("skipped_with_value")
    text = steps_text([call], trace)
    assert "skip of work/act/find@1.1 requested by ann: too slow" in text
    assert "act/write@2.1" not in text


async def test_an_unknown_address_is_refused_with_where_to_look() -> None:
    trace = await trace_of("values_of_calls")
    with pytest.raises(CommandError, match=r"neither a visit nor a step 'find@9\.1'; `coterie"):
        trace.of_step("find@9.1")


@pytest.mark.parametrize(
    ("path", "name", "found"),
    [
        ("work/act/helper@1.1/look@2.1", "helper@1.1", "work/act/helper@1.1"),
        ("work/act/helper@1.1/look@2.1", "look@2.1", "work/act/helper@1.1/look@2.1"),
        ("work/act/helper@1.1/look@2.1", "work/act", "work/act"),
        ("work/act", "act", None),
        ("work/act/look@2.1", "ook@2.1", None),
        ("work/act/look@2.10", "look@2.1", None),
    ],
)
def test_a_call_goes_by_an_end_of_its_name_and_a_step_by_all_of_it(
    path: str, name: str, found: str | None
) -> None:
    assert named_step(path, name) == found
