"""What a session remembers of its messages stays bounded, and an open one is never forgotten."""

from coterie.dsl.sizes import json_size
from coterie.workflows.core.messages import SessionInput
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import Session, SessionReply
from coterie.workflows.sessions.message_queue import (
    OVERDUE_BYTES,
    OVERDUE_EVENTS,
    answer,
    counted_visits,
    holds_history,
    next_number,
    receive,
    stage_of,
    take,
)

MAX_REPLIES = 100
MAX_BYTES = 300_000


def exchange(state: RunState, id: str, reply: str) -> None:
    receive(state.session, id, SessionInput(message=id))
    take(state, state.session.queue.pop(0))
    answer(state.session, id, SessionReply(reply))


def test_a_session_keeps_its_latest_hundred_replies_by_their_ids() -> None:
    state = RunState()
    for number in range(1_000):
        exchange(state, f"m{number}", "yes")
    known = state.session.replies
    assert list(known) == [f"m{number}" for number in range(1_000 - MAX_REPLIES, 1_000)]
    assert stage_of(state.session, "m999") == "answered"
    assert stage_of(state.session, "m1") == "new"


def test_large_replies_are_kept_up_to_a_size_and_the_latest_one_always() -> None:
    state = RunState()
    for number in range(50):
        exchange(state, f"m{number}", "x" * 24_000)
    sizes = [json_size(reply.value) for reply in state.session.replies.values()]
    assert sum(sizes) <= MAX_BYTES
    assert len(sizes) == 12
    exchange(state, "huge", "x" * (MAX_BYTES + 1))
    assert list(state.session.replies) == ["huge"]


def test_replies_may_have_exactly_the_most_bytes_together() -> None:
    state = RunState()
    exchange(state, "first", "x" * 98)
    exchange(state, "second", "x" * (MAX_BYTES - 102))
    assert sum(json_size(reply.value) for reply in state.session.replies.values()) == MAX_BYTES
    exchange(state, "third", "")
    assert list(state.session.replies) == ["second", "third"]


def test_what_travels_to_the_next_history_does_not_grow_with_the_messages() -> None:
    sizes: list[int] = []
    state = RunState()
    for number in range(3_000):
        exchange(state, f"{number:09}", "yes")
        if number in (1_000, 2_999):
            sizes.append(json_size(state.carried()))
    assert sizes[1] - sizes[0] < 10, "only the counters have more digits"
    restored = RunState.resumed(state.carried())
    assert stage_of(restored.session, f"{2_999:09}") == "answered"


def test_an_open_and_a_waiting_message_are_known_until_they_have_replies() -> None:
    session = Session()
    for id in ("one", "two"):
        receive(session, id, SessionInput(message=id))
    state = RunState(session=session)
    assert next_number(session) == 1
    take(state, session.queue.pop(0))
    assert (stage_of(session, "one"), stage_of(session, "two")) == ("open", "open")
    assert next_number(session) == 2


def test_visits_count_from_the_latest_message() -> None:
    state = RunState(teams_run=7, visits={"listen": 4, "answer": 3})
    assert counted_visits(state) == (7, {"listen": 4, "answer": 3})
    receive(state.session, "one", SessionInput(message="hello"))
    state.seen["answer"] = ["a context that it saw for the message before"]
    take(state, state.session.queue.pop(0))
    state.teams_run, state.visits = 10, {"listen": 5, "answer": 4, "ask": 1}
    assert counted_visits(state) == (3, {"listen": 1, "answer": 1, "ask": 1})
    assert state.seen == {}, "the same question twice is no loop without progress"


def test_open_messages_hold_a_history_until_it_is_long_or_large() -> None:
    state = RunState()
    assert not holds_history(state.session, 10, 10)
    receive(state.session, "m", SessionInput(message="Hello"))
    assert holds_history(state.session, OVERDUE_EVENTS, OVERDUE_BYTES)
    assert not holds_history(state.session, OVERDUE_EVENTS + 1, 10)
    assert not holds_history(state.session, 10, OVERDUE_BYTES + 1)
    take(state, state.session.queue.pop(0))
    assert holds_history(state.session, 10, 10)
    answer(state.session, "m", SessionReply("Hi"))
    assert not holds_history(state.session, 10, 10)
