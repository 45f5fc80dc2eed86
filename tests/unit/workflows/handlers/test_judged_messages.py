"""When a run judges a message: at once where it can, later or not at all where it cannot."""

from typing import cast

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from coterie.dsl.values import Json
from coterie.workflows.approvals.decision_refusals import RequestUnknown
from coterie.workflows.control.steering_refusals import MessageUnusable, RunUnable, TeamUnknown
from coterie.workflows.core.messages import AmendInput
from coterie.workflows.core.requests import Pending, RunNotReady
from coterie.workflows.core.views import TeamResult
from coterie.workflows.handlers.early_signals import MAX_EARLY_SIGNALS
from coterie.workflows.handlers.message_handlers import AnyRefusal, refusal_error
from tests.support.compiling import plan_of
from tests.support.simulation.judging_run import JudgingRun, Waits, outside_of_temporal

PLAN = plan_of("""
orchestration:
  entry_team: work
  teams:
    work:
      tasks: [{name: note, type: set, values: {n: 1}}]
    other:
      tasks: [{name: note, type: set, values: {n: 1}}]
""")
DECLARED = """
orchestration:
  context: {a: {type: integer, default: 1}}
  entry_team: work
  teams:
    work: {tasks: [{name: note, type: set, values: {n: 1}}]}
"""
AMENDS: Json = {"updates": {"a": 1}, "by": "ann"}
UNUSABLE: Json = {"updates": 7}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> JudgingRun:
    outside_of_temporal(monkeypatch)
    found = JudgingRun(PLAN)
    found.state.main.team = "work"
    return found


def deaf(run: JudgingRun, *, until_it_waits: bool = True) -> JudgingRun:
    """The same run before it can judge messages; it can when a handler waits, or never."""
    run.listens = False
    if until_it_waits:
        run.arrive = lambda: setattr(run, "listens", True)
    return run


async def test_a_run_that_listens_judges_an_update_without_waiting(run: JudgingRun) -> None:
    assert await run.update("amend", AMENDS) == 1
    assert (run.waits, run.state.amendments) == (0, [AmendInput.model_validate(AMENDS)])


async def test_an_early_update_is_judged_when_the_run_listens(run: JudgingRun) -> None:
    assert await deaf(run).update("amend", AMENDS) == 1
    assert run.waits == 1


async def test_an_early_update_changes_nothing_while_the_run_does_not_listen(
    run: JudgingRun,
) -> None:
    with pytest.raises(Waits):
        await deaf(run, until_it_waits=False).update("amend", AMENDS)
    assert run.state.amendments == []


@pytest.mark.parametrize(
    ("listens", "done", "given", "code"),
    [
        (True, False, AMENDS, None),
        (True, True, AMENDS, "RunHasEnded"),
        (True, False, UNUSABLE, "Malformed"),
        (False, False, AMENDS, "NotYet"),
        (False, True, AMENDS, "NotYet"),
        (False, False, UNUSABLE, "Malformed"),
    ],
)
def test_a_validator_refuses_what_the_run_cannot_do_or_judge(
    run: JudgingRun, listens: bool, done: bool, given: Json, code: str | None
) -> None:
    run.listens, run.done = listens, done
    assert run.validate("amend", given) == code
    assert run.state.amendments == []


@pytest.mark.parametrize(("given", "code"), [(AMENDS, "RunHasEnded"), (UNUSABLE, "Malformed")])
async def test_an_update_that_only_its_handler_can_judge_is_refused_there(
    run: JudgingRun, given: Json, code: str
) -> None:
    run.done = True
    with pytest.raises(ApplicationError) as refused:
        await run.update("amend", given)
    assert refused.value.type == code


def codes(run: JudgingRun) -> list[str | None]:
    return [entry.status for entry in run.state.trail]


async def test_a_signal_acts_or_the_trail_keeps_why_it_does_not(run: JudgingRun) -> None:
    await run.signal("pause", {"by": "ann"})
    assert run.state.paused is not None
    before = codes(run)
    await run.signal("pause", {"by": 7})
    await run.signal("retry", {"by": "ann"})
    assert codes(run) == [*before, "Malformed", "NothingFailed"]


async def test_an_early_signal_acts_when_the_run_listens(run: JudgingRun) -> None:
    await deaf(run).signal("pause", {"by": "ann"})
    assert (run.waits, run.state.paused is not None, run.early.count) == (1, True, 1)


