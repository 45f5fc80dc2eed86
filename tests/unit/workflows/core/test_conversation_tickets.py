"""The queue of a conversation: the order of requests, whatever calls come, go and come back."""

from hypothesis import given
from hypothesis import strategies as st

from coterie.workflows.core.progress.step_progress import (
    ConversationTicket,
    is_next,
    overtakes,
    take_ticket,
)
from coterie.workflows.core.state import RunState

CALLS = [f"main:work#1/{name}" for name in "abcdef"]
NAMES = ("talk", "other")
ACTS = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from(CALLS), st.sampled_from(NAMES)),
    st.tuples(st.just("leave"), st.sampled_from(CALLS), st.just("")),
    st.tuples(st.just("move"), st.just(""), st.just("")),
)


def moved(tickets: dict[str, ConversationTicket]) -> dict[str, ConversationTicket]:
    """The queue in the next history of the run."""
    state = RunState()
    state.progress.conversation_tickets = tickets
    return RunState.resumed(state.carried()).progress.conversation_tickets


@given(st.lists(ACTS, max_size=30))
def test_the_first_call_that_is_back_is_next_and_no_other(acts: list[tuple[str, str, str]]) -> None:
    tickets: dict[str, ConversationTicket] = {}
    asked: list[tuple[str, str]] = []
    back: set[str] = set()
    for act, key, name in acts:
        match act:
            case "ask":
                take_ticket(tickets, name, key)
                if (name, key) not in asked:
                    asked = [one for one in asked if one[1] != key] + [(name, key)]
                back.add(key)
            case "leave":
                tickets.pop(key, None)
                asked = [one for one in asked if one[1] != key]
                back.discard(key)
            case _:
                tickets = moved(tickets)
                back.clear()
        for conversation in NAMES:
            queue = [at for named, at in asked if named == conversation]
            waiting = [at for at in queue if at in back]
            assert [at for at in waiting if is_next(tickets, at)] == waiting[:1]
            assert [at for at in queue if not overtakes(tickets, at)] == queue[:1]


@given(st.permutations(CALLS))
def test_calls_that_come_back_in_any_order_are_served_as_they_asked(again: list[str]) -> None:
    tickets: dict[str, ConversationTicket] = {}
    for key in CALLS:
        take_ticket(tickets, "talk", key)
    tickets = moved(tickets)
    for key in again:
        take_ticket(tickets, "talk", key)
    served: list[str] = []
    while tickets:
        (key,) = (key for key in tickets if is_next(tickets, key))
        served.append(key)
        del tickets[key]
    assert served == CALLS


def test_a_ticket_whose_call_does_not_come_back_blocks_nobody() -> None:
    tickets: dict[str, ConversationTicket] = {}
    take_ticket(tickets, "talk", "lost")
    tickets = moved(tickets)
    take_ticket(tickets, "talk", "here")
    assert overtakes(tickets, "here")
    assert is_next(tickets, "here")


def test_a_run_without_calls_in_conversations_carries_no_queue() -> None:
    assert "conversation_tickets" not in str(RunState().carried())


def test_a_call_that_asks_for_another_conversation_comes_after_those_that_asked_before() -> None:
    tickets: dict[str, ConversationTicket] = {}
    for call, name in (("a", "talk"), ("b", "other"), ("a", "talk"), ("a", "other")):
        take_ticket(tickets, name, call)
    assert list(tickets) == ["b", "a"]
    assert overtakes(tickets, "a")
    assert not overtakes(tickets, "b")
