"""What the queries show of a run: whole where it fits, cut where it does not, and where to look."""

import pytest

from coterie.dsl.errors import RunRefused
from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.causes.step_causes import Failed
from coterie.workflows.core.extract import MAX_ANSWER_SIZE
from coterie.workflows.core.messages import StateAsked
from coterie.workflows.core.requests import Decision, Pending, PlannedCall, RequestView
from coterie.workflows.core.state import RunState, TrailRecord
from coterie.workflows.core.state_keys import MAIN, StateKey
from coterie.workflows.core.state_parts import Frame, Routed, Track
from coterie.workflows.handlers.query_handlers import events, look, pending, request
from coterie.workflows.signatures.statements import Authority


def trail(*numbers: int, message: str = "") -> RunState:
    """A run that keeps these entries of its trail."""
    cause = Failed("failed", Failure("Broken", message)) if message else None
    records = [TrailRecord(n, 0.0, "step", "work", 1, "s", "success", cause) for n in numbers]
    return RunState(trail=records, trail_length=len(records))


@pytest.mark.parametrize(
    ("since", "expected"),
    [(0, [5, 6, 7, 8]), (4, [5, 6, 7, 8]), (5, [6, 7, 8]), (7, [8]), (8, []), (9, [])],
)
def test_events_are_those_after_a_number(since: int, expected: list[int]) -> None:
    page = events(trail(5, 6, 7, 8), since)
    assert [one.number for one in page.entries] == expected
    assert (page.first, page.more) == (5, False)


def test_a_run_without_a_trail_has_no_events() -> None:
    page = events(RunState(), 0)
    assert (page.entries, page.first, page.more) == ((), 0, False)


def test_a_page_of_events_holds_what_fits_and_says_that_more_follow() -> None:
    state = trail(*range(1, 200), message="x" * 1_000)
    page = events(state, 0)
    assert page.more
    assert 15 < len(page.entries) <= 24
    latest = events(state, 199 - len(page.entries))
    assert (len(latest.entries), latest.more) == (len(page.entries), False)


def test_a_page_of_events_leaves_none_out_in_its_middle() -> None:
    state = trail(*range(1, 40), message="x" * 1_000)
    state.trail += trail(*range(40, 50)).trail
    numbers = [one.number for one in events(state, 0).entries]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) < 40


@pytest.mark.parametrize(("more", "shown"), [(0, 2), (1, 1)])
def test_a_page_of_events_is_filled_to_its_last_byte(more: int, shown: int) -> None:
    """An entry counts 250 bytes besides its texts."""
    (entry,) = events(trail(1), 0).entries
    texts = len("works" + entry.because)
    state = trail(1, 2)
    state.trail[1].team = "x" * (MAX_ANSWER_SIZE - 2 * (250 + texts) + len("work") + more)
    assert len(events(state, 0).entries) == shown


def test_a_long_reason_is_cut_and_a_single_entry_is_always_shown() -> None:
    (entry,) = events(trail(1, message="x" * 100_000), 0).entries
    assert entry.because.endswith(" more characters]")
    assert len(entry.because) < 2_100


@pytest.mark.parametrize(("length", "is_cut"), [(2_000, False), (2_001, True)])
def test_a_reason_of_exactly_the_most_characters_is_whole(length: int, is_cut: bool) -> None:
    other = len(events(trail(1, message="x"), 0).entries[0].because) - 1
    (entry,) = events(trail(1, message="x" * (length - other)), 0).entries
    assert ("more characters" in entry.because) is is_cut
    if is_cut:
        assert entry.because[2_000:] == "... [1 more characters]"


def asks(show: JsonValue = None, **more: JsonValue) -> Pending:
    given: Json = {"id": "a#1", "prompt": "Good?", "show": show, "since": "", **more}
    return Pending.model_validate(given)


def listed(*requests: Pending) -> list[Pending]:
    return pending(RunState(pending={f"a#{n}": one for n, one in enumerate(requests)}))


def test_open_requests_are_shown_whole_where_they_fit() -> None:
    small = asks({"n": 1}, payload_schema={"type": "object"}, prompt="x" * 2_000)
    assert listed(small) == [small]


def test_a_large_input_behind_what_a_request_shows_is_left_to_the_whole_request() -> None:
    call = PlannedCall(name="Files.write", effect="once", input={"path": "a", "content": "x"})
    small = asks("look").model_copy(update={"call": call})
    assert listed(small)[0].call == call
    large = call.model_copy(update={"input": {"path": "a", "content": "x" * 3_000_000}})
    (one,) = listed(small.model_copy(update={"call": large}))
    assert one.cut
    assert one.call == call.model_copy(update={"input": None})


@pytest.mark.parametrize("requests", [1, 4, 1_000])
def test_open_requests_share_the_answer(requests: int) -> None:
    shown = listed(*[asks("x" * 30_000)] * requests)
    assert all(one.cut for one in shown)
    longest = max(len(str(one.show)) for one in shown)
    share = max(MAX_ANSWER_SIZE // requests - 250, 500)
    assert longest == share // 2, "a text is halved until it fits"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"prompt": "x" * 2_001}, ("x" * 2_000, None)),
        ({"payload_schema": {"title": "x" * 30_000}}, ("Good?", None)),
        ({"show": "x" * 30_000, "payload_schema": {"a": 1}}, ("Good?", {"a": 1})),
    ],
)
def test_what_is_too_large_of_a_request_is_cut(
    more: Json, expected: tuple[str, Json | None]
) -> None:
    (shown,) = listed(asks(**{"show": 1, **more}))
    assert shown.cut
    assert (shown.prompt, shown.payload_schema) == expected


