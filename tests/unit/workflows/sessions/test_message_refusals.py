"""What a session takes, what it refuses and why, and how it fails what it never answered."""

import pytest

from coterie.dsl.model.outcomes import Failure
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.wait_step import WhileBusy
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.control.steering_refusals import (
    MessageRefusal,
    MessageUnusable,
    RunUnable,
    SessionMovedOn,
    TooManyMessages,
)
from coterie.workflows.core.messages import SessionInput
from coterie.workflows.core.progress.agent_progress import AgentLoopProgress
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import Routed, Session, SessionMessage, SessionReply
from coterie.workflows.sessions.message_queue import (
    MAX_MESSAGE_SIZE,
    MAX_OPEN_MESSAGES,
    answer,
    message_refusal,
    newest_id,
    pass_over,
    receive,
    stage_of,
    unfit_message,
)
from coterie.workflows.sessions.said_messages import joined_agent
from coterie.workflows.signatures.statements import Authority
from tests.support.compiling import plan_of

TEXT: Json = {"type": "string"}
LISTENS = "{name: listen, type: wait, message: true, schema: {type: string}}"
SPEAKS = "{name: speak, type: reply, value: Hi}"


def plan(*tasks: str, most: int = 1_000) -> Plan:
    found = plan_of(
        f"orchestration: {{entry_team: talk, teams: {{talk: {{tasks: [{', '.join(tasks)}]}}}}}}"
    )
    return found.model_copy(
        update={"limits": found.limits.model_copy(update={"max_messages": most})}
    )


SESSION = plan(LISTENS, SPEAKS)
FULL = TooManyMessages("QueueFull", MAX_OPEN_MESSAGES)
BAD = MessageUnusable("BadMessage", "the message is a number, not a text")


def refusal(
    message: JsonValue, state: RunState | None = None, of: Plan = SESSION
) -> MessageRefusal | None:
    return message_refusal(of, state or RunState(), SessionInput(message=message), done=False)


def at_work(*, steers: bool) -> RunState:
    """A run whose agent works on a message."""
    state = holding(0, working=True)
    state.session.steers = steers
    state.progress.tool_loops["1/talk#1/answer"] = AgentLoopProgress(1)
    return state


def holding(waiting: int, *, working: bool = False) -> RunState:
    """A run with so many messages in its queue, and perhaps one that it works on."""
    state = RunState()
    for number in range(waiting):
        receive(state.session, f"m{number}", SessionInput(message="Hello"))
    if working:
        state.session.open = SessionMessage("open", "Hello", "ann")
    return state


@pytest.mark.parametrize(
    ("stop_by", "done", "expected"),
    [
        (None, True, RunUnable("RunHasEnded")),
        (1.0, False, RunUnable("RunCancelled")),
        (1.0, True, RunUnable("RunCancelled")),
        (None, False, None),
    ],
)
def test_a_run_that_ends_takes_no_message(
    stop_by: float | None, done: bool, expected: RunUnable | None
) -> None:
    asked = SessionInput(message="Hello")
    assert message_refusal(SESSION, RunState(stop_by=stop_by), asked, done=done) == expected


def test_a_run_without_a_wait_for_a_message_is_no_session() -> None:
    assert refusal("Hello", of=plan("{name: note, type: set, values: {n: 1}}")) == RunUnable(
        "NoSession"
    )


def test_a_message_may_have_exactly_the_most_bytes() -> None:
    assert refusal("x" * (MAX_MESSAGE_SIZE - 2)) is None, "two bytes are the quotes"
    text = "the message has 100,001 bytes, and 100,000 are allowed"
    assert refusal("x" * (MAX_MESSAGE_SIZE - 1)) == MessageUnusable("TooLarge", text)


@pytest.mark.parametrize(
    ("received", "expected"), [(1, None), (2, TooManyMessages("SessionFull", 2))]
)
def test_a_session_takes_as_many_messages_as_its_limit_says(
    received: int, expected: TooManyMessages | None
) -> None:
    state = RunState(session=Session(received=received))
    assert refusal("Hello", state, plan(LISTENS, SPEAKS, most=2)) == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (holding(4), None),
        (holding(5), FULL),
        (holding(3, working=True), None),
        (holding(4, working=True), FULL),
    ],
    ids=["four wait", "five wait", "three wait and one is open", "four wait and one is open"],
)
def test_a_run_holds_five_messages_without_a_reply(
    state: RunState, expected: TooManyMessages | None
) -> None:
    assert refusal("Hello", state) == expected


