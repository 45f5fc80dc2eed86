"""The update `send_message`: what it accepts before and after the run listens, and its reply."""

import pytest
from temporalio.exceptions import ApplicationError

from coterie.dsl.model.outcomes import Failure
from coterie.dsl.values import Json
from coterie.workflows.core.messages import SEND_MESSAGE, TeamInput
from coterie.workflows.core.state_parts import SessionMessage, SessionReply
from coterie.workflows.core.views import TeamResult
from coterie.workflows.sessions.message_queue import MAX_OPEN_MESSAGES
from tests.support.compiling import plan_of
from tests.support.simulation.judging_run import JudgingRun, Waits, outside_of_temporal

PLAN = plan_of("""
orchestration:
  entry_team: talk
  teams:
    talk:
      tasks:
      - {name: listen, type: wait, message: true, schema: {type: string}}
      - {name: speak, type: reply, value: Hi}
""")
HELLO: Json = {"message": "Hello", "by": "ann"}
UNFIT: Json = {"message": 7}
MALFORMED: Json = {"by": "ann"}
ID = "m1"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> JudgingRun:
    outside_of_temporal(monkeypatch, ID)
    return JudgingRun(PLAN)


@pytest.mark.parametrize(
    ("first_message", "plan", "early", "given", "code"),
    [
        (True, True, 0, HELLO, None),
        (True, True, 0, UNFIT, None),
        (True, True, MAX_OPEN_MESSAGES - 1, HELLO, None),
        (True, True, MAX_OPEN_MESSAGES, HELLO, "QueueFull"),
        (True, False, 0, HELLO, "NotYet"),
        (False, True, 0, HELLO, "NotYet"),
        (False, False, 0, HELLO, "NotYet"),
        (False, False, 0, MALFORMED, "Malformed"),
        (True, False, 0, MALFORMED, "Malformed"),
    ],
)
def test_only_a_run_with_its_plan_and_its_first_message_accepts_an_early_one(
    run: JudgingRun, first_message: bool, plan: bool, early: int, given: Json, code: str | None
) -> None:
    run.listens, run.early_messages = False, early
    run.input = TeamInput(plan=PLAN if plan else None, first_message=first_message)
    assert run.validate(SEND_MESSAGE, given) == code


@pytest.mark.parametrize(
    ("given", "done", "closed", "busy", "code"),
    [
        (HELLO, False, False, False, None),
        (HELLO, False, False, True, None),
        (HELLO, False, True, False, None),
        (HELLO, False, True, True, "NotYet"),
        (HELLO, True, False, False, "RunHasEnded"),
        (UNFIT, False, False, False, "BadMessage"),
        (MALFORMED, False, False, False, "Malformed"),
    ],
)
def test_a_run_that_listens_refuses_what_it_cannot_take(
    run: JudgingRun, given: Json, done: bool, closed: bool, busy: bool, code: str | None
) -> None:
    run.done, run.closed = done, closed
    if busy:
        run.state.session.open = SessionMessage("m0", "Hello", "bob")
    assert run.validate(SEND_MESSAGE, given) == code


def test_a_run_without_a_plan_takes_no_message(run: JudgingRun) -> None:
    run.plan = None
    assert run.validate(SEND_MESSAGE, HELLO) == "RunHasEnded"


def test_a_message_that_is_known_is_accepted_again(run: JudgingRun) -> None:
    run.state.session.replies[ID] = SessionReply("Hi")
    run.done = True
    assert run.validate(SEND_MESSAGE, HELLO) is None


@pytest.mark.parametrize(
    ("received", "done", "code"),
    [(0, False, None), (1, False, "BadMessage"), (0, True, "RunHasEnded")],
)
def test_the_validator_leaves_a_first_message_to_the_handler(
    run: JudgingRun, received: int, done: bool, code: str | None
) -> None:
    run.input = TeamInput(plan=PLAN, first_message=True)
    run.state.session.received, run.done = received, done
    assert run.validate(SEND_MESSAGE, UNFIT) == code


@pytest.mark.parametrize(("first_message", "keeps"), [(True, True), (False, False)])
async def test_only_a_refused_first_message_ends_the_run(
    run: JudgingRun, first_message: bool, keeps: bool
) -> None:
    run.input = TeamInput(plan=PLAN, first_message=first_message)
    with pytest.raises(ApplicationError) as refused:
        await run.update(SEND_MESSAGE, UNFIT)
    assert refused.value.type == "BadMessage"
    assert bool(run.state.session.refused) is keeps
    assert run.state.session.received == 0


def replied(run: JudgingRun, reply: SessionReply) -> None:
    run.listens = True
    if run.state.session.queue:
        run.state.session.queue.clear()
        run.state.session.replies[ID] = reply


async def test_a_message_is_taken_once_and_answered_by_its_reply(run: JudgingRun) -> None:
    run.arrive = lambda: replied(run, SessionReply("Hi"))
    assert await run.update(SEND_MESSAGE, HELLO) == "Hi"
    assert await run.update(SEND_MESSAGE, HELLO) == "Hi"
    assert (run.state.session.received, run.early_messages) == (1, 0)


async def test_an_early_message_is_counted_and_taken_when_the_run_listens(run: JudgingRun) -> None:
    run.listens = False
    run.arrive = lambda: replied(run, SessionReply("Hi"))
    assert await run.update(SEND_MESSAGE, HELLO) == "Hi"
    assert (run.early_messages, run.waits) == (1, 2)


async def test_a_message_waits_while_its_run_works(run: JudgingRun) -> None:
    with pytest.raises(Waits):
        await run.update(SEND_MESSAGE, HELLO)
    assert [one.id for one in run.state.session.queue] == [ID]


ENDED = TeamResult.model_construct(because="all done")


@pytest.mark.parametrize(
    ("reply", "done", "came_to", "code", "text"),
    [
        (SessionReply(error=Failure("NoReply", "passed")), False, None, "NoReply", "passed"),
        (None, True, None, "RunHasEnded", "the run has ended without a reply"),
        (None, True, ENDED, "RunHasEnded", "the run has ended without a reply: all done"),
    ],
)
async def test_a_message_without_a_reply_fails_with_the_reason(
    run: JudgingRun,
    reply: SessionReply | None,
    done: bool,
    came_to: TeamResult | None,
    code: str,
    text: str,
) -> None:
    run.state.session.open = SessionMessage(ID, "Hello", "ann")
    if reply is not None:
        run.state.session.replies[ID] = reply
    run.done, run.came_to = done, came_to
    with pytest.raises(ApplicationError) as refused:
        await run.update(SEND_MESSAGE, HELLO)
    error = refused.value
    assert (error.type, error.message, error.non_retryable) == (code, text, True)


async def test_a_message_of_a_run_that_moves_to_its_next_history_is_to_be_sent_again(
    run: JudgingRun,
) -> None:
    run.state.session.open = SessionMessage(ID, "Hello", "ann")
    run.moving = True
    with pytest.raises(ApplicationError, match="with the same id") as refused:
        await run.update(SEND_MESSAGE, HELLO)
    assert refused.value.type == "NotYet"