async def test_a_signal_to_a_run_that_listens_takes_no_room_of_early_ones(run: JudgingRun) -> None:
    run.early.count = MAX_EARLY_SIGNALS
    await run.signal("pause", {"by": "ann"})
    await run.keep_signal("go", [])
    assert (run.waits, run.early.overflow()) == (0, [])
    assert run.state.paused is not None
    assert codes(run)[-1] == "UnknownSignal"


async def test_an_early_signal_without_room_is_counted_and_forgotten(run: JudgingRun) -> None:
    deaf(run).early.count = MAX_EARLY_SIGNALS
    await run.signal("pause", {"by": "ann"})
    await run.keep_signal("go", [])
    assert [one.name for one in run.early.overflow()] == ["pause", "go"]
    assert (run.waits, run.state.paused, codes(run)) == (0, None, [])


LONG = "x" * 1_000


@pytest.mark.parametrize(
    ("refusal", "code", "facts"),
    [
        (RunNotReady(), "NotYet", {"message": RunNotReady().message}),
        (RunNotReady(LONG), "NotYet", {"message": LONG}),
        (RunNotReady(f"{LONG}x"), "NotYet", {"message": f"{LONG}..."}),
        (RunUnable("RunHasEnded"), "RunHasEnded", {"message": "the run has ended"}),
        (MessageUnusable("Malformed", "no"), "Malformed", {"message": "no"}),
        (RequestUnknown("a#1", ()), "UnknownRequest", {"request": "a#1"}),
    ],
)
def test_a_refused_update_has_a_code_and_facts_and_is_never_tried_again(
    refusal: AnyRefusal, code: str, facts: Json
) -> None:
    error = refusal_error(refusal)
    (details,) = error.details
    assert (error.type, error.non_retryable) == (code, True)
    assert facts.items() <= cast("Json", details).items()
    assert details["message"] == error.message


def test_the_facts_of_a_refusal_quote_a_long_message_in_part() -> None:
    (details,) = refusal_error(TeamUnknown(LONG, ("work",))).details
    assert details["team"] == LONG[:200]


def test_the_facts_of_a_refused_decision_are_whole() -> None:
    pending = tuple(f"a#{n}" for n in range(30))
    (details,) = refusal_error(RequestUnknown("a#30", pending)).details
    assert details["pending"] == pending


async def test_a_redirection_waits_for_the_end_of_the_team_and_answers_with_its_name(
    run: JudgingRun,
) -> None:
    assert await run.update("redirect", {"team": "other", "by": "ann"}) == "other"
    assert run.state.redirect is not None
    assert run.state.redirect.team == "other"


@pytest.mark.parametrize(
    ("signal", "given", "verdict", "payload"),
    [
        ("approve", {}, "approved", 1),
        ("approve", {"payload": None}, "approved", None),
        ("reject", {}, "rejected", None),
    ],
)
async def test_a_signal_decides_a_request_with_what_it_gives(
    run: JudgingRun, signal: str, given: Json, verdict: str, payload: JsonValue
) -> None:
    schema: Json = {"type": ["integer", "null"]}
    run.state.pending["a#1"] = Pending(
        id="a#1", prompt="?", show=1, since="", editable=True, payload_schema=schema
    )
    await run.signal(signal, {"id": "a#1", "by": "ann", **given})
    decision = run.state.decisions["a#1"]
    assert (decision.verdict, decision.by, decision.payload) == (verdict, "ann", payload)


async def test_an_amendment_must_fit_what_the_plan_declares(run: JudgingRun) -> None:
    run.plan = plan_of(DECLARED)
    run.state.main.context = {"a": 1}
    assert run.validate("amend", AMENDS) is None
    assert run.validate("amend", {"updates": {"a": "x"}}) == "InvalidContext"
    run.plan = None
    assert run.validate("amend", {"updates": {"a": "x"}}) is None


def test_the_queries_answer_from_the_state(run: JudgingRun) -> None:
    run.state.pending["a#1"] = asks = Pending(id="a#1", prompt="Good?", since="")
    assert run.query("pending") == [asks]
    assert run.query("cost").total.name == "total"
    assert run.query("status").team == "work"
    assert run.query("result") is None
    run.came_to = TeamResult.model_construct(because="all done")
    assert run.query("result") is run.came_to
    assert run.query("request", "a#1").pending == asks
    assert run.query("events").entries == ()
    assert run.query("state", "team").value == "work"
