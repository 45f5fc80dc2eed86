"""What a run remembers of its own way: the latest entries, within bounds."""

import json

from activities.contracts import Notification, VisibilitySettings
from workflows.core.memory import FanOut, PendingNotification, Track, TrailRecord
from workflows.core.progress.progress_kinds import RetryProgress
from workflows.core.state import RunState


def test_a_trail_of_more_than_two_thousand_entries_forgets_its_oldest_thousand() -> None:
    state = RunState()
    for number in range(1, 2001):
        state.note(TrailRecord(number, 0.0, "step", "a", 1))
    assert [entry.number for entry in state.trail] == list(range(1, 2001))
    state.note(TrailRecord(2001, 0.0, "step", "a", 1))
    assert [entry.number for entry in state.trail] == list(range(1001, 2002))
    assert state.trail_length == 2001


def test_a_renamed_field_is_carried_under_the_name_that_histories_have() -> None:
    state = RunState(
        tracks={"main": Track(fan_out=FanOut(("a",)))},
        visibility=VisibilitySettings(event_groups=True),
    )
    message = Notification(
        id="1",
        channel="c",
        what="request",
        text="t",
        run="r",
        plan="p",
        request="q",
        prompt="?",
        digest="d",
        since="now",
    )
    state.notifications["1"] = PendingNotification(message, "1", "draft", 1, None)
    state.progress.retries["draft#1/write"] = RetryProgress(maximum=2)
    carried = state.carried()
    assert carried["tracks"] == {"main": {"fork": {"branches": ["a"]}}}
    assert carried["marks"] == {"event_groups": True}
    assert carried["progress"] == {"retries": {"draft#1/write": {"most": 2}}}
    assert '"1":{"notice":{' in json.dumps(carried, separators=(",", ":"))
    assert RunState.resumed(carried) == state