@pytest.mark.parametrize(
    ("waits", "expected"),
    [
        ([LISTENS], BAD),
        ([LISTENS, "{name: other, type: wait, message: true, schema: {type: integer}}"], None),
        (["{name: any, type: wait, message: true}"], None),
    ],
    ids=["one schema", "the step that takes it decides", "no schema"],
)
def test_a_message_is_refused_at_once_if_its_only_wait_could_not_take_it(
    waits: list[str], expected: MessageUnusable | None
) -> None:
    assert refusal(7, of=plan(*waits, SPEAKS)) == expected


@pytest.mark.parametrize(
    ("message", "schema", "expected"),
    [
        (7, None, None),
        ("Hello", TEXT, None),
        (7, TEXT, BAD),
        (
            "Hello",
            {"type": "text"},
            MessageUnusable(
                "BadMessage",
                "the message cannot be checked against its schema: it is no JSON Schema",
            ),
        ),
        (
            {"a": "x", "b": "y"},
            {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
            MessageUnusable(
                "BadMessage",
                "the message.a is a text, not a whole number; "
                "the message.b is a text, not a whole number",
            ),
        ),
    ],
)
def test_an_unfit_message_is_refused_with_every_mismatch(
    message: JsonValue, schema: Json | None, expected: MessageUnusable | None
) -> None:
    assert unfit_message(message, schema) == expected


def test_a_message_is_new_until_one_of_its_own_id_is_known() -> None:
    session = holding(1, working=True).session
    assert [stage_of(session, id) for id in ("m0", "open", "m1")] == ["open", "open", "new"]


def test_only_its_own_reply_closes_the_open_message() -> None:
    session = holding(0, working=True).session
    answer(session, "other", SessionReply("Hi"))
    assert stage_of(session, "open") == "open"
    answer(session, "open", SessionReply("Hi"))
    assert (session.open, stage_of(session, "open")) == (None, "answered")


WITHOUT = "the run went on to the next message without a reply to this one"


@pytest.mark.parametrize(
    ("routed", "text"),
    [
        (Routed(), WITHOUT),
        (Routed(error=Failure("Timeout", "late")), WITHOUT),
        (Routed(failed_task="ask"), WITHOUT),
        (
            Routed(error=Failure("Timeout", "late"), failed_task="ask"),
            f"{WITHOUT}: task 'ask' failed with Timeout",
        ),
    ],
)
def test_a_message_that_the_run_passes_over_fails_with_the_task_that_failed(
    routed: Routed, text: str
) -> None:
    session = holding(0, working=True).session
    pass_over(session, routed)
    assert session.open is None
    assert session.replies == {"open": SessionReply(error=Failure("NoReply", text))}


def test_a_run_that_works_on_no_message_passes_over_none() -> None:
    session = holding(1).session
    pass_over(session, Routed())
    assert (session.replies, len(session.queue)) == ({}, 1)


def test_a_message_that_does_not_follow_the_newest_one_is_refused() -> None:
    def after(id: str, state: RunState) -> MessageRefusal | None:
        asked = SessionInput(message="Hello", after=id)
        return message_refusal(SESSION, state, asked, done=False)

    state = RunState()
    assert newest_id(state.session) is None
    assert after("m0", state) == SessionMovedOn("m0")
    receive(state.session, "m0", SessionInput(message="Hello"))
    assert after("m0", state) is None
    receive(state.session, "m1", SessionInput(message="Hello"))
    assert after("m0", state) == SessionMovedOn("m0")
    assert after("m1", state) is None
    for id in ("m0", "m1"):
        state.session.open = state.session.queue.pop(0)
        assert newest_id(state.session) == "m1"
        answer(state.session, id, SessionReply("Hi"))
    assert newest_id(state.session) == "m1"


@pytest.mark.parametrize(
    ("steers", "asked", "signed", "joins"),
    [
        (True, None, False, True),
        (True, None, True, True),
        (True, "queue", False, False),
        (False, None, False, False),
        (False, "steer", False, True),
        (False, "steer", True, False),
    ],
)
def test_a_message_steers_where_its_session_lets_it(
    steers: bool, asked: WhileBusy | None, signed: bool, joins: bool
) -> None:
    state = at_work(steers=steers)
    state.authority = Authority(root="", run="", execution="") if signed else None
    found = joined_agent(state, SessionInput(message="In red.", while_busy=asked), SESSION)
    assert (found is not None) == joins


def test_a_message_that_does_not_fit_each_step_that_waits_joins_none() -> None:
    other = "{name: again, type: wait, message: true, schema: {maxLength: 5}}"
    state, of = at_work(steers=True), plan(LISTENS, other, SPEAKS)
    assert joined_agent(state, SessionInput(message="Red."), of) is not None
    assert joined_agent(state, SessionInput(message="In blue."), of) is None
    assert joined_agent(state, SessionInput(message=3), of) is None