DECIDED = Decision(id="a#1", verdict="approved", by="ann", at="", how="update")


@pytest.mark.parametrize(
    ("waiting", "decided"), [(asks(1), None), (None, DECIDED), (asks(1), DECIDED)]
)
def test_a_request_is_shown_while_it_waits_and_when_it_is_decided(
    waiting: Pending | None, decided: Decision | None
) -> None:
    state = RunState(
        pending={} if waiting is None else {"a#1": waiting},
        decisions={} if decided is None else {"a#1": decided},
    )
    assert request(state, "a#1") == RequestView(pending=waiting, decision=decided)


@pytest.mark.parametrize("root", [None, "key"])
def test_a_request_says_whether_its_run_takes_only_signed_decisions(root: str | None) -> None:
    authority = None if root is None else Authority(root=root, run="r", execution="e")
    state = RunState(pending={"a#1": asks(1)}, authority=authority)
    waiting = (request(state, "a#1").pending, *pending(state))
    assert [one.signed for one in waiting if one] == [root is not None] * 2


@pytest.mark.parametrize(
    ("open_", "known"), [({"b#1": asks(1), "a#1": asks(1)}, "a#1, b#1"), ({}, "none")]
)
def test_an_unknown_request_names_those_that_wait(open_: dict[str, Pending], known: str) -> None:
    with pytest.raises(RunRefused) as refused:
        request(RunState(pending=open_), "c#1")
    assert str(refused.value) == f"there is no request 'c#1'; waiting: {known}"


def running() -> RunState:
    """A run in a visit, with a branch and a persona's plan in progress."""
    failed = Outcome.failed("Broken", "it broke", {"n": 2})
    state = RunState(teams_run=3)
    state.tracks[MAIN] = Track(
        context={"a": [1, {"b": "x"}], "empty": {}},
        team="work",
        visit=2,
        routed=Routed("called", from_team="start"),
        latest={"start": {"begin": Outcome.succeeded(1)}},
    )
    state.tracks["branch"] = Track(team="left")
    frame = Frame({"s": Outcome.succeeded({"n": 1}), "t": failed}, {"v": 1}, {"i": 1})
    state.frames[StateKey.visit(MAIN, "work", 2)] = frame
    state.frames["inner"] = Frame({}, {"w": 2})
    return state


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("team", "work"),
        ("visit", 2),
        ("context.a.1.b", "x"),
        (["context", "a", "0"], 1),
        ("tasks.s", {"status": "success", "data": {"n": 1}}),
        (
            "tasks.t",
            {
                "status": "failure",
                "data": {"n": 2},
                "error": {"type": "Broken", "message": "it broke"},
            },
        ),
        ("variables", {"v": 1}),
        ("input", {"i": 1}),
        ("teams.start.tasks.begin.data", 1),
        (
            "routing",
            {"because": "the run began", "reason": "called", "from": "start", "error": None},
        ),
        ("branches.branch.team", "left"),
        ("branches.branch.visit", None),
        ("frames", {"inner": {"tasks": {}, "variables": {"w": 2}}}),
        ("teams_run", 3),
    ],
)
def test_the_state_is_read_by_the_names_that_templates_use(
    path: str | list[str], expected: JsonValue
) -> None:
    found = look(running(), StateAsked.model_validate({"path": path}))
    assert (found.value, found.whole, found.next) == (expected, True, None)


def test_a_plain_run_has_neither_branches_nor_inner_frames() -> None:
    view = look(RunState(), StateAsked()).value
    assert isinstance(view, dict)
    assert not {"branches", "frames", "input", "tracks", "trail", "progress"} & view.keys()


def test_a_large_value_is_read_page_by_page() -> None:
    state = RunState(tracks={MAIN: Track(context={"text": "x" * 30_000})})
    first = look(state, StateAsked(path="context.text"))
    assert first.next is not None
    second = look(state, StateAsked(path="context.text", start=first.next))
    assert (first.path, first.size, first.whole) == ("context.text", 30_002, False)
    assert f"{first.value}{second.value}" == "x" * 30_000
    assert second.next is None


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("context.z", "nothing lies at 'context.z': at 'context' there is a, empty"),
        (
            "context.empty.z",
            "nothing lies at 'context.empty.z': at 'context.empty' there is nothing",
        ),
        (
            "context.a.7",
            "nothing lies at 'context.a.7': at 'context.a' there is a list of 2 items, from 0",
        ),
        (
            "team.x.y",
            "nothing lies at 'team.x.y': at 'team' there is a value with nothing in it",
        ),
    ],
)
def test_a_path_that_leads_nowhere_says_how_far_it_leads(path: str, message: str) -> None:
    with pytest.raises(RunRefused) as refused:
        look(running(), StateAsked(path=path))
    assert str(refused.value) == message


def test_an_unknown_first_name_lists_what_the_state_has() -> None:
    with pytest.raises(RunRefused, match="nothing lies at 'z': in the state of a run there is "):
        look(running(), StateAsked(path="z"))
